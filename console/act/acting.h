/* The one way in which a server is changed from here: checked, sent, verified by reading back,
 * noted as an event and on record, remembered for undo, and followed by what came of it; a trial
 * goes back by itself. The rules are those of lua/slate/act/acting.lua; this hands it times and
 * replies, and sends its lines.
 *
 * One acting belongs to one session, so a trial goes on while another server is on the screen; it
 * stays where it is. One thread; times are monotonic milliseconds, wall is the time of day. */
#ifndef CONSOLE_ACT_ACTING_H
#define CONSOLE_ACT_ACTING_H
#include "act/action.h"
#include "act/audit.h"
#include "link/client.h"

enum {
    ACTING_LEAVE_MS = 10000,
    TRIAL_MINUTES_MOST = 1440
};

enum acting_kind { ACTING_CHANGE, ACTING_UNDO, ACTING_REDO };

/* What the operator chose in the review. minutes 0: no trial. */
struct trial_terms {
    unsigned minutes;
    /* back when evictions rise by more than this share, 0: whatever they do */
    unsigned evictions_pct;
    /* back when the hit ratio falls by more than this, 0: whatever it does */
    unsigned hit_points;
};

/* What undo takes back, or redo does again. */
struct proposal {
    char title[NOTE_BYTES]; /* of the change */
    struct plan plan;
};

struct acting {
    const char *audit_path; /* borrowed; "" for no record */
    int object;             /* in Lua's registry */
    bool is_open;           /* there is an object */
    bool is_running;        /* a change is under way */
    bool has_trial;         /* a trial is on */
    bool is_followed;       /* what came of the last change is told */
    bool is_fresh;          /* begun, and nothing sent yet */
    unsigned generation;    /* of the connection that its first line went to */
    uint64_t due_ms; /* of the next acting_step; UINT64_MAX: none */
    /* when has_trial: it goes back then; UINT64_MAX: it is on its way back */
    uint64_t trial_end_ms;
    char news[NOTE_BYTES]; /* the last outcome, for the message line; whoever shows it clears it */
};

/* The owner sets audit_path before the first change. */
void acting_init(struct acting *acting);
void acting_fini(struct acting *acting);

/* Begins a plan; for undo and redo that of the last proposal, whatever the plan. False: nothing was
 * sent, why says what is wrong: something else is under way, there is no connection, a step is
 * refused by action_check. */
bool acting_begin(struct acting *acting, enum acting_kind kind, const struct plan *plan,
                  const struct trial_terms *terms, struct model *model, uint64_t now_ms,
                  time_t wall, char *why, size_t why_bytes);

/* The reply to what acting_step sent (its tag). */
void acting_take_reply(struct acting *acting, struct model *model, const char *text,
                       size_t text_bytes, uint64_t now_ms, time_t wall);

/* Sends what is due, ends what is done, sends a trial back. tag marks the replies. True when the
 * server was changed and should be looked at again. */
bool acting_step(struct acting *acting, struct client *client, int tag, struct model *model,
                 uint64_t now_ms, time_t wall);

/* The last change to the server that was not taken back, by the record of changes: one made from
 * here with all its steps, or one that another program made; or the last one that was taken back
 * from here. False: why says that there is none, or why it cannot be taken back. Reads the end of
 * the record. */
bool acting_propose(struct acting *acting, enum acting_kind kind, struct model *model,
                    struct proposal *out, char *why, size_t why_bytes);

/* Ends the trial, the change stays. False when there is none. */
bool acting_keep(struct acting *acting, struct model *model, uint64_t now_ms, time_t wall);

/* The console is left: a trial has to go back now, a plan stops behind the step under way. True
 * while something is still to be done; call acting_step until it is false or patience is over. */
bool acting_leave(struct acting *acting, struct model *model, uint64_t now_ms, time_t wall);

/* What is left undone, in sentences of lines for the shell. */
void acting_leftovers(struct acting *acting, struct model *model, char *out, size_t out_bytes);

/* What is under way, for the message line; "" for nothing. */
void acting_words(struct acting *acting, struct model *model, uint64_t now_ms, char *out,
                  size_t out_bytes);
#endif
