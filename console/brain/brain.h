/* The judgement on one server: the modules of lua/slate that slatectl runs too, built into slatetop
 * as text and run by an embedded Lua 5.4. C hands them each snapshot and stores their results as
 * plain data.
 *
 * All brains of the process share one Lua state, which the last brain frees. A module that fails
 * switches its brain off, and brain_failure says why. Memory: about 0.2 MB for the state, and 0.1
 * MB a brain with 40 classes. Cost a snapshot: O(classes), about 0.5 ms for 40 busy ones. One
 * thread. */
#ifndef CONSOLE_BRAIN_BRAIN_H
#define CONSOLE_BRAIN_BRAIN_H
#include "facts/model.h"

enum class_state {
    CLASS_UNKNOWN,  /* has pages, but rates need a second sample */
    CLASS_EMPTY,    /* no pages */
    CLASS_CALM,     /* no remark */
    CLASS_SPARE,    /* complete pages are free, none evicted */
    CLASS_EVICTING, /* evicts, as a full cache does */
    CLASS_NO_GAIN,  /* its items live short lives, but pages would bring nothing */
    CLASS_STARVING  /* see lua/slate/judge/starving.lua */
};
enum { CLASS_STATES = CLASS_STARVING + 1 };

struct class_verdict {
    enum class_state state;
    double life_s;        /* age of evicted items; NAN if it evicts none */
    double evicted_per_s; /* mean over the last samples; NAN when unknown */
};

/* Memory held in pages, against the limit: see lua/slate/judge/starving.lua. 0 when the server does
 * not report it. */
struct held {
    double bytes, limit_bytes;
    bool is_much;
};

/* The judgement on the last snapshot; all fields are unknown before the first snapshot. */
struct verdict {
    int worst;             /* the first class of the plan (page_plan.lua), which pages may not help;
                            * -1: no class is in need */
    bool reports_classes;  /* the server reports its classes, even if it has none yet */
    bool knows_starving; /* it reports enough to know that no class starves */
    double youngest_s;   /* youngest tail of evicting classes, else of all; NAN: unknown */
    struct held held;
    char automove[120]; /* "1 (ratio): a page a second at most, ...": the mode; "": unknown */
};

/* A class that could give pages to another. */
struct donor {
    int class_id;   /* -1: no donor */
    unsigned pages; /* how many to move */
};

/* A sentence of a module: see brain_query.h. */
enum { SENTENCES_MOST = 14, SENTENCE_BYTES = 2 * NOTE_BYTES };

enum tone { TONE_PLAIN, TONE_GOOD, TONE_NOTE, TONE_WARN, TONE_BAD };

struct sentence {
    enum tone tone;
    char key;       /* the key that helps; '\0': none */
    char label[20]; /* its subject in a word; "" for none */
    char text[SENTENCE_BYTES];
};

struct brain;

/* NULL when out of memory. */
struct brain *brain_create(void);
void brain_destroy(struct brain **brain);

/* Judges the next snapshot of the server. */
void brain_observe(struct brain *brain, const struct snapshot *now);

/* A model with a brain that judges each of its snapshots and ends with it; NULL when out of
 * memory. */
struct model *brain_model(const char *server);

/* The brain of a model that brain_model made. */
const struct brain *brain_of(const struct model *model);

/* Valid as long as the brain. */
const struct verdict *brain_said(const struct brain *brain);

/* The last judgement on a class; all fields are unknown at first. Valid as long as the brain. */
const struct class_verdict *brain_class(const struct brain *brain, unsigned class_id);

/* The class to which pages are advised first; -1: none. */
int brain_in_need(const struct brain *brain);

/* The text in place of a table without rows. */
const char *brain_no_classes(const struct brain *brain);

/* The best donor for a class, starving or not. */
struct donor brain_donor(const struct brain *brain, unsigned class_id);

/* How many pages to move from a chosen class to another, or to the pool (0). */
unsigned brain_pages(const struct brain *brain, unsigned from, unsigned to);

/* Memory in pages that holds no item's bytes: see lua/slate/facts/waste.lua. NAN: unknown. */
struct waste {
    double slack_bytes; /* the ends of used chunks */
    double waste_ratio; /* of all pages but free chunks: slack, and the ends of pages */
};
struct waste brain_waste(const struct brain *brain);

/* The stores that a server refused for want of memory, as lua/slate/facts/snapshot.lua counts them;
 * STAT_ABSENT when it does not report them. Cost: O(classes). */
uint64_t brain_refused_stores(const struct brain *brain, const struct snapshot *snapshot);

/* Why judging has ended, in a sentence; NULL while all is well. */
const char *brain_failure(const struct brain *brain);

const char *brain_class_word(enum class_state state);
#endif
