/* Carrying one action out and finding out what came of it: a pure state machine that hands out
 * command lines and takes in replies, so it is tested without a server. The outcome is what the
 * server's page counts and settings say afterwards, never the "OK". They are read before, too, which
 * makes the way back. One thread. */
#ifndef CONSOLE_ACT_JOB_H
#define CONSOLE_ACT_JOB_H
#include "act/action.h"

enum job_state { JOB_NONE, JOB_RUNNING, JOB_DONE };
enum job_wait { WAIT_NOTHING, WAIT_REPLY, WAIT_PROBE, WAIT_TIME };

struct job {
    enum job_state state;
    bool succeeded;
    bool has_inverse; /* the server is not what it was: inverse goes back */
    struct action action, inverse;
    bool is_slated;
    enum job_wait wait;
    bool next_is_probe;
    uint64_t due_ms;   /* WAIT_TIME: send the next line then */
    uint64_t pause_ms; /* grows while nothing changes */
    uint64_t begun_ms;
    uint64_t progress_ms; /* when something was last seen to happen */
    char command[SETTING_LINE_BYTES];
    char outcome[NOTE_BYTES]; /* a sentence; while running, how far it is */

    /* a move */
    bool counts_pages_at_once;     /* slated: one command moves all */
    uint64_t from_pages, to_pages; /* before the first line */
    unsigned moved;                /* pages seen to have moved */

    bool knows_before; /* the first probe has come */

    /* a setting */
    unsigned line; /* the next one */
    char before[SETTING_VALUE_BYTES];
    char classes[SETTING_VALUE_BYTES]; /* policies of single classes, which one for the whole ends */
    char must_be_name[SETTING_NAME_BYTES], must_be[SETTING_VALUE_BYTES]; /* see job_expect */
    unsigned change_count; /* for the record: what the server's texts were, and are */
    struct job_change {
        char name[SETTING_NAME_BYTES], was[SETTING_VALUE_BYTES], is[SETTING_VALUE_BYTES];
    } changes[RECORDED_MOST];
};

enum {
    JOB_PROBE_FIRST_MS = 5,
    JOB_PROBE_MOST_MS = 250,
    JOB_BUSY_PAUSE_MS = 100,
    JOB_PATIENCE_MS = 10000 /* without progress, the job gives up and says what it saw */
};

/* Begins an action that action_check has allowed. */
void job_start(struct job *job, const struct action *action, const struct snapshot *now,
               const struct answers *answers, uint64_t now_ms);

/* Goes on only when the setting still has this text of the server, under its name in the record: what
 * somebody changed since is not taken back unseen. Call it behind job_start. */
void job_expect(struct job *job, const char *recorded_name, const char *text);

/* The next line to send, NULL when there is none now; *is_stats says which form the reply has. Call
 * again after each reply and at job_due_ms. */
const char *job_next_line(struct job *job, bool *is_stats, uint64_t now_ms);
void job_take_reply(struct job *job, const char *text, size_t text_bytes, uint64_t now_ms);

/* The connection broke, or the operator gave up: the outcome says what is known. */
void job_abandon(struct job *job, const char *why);

uint64_t job_due_ms(const struct job *job); /* UINT64_MAX: nothing is due */
#endif
