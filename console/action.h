/* Writes to a server: what the operator wants, whether it may be sent, what exactly would be sent,
 * and carrying it out.
 *
 * An action is plain data. action_check is the one gate: nothing is sent that it refuses, and it
 * refuses what is known to crash a server. A job carries one action out as a pure state machine: it
 * hands out command lines and takes in replies, so it is tested without a server; the outcome is
 * what the server's page counts and settings say afterwards, never the "OK". Actions do not draw.
 * One thread. */
#ifndef CONSOLE_ACTION_H
#define CONSOLE_ACTION_H
#include "model.h"

enum action_kind { ACTION_MOVE_PAGES, ACTION_AUTOMOVE };

enum { GROWTH_WINDOW_MS = 10000, MOVE_PAGES_LIMIT = 1000000, POOL_CLASS = 0, AUTOMOVE_MODES = 3 };

struct action {
    enum action_kind kind;
    unsigned from, to, pages; /* ACTION_MOVE_PAGES: class ids; to may be POOL_CLASS */
    unsigned automove;        /* ACTION_AUTOMOVE: the mode wanted, 0..2 */
};

/* True when the action may be sent to this server now; else why says in a sentence what is wrong
 * and what would do. */
bool action_check(const struct action *action, const struct snapshot *now, char *why,
                  size_t why_bytes);

/* The command line that is sent, and how often: slated takes a page count, memcached moves one page
 * a command. */
unsigned action_command(const struct action *action, const struct snapshot *now, char *line,
                        size_t line_bytes);

/* "move 3 pages from class 4 to class 12". */
void action_title(const struct action *action, char *out, size_t out_bytes);

/* The best giver for a class: whole free pages first, then the oldest tail. Never a class that
 * evicts more than the taker, nor one that got pages within the last GROWTH_WINDOW_MS: it needed
 * them. -1 when there is none. pages_free says how many pages it can give for nothing. */
int action_suggest_source(const struct model *model, unsigned to, double *pages_free);

const char *automove_mode_name(unsigned mode);

enum job_state { JOB_NONE, JOB_RUNNING, JOB_DONE };
enum job_wait { WAIT_NOTHING, WAIT_REPLY, WAIT_PROBE, WAIT_TIME };

struct job {
    enum job_state state;
    bool succeeded;
    struct action action;
    bool counts_pages_at_once; /* slated: one command moves all */
    enum job_wait wait;
    uint64_t due_ms;   /* WAIT_TIME: send next_line then */
    uint64_t pause_ms; /* grows while nothing changes */
    uint64_t begun_ms;
    uint64_t progress_ms; /* when the last page was seen to move */
    bool next_is_probe;
    char command[64];
    uint64_t from_pages, to_pages; /* at the start */
    unsigned moved;                /* pages seen to have moved */
    char outcome[NOTE_BYTES];      /* a sentence; while running, how far it is */
};

enum {
    JOB_PROBE_FIRST_MS = 5,
    JOB_PROBE_MOST_MS = 250,
    JOB_BUSY_PAUSE_MS = 100,
    JOB_PATIENCE_MS = 10000 /* without progress, the job gives up and says what it saw */
};

/* Begins an action that action_check has allowed. */
void job_start(struct job *job, const struct action *action, const struct snapshot *now,
               uint64_t now_ms);

/* The next line to send, NULL when there is none now; *is_stats says which form the reply has. Call
 * again after each reply and at job_due_ms. */
const char *job_next_line(struct job *job, bool *is_stats, uint64_t now_ms);
void job_take_reply(struct job *job, const char *text, size_t text_bytes, uint64_t now_ms);

/* The connection broke, or the operator gave up: the outcome says what is known. */
void job_abandon(struct job *job, const char *why);

uint64_t job_due_ms(const struct job *job); /* UINT64_MAX: nothing is due */
#endif
