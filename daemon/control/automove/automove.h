/* Modes of automove: whether pages should move, and where. A mode is one file with its decision,
 * which is a function of snapshots and of what the mode remembers, and one row in the table of
 * automove.c.
 *
 * A decision takes no lock and reads no clock, so it can be tried on snapshots that were made up or
 * recorded. Threading: a state belongs to the tuner's thread; `check` any. Cost: each row says its
 * own. */
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

/* What modes are told. The knobs may change while a mode runs. */
struct automove_config {
    /* for what samples keys or counts for a mode; decisions leave it alone */
    struct cache *cache;
    const char   *policy_dir; /* where policies in Lua are; NULL: none was given */
    double        ratio;      /* slab_automove_ratio */
    unsigned      window_s;   /* slab_automove_window */
    /* Called on any thread when a decision that was `later` is there. NULL: a mode decides within
     * each_window. */
    void        (*wake)(void *);
    void         *wake_arg;
};

/* What a page is worth to a class, in hits a page and 1000 requests, as a mode sees it. */
struct page_worth {
    double   gain, gain_doubt; /* of one more; how far it may be wrong */
    unsigned gain_pages;       /* the mean of so many more is best; 0: none gains */
    double   loss, loss_doubt; /* of one less */
    double   average;          /* over all its pages */
};

struct automove_mode {
    const char *name;   /* "ratio"; with a ':' at its end an argument follows: "lua:NAME" */
    int         number; /* memcached's, -1: none */
    const char *help;
    bool     starved_on_evict; /* every eviction is a need; else only having nothing left is */
    bool     with_free_pages; /* each_window is also asked while the pool has pages */
    bool     wants_pages;     /* it wants the ages of pages in its snapshots (snapshot_pages) */
    uint32_t window_us;       /* how often each_window is asked; 0: every second */
    size_t   state_bytes;     /* zeroed before init */

    /* All may be NULL. `argument` is what follows the ':', "" without one; `why` has
     * REASON_BYTES. */
    /* false: init would fail, or would soon after */
    bool (*check)(const struct automove_config *, const char *argument, char *why);
    bool (*init)(void *state, const struct automove_config *, const char *argument, char *why);
    /* the knobs changed; false: they cannot */
    bool (*configure)(void *state, const struct automove_config *, char *why);
    void (*fini)(void *state);
    /* True: the decision has moves. `before` is the snapshot of the window's start. */
    bool (*each_window)(void *state, const struct snapshot *before, const struct snapshot *after,
                        struct decision *);
    /* For a mode whose decision comes later: true when what was begun is decided, or cannot be.
     * Until then the decision is `later`, and each_window is not asked. */
    bool (*decided)(void *state, struct decision *);
    /* whether each_window decides by the curves of `after` this time; NULL: never */
    bool (*wants_curves)(const void *state, const struct snapshot *before,
                         const struct snapshot *after);
    /* A class needs memory: those that are hungry in the snapshot. Asked again as long as its moves
     * succeed. */
    bool (*at_need)(void *state, const struct snapshot *, struct decision *);
    /* what became of a move: pages that moved */
    void (*moved)(void *state, const struct page_move *, unsigned pages);
    /* its state in words, for `stats moves` */
    void (*describe)(const void *state, char *to, size_t room);
    /* for `stats automove` */
    void (*worth)(const void *state, const struct snapshot *, struct page_worth *by_class);
};

extern const struct automove_mode *const automove_modes[]; /* NULL-terminated */
extern const struct automove_mode automove_off, automove_ratio, automove_eviction, automove_random,
    automove_lra, automove_lrc, automove_utility, automove_lua;

/* The mode of a number or name; NULL: none. *argument gets what follows the ':'. */
const struct automove_mode *automove_find(const char *name, const char **argument);
/* Whether a mode would start. False: `why` (REASON_BYTES) says what is allowed, or what is wrong
 * with it. May run the code of a policy, and waits for that: for a start, before there are clients.
 * Later, a trial asks (control/tuner.h). */
bool automove_check(const struct automove_config *, const char *name, char *why);
/* Whether that has to run anything; if not, who knows the name knows the answer. */
bool automove_wants_check(const char *name);
/* The name as it is kept and shown: memcached's number for its modes, else the name. Within
 * AUTOMOVE_NAME_BYTES. */
void automove_spell(const struct automove_mode *, const char *argument,
                    char to[AUTOMOVE_NAME_BYTES]);
/* "off|ratio|...": what may be given, for error messages. */
void automove_list(char *to, size_t room);
#endif
