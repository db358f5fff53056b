/* Sentences of modules of lua/slate about a server. They are made when they are shown; brain.h has
 * the results of every snapshot. */
#ifndef CONSOLE_BRAIN_BRAIN_QUERY_H
#define CONSOLE_BRAIN_BRAIN_QUERY_H
#include "brain/brain.h"

/* A change that a question is about. */
struct proposed_change {
    unsigned from, to, pages; /* pages 0: the change is a setting */
    const char *name, *value;
    const char *prediction; /* the server's prediction; NULL: none was requested */
};

struct question {
    /* "slate.judge.attention", "automove_reasons": (observer, replies) -> list of { text, tone } */
    const char *module, *function;
    unsigned class_id;             /* the class in question; 0: none */
    bool is_past;                  /* a missing answer will not come */
    const struct proposed_change *change; /* NULL: no change */
};

/* Writes at most SENTENCES_MOST; returns how many. If the module fails, its error is the only
 * sentence. Cost: some 0.1 ms. */
unsigned brain_query(const struct model *model, const struct question *question,
                     struct sentence out[SENTENCES_MOST]);

/* The findings of slate.judge.attention on the last snapshot and the replies so far, the worst
 * first. They are cached, and valid, until snapshot or replies change: drawing again costs
 * nothing. */
const struct sentence *brain_findings(const struct model *model, unsigned *count);

/* The value of a page more or less for a class: see lua/slate/judge/prediction.lua. NAN:
 * unknown. */
struct class_worth {
    unsigned class_id;
    double pages, hit_ratio, read_share; /* by its curve; share of sampled reads */
    double gain, loss;                   /* hits a second, by a page more or less */
    char policy[POLICY_NAME_BYTES];      /* a better policy for the class; "" none */
    double policy_gain;                  /* its gain of hit ratio */
};

/* The classes with known values, first the one that would gain most; returns how many. Kept as long
 * as findings. */
unsigned brain_worth(const struct model *model, const struct class_worth **worth);

/* The value of one of the operator's own columns (own_rules.h) for a class, as text; "-" when there
 * is none. Kept as long as findings. */
const char *brain_own_value(const struct model *model, unsigned column, unsigned class_id);

/* The same value as a number, to sort by; NAN if it is no number. */
double brain_own_number(const struct model *model, unsigned column, unsigned class_id);
#endif
