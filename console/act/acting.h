/* The only way in which slatetop changes a server. A change is checked, sent, verified by reading
 * back, noted as an event and on record, remembered for undo, and its outcome is reported; a trial
 * is undone at its end. The rules are in lua/slate/act/acting.lua; acting hands it times and
 * replies, and sends its lines.
 *
 * One acting belongs to one session, so a trial goes on while another server is on the screen. It
 * must not be moved. One thread; times are monotonic milliseconds, wall is the time of day. */
#ifndef CONSOLE_ACT_ACTING_H
#define CONSOLE_ACT_ACTING_H
#include "act/action.h"
#include "act/audit.h"
#include "link/client.h"

enum { ACTING_LEAVE_MS = 10000, TRIAL_MINUTES_MOST = 1440 };

enum acting_kind { ACTING_CHANGE, ACTING_UNDO, ACTING_REDO };

/* The operator's choices in the review. minutes 0: no trial. */
struct trial_terms {
    unsigned minutes;
    /* undo it when evictions rise by more than this share; 0: never for evictions */
    unsigned evictions_pct;
    /* undo it when the hit ratio falls by more than this; 0: never for the hit ratio */
    unsigned hit_points;
};

/* A change that undo takes back, or that redo makes again. */
struct proposal {
    char title[NOTE_BYTES]; /* title of the change */
    struct plan plan;
};

struct acting {
    const char *audit_path; /* borrowed; "" for no record */
    int object;             /* its reference in Lua's registry */
    bool is_open;           /* the object exists */
    bool is_running;        /* a change is under way */
    bool has_trial;         /* a trial is on */
    bool is_followed;       /* the last change's outcome is reported */
    bool is_fresh;          /* the change has begun, and no line is sent yet */
    unsigned generation;    /* connection on which the change's first line was sent */
    uint64_t due_ms; /* time of the next acting_step; UINT64_MAX: none */
    /* with has_trial, the time of its undo; UINT64_MAX: the undo is under way */
    uint64_t trial_end_ms;
    char news[NOTE_BYTES]; /* the last outcome, for the message line; its reader clears it */
};

/* The owner sets audit_path before the first change. */
void acting_init(struct acting *acting);
void acting_fini(struct acting *acting);

/* Begins a plan. Undo and redo ignore `plan` and use that of the last proposal. False: nothing was
 * sent, and why has the reason: another change is under way, there is no connection, or
 * action_check refuses a step. */
bool acting_begin(struct acting *acting, enum acting_kind kind, const struct plan *plan,
                  const struct trial_terms *terms, struct model *model, uint64_t now_ms,
                  time_t wall, char *why, size_t why_bytes);

/* Takes the reply to a line of acting_step (by its tag). */
void acting_take_reply(struct acting *acting, struct model *model, const char *text,
                       size_t text_bytes, uint64_t now_ms, time_t wall);

/* Sends due lines, ends finished changes, undoes a trial at its end. tag marks the replies. True
 * when the server was changed and should be refreshed. */
bool acting_step(struct acting *acting, struct client *client, int tag, struct model *model,
                 uint64_t now_ms, time_t wall);

/* Undo: the last change to the server, by the record of changes, that was not taken back: one by
 * slatetop with all its steps, or one by another program. Redo: the last one that slatetop took
 * back. False: why says that there is none, or why it cannot be taken back. Reads the end of the
 * record. */
bool acting_propose(struct acting *acting, enum acting_kind kind, struct model *model,
                    struct proposal *out, char *why, size_t why_bytes);

/* Ends the trial; the change stays. False when there is no trial. */
bool acting_accept_trial(struct acting *acting, struct model *model, uint64_t now_ms, time_t wall);

/* Prepares the end of the console: a trial is undone now, a plan stops after the step under way.
 * True while work is left. Call it and acting_step until it returns false or time is up. */
bool acting_leave(struct acting *acting, struct model *model, uint64_t now_ms, time_t wall);

/* Writes the unfinished changes as sentences, a line each, for the shell. */
void acting_leftovers(struct acting *acting, struct model *model, char *out, size_t out_bytes);

/* Writes the change or trial under way, for the message line; "" if there is none. */
void acting_words(struct acting *acting, struct model *model, uint64_t now_ms, char *out,
                  size_t out_bytes);
#endif
