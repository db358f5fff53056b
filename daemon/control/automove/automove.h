/* Modes of automove: whether pages should move, and where. A mode is one file with its decision, a
 * function of snapshots and of the mode's state, and one row in the table of automove.c.
 *
 * A decision takes no lock and reads no clock, so tests can try it on made-up or recorded
 * snapshots. Threading: a state belongs to the tuner's thread; `check`: any thread. Cost: see each
 * row. */
#ifndef SLATE_CONTROL_AUTOMOVE_AUTOMOVE_H
#define SLATE_CONTROL_AUTOMOVE_AUTOMOVE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/decision.h"
#include "control/snapshot.h"

enum {
    AUTOMOVE_WINDOW_MIN = 3, AUTOMOVE_WINDOW_MAX = 1800,
};

/* The configuration of a mode. The knobs may change while the mode runs. */
struct automove_config {
    /* for modes that sample keys or count; decisions do not use the cache */
    struct cache *cache;
    const char   *policy_dir; /* where policies in Lua are; NULL: none was given */
    double        ratio;      /* slab_automove_ratio */
    unsigned      window_s;   /* slab_automove_window */
    /* Called on any thread when a decision that was `later` is ready. NULL: a mode decides within
     * each_window. */
    void        (*wake)(void *);
    void         *wake_arg;
};

/* A mode's estimate of the worth of a page to a class, in hits per page and 1000 requests. */
struct page_worth {
    double   gain, gain_doubt; /* of one page more; the doubt: how far the gain may be wrong */
    unsigned gain_pages;       /* number of further pages with the best mean gain; 0: none gains */
    double   loss, loss_doubt; /* of one page less */
    double   average;          /* over all its pages */
};

struct automove_mode {
    const char *name;   /* "ratio"; with a ':' at its end an argument follows: "lua:NAME" */
    int         number; /* memcached's, -1: none */
    const char *help;
    bool     starved_on_evict; /* every eviction is a need; else only a lack of any victim is */
    bool     with_free_pages; /* each_window is also called while the pool has pages */
    bool     wants_pages;     /* snapshots have the ages of pages (snapshot_pages) */
    uint32_t window_us;       /* how often each_window is called; 0: every second */
    size_t   state_bytes;     /* zeroed before init */

    /* All may be NULL. `argument`: the text behind the ':', or ""; `why` has REASON_BYTES. */
    /* false: init would fail, or the mode would fail soon after init */
    bool (*check)(const struct automove_config *, const char *argument, char *why);
    bool (*init)(void *state, const struct automove_config *, const char *argument, char *why);
    /* the knobs changed; false: the mode cannot run with them */
    bool (*configure)(void *state, const struct automove_config *, char *why);
    void (*fini)(void *state);
    /* True: the decision has moves. `before` is the snapshot of the window's start. */
    bool (*each_window)(void *state, const struct snapshot *before, const struct snapshot *after,
                        struct decision *);
    /* For a mode whose decision comes later: true when the decision is made, or has failed. Until
     * then the decision is `later`, and each_window is not called. */
    bool (*decided)(void *state, struct decision *);
    /* whether the next each_window needs the curves of `after`; NULL: never */
    bool (*wants_curves)(const void *state, const struct snapshot *before,
                         const struct snapshot *after);
    /* Called while classes need memory (`starved` in the snapshot), and again as long as the moves
     * of the answer succeed. */
    bool (*at_need)(void *state, const struct snapshot *, struct decision *);
    /* a move has ended: `pages` have moved */
    void (*moved)(void *state, const struct page_move *, unsigned pages);
    /* writes the state in words, for `stats moves` */
    void (*describe)(const void *state, char *to, size_t room);
    /* for `stats automove` */
    void (*worth)(const void *state, const struct snapshot *, struct page_worth *by_class);
};

extern const struct automove_mode *const automove_modes[]; /* NULL-terminated */
extern const struct automove_mode automove_off, automove_ratio, automove_eviction, automove_random,
    automove_lra, automove_lrc, automove_utility, automove_lua;

/* The mode of a number or name; NULL: none. *argument gets the text behind the ':'. */
const struct automove_mode *automove_find(const char *name, const char **argument);
/* Whether a mode would start. False: `why` (REASON_BYTES) has the allowed modes, or the fault of
 * this mode. May run the code of a policy, and waits for it: for the start, before there are
 * clients. Later, use a trial (control/tuner.h). */
bool automove_check(const struct automove_config *, const char *name, char *why);
/* Whether automove_check runs a check of the mode. If not, every known name is right. */
bool automove_wants_check(const char *name);
/* The name as stored and shown: the number for memcached's modes, else the name. */
void automove_spell(const struct automove_mode *, const char *argument,
                    char to[AUTOMOVE_NAME_BYTES]);
/* Writes the allowed names, "off|ratio|...", for error messages. */
void automove_list(char *to, size_t room);
#endif
