/* The one way in which a server is changed from here: checked, sent, verified by reading back, noted
 * as an event and in the audit log, and remembered for undo; a trial goes back by itself.
 *
 * A plan is carried out step by step and stops at the first that fails; what was done is one entry of
 * the undo list. One acting belongs to one session, so a trial goes on while another server is on the
 * screen. One thread; times are monotonic milliseconds, wall is the time of day. */
#ifndef CONSOLE_ACT_ACTING_H
#define CONSOLE_ACT_ACTING_H
#include "act/audit.h"
#include "act/job.h"
#include "act/trial.h"
#include "act/undo.h"
#include "brain/brain.h"
#include "link/client.h"

enum { ACTING_LEAVE_MS = 10000 };

enum acting_kind { ACTING_CHANGE, ACTING_UNDO, ACTING_REDO, ACTING_TRIAL_END };

/* What came of the last change, told for a minute and then put on record. */
struct verdict {
    bool is_on;
    uint64_t began_ms, ended_ms; /* when the change was made */
    uint64_t seen_ms;            /* the snapshot that outcome is of */
    long record;                /* id of its last entry in the record of changes; 0: none */
    char title[NOTE_BYTES];
    struct outcome outcome; /* words are empty as long as too little is known */
};

struct acting {
    const char *audit_path; /* borrowed */
    struct job job;
    bool is_running, is_fresh; /* fresh: begun, and nothing sent yet */
    uint64_t began_ms;         /* the plan under way */
    enum acting_kind kind;
    struct plan plan;
    unsigned at;           /* the step under way */
    unsigned generation;   /* of the connection that its first line went to */
    char title[NOTE_BYTES];
    struct undo_entry done;   /* what came of the steps done, in their order */
    struct undo_entry undone; /* what the one under way takes back; id 0: a change of others */
    struct undo_list undo, redo;
    struct trial trial, wanted_trial;   /* wanted: begins when the plan has succeeded */
    unsigned trial_entry;               /* id in the undo list */
    char trial_why[NOTE_BYTES];         /* why it has to go back; "" while it goes on */
    struct verdict verdict;             /* on the last change */
    char news[NOTE_BYTES];              /* the last outcome, for the message line; whoever shows it clears it */
};

/* The owner sets audit_path before the first change. */
void acting_init(struct acting *acting);
void acting_fini(struct acting *acting);

/* Begins a plan. taken is the entry that it takes back, or does again; NULL for a change. False:
 * nothing was sent, why says what is wrong: something else is under way, there is no connection, a step
 * is refused by action_check. */
bool acting_begin(struct acting *acting, enum acting_kind kind, const struct plan *plan,
                  const struct undo_entry *taken, const struct trial_terms *terms, struct model *model, uint64_t now_ms, time_t wall,
                  char *why, size_t why_bytes);

/* The reply to what acting_step sent (its tag). */
void acting_take_reply(struct acting *acting, const char *text, size_t text_bytes, uint64_t now_ms);

/* Sends what is due, ends what is done, sends a trial back. tag marks the replies. True when the
 * server was changed and should be looked at again. */
bool acting_step(struct acting *acting, struct client *client, int tag, struct model *model,
                 uint64_t now_ms, time_t wall);
uint64_t acting_due_ms(const struct acting *acting);

/* The last change to the server that was not taken back, by the record of changes: one made from here
 * with all its steps, or one that another program made. False: why says that there is none, or why it
 * cannot be taken back. Reads the end of the record. */
bool acting_last_change(struct acting *acting, const struct model *model, struct undo_entry *out, char *why,
                        size_t why_bytes);

/* Ends the trial, the change stays. False when there is none. */
bool acting_keep(struct acting *acting, struct model *model, time_t wall);

/* The console is left: a trial has to go back now, a plan stops behind the step under way. True while
 * something is still to be done; call acting_step until it is false or patience is over. */
bool acting_leave(struct acting *acting);

/* What is under way, for the message line; "" for nothing. */
void acting_words(const struct acting *acting, uint64_t now_ms, char *out, size_t out_bytes);
#endif
