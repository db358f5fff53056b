/* Sentences that a module of lua/slate makes of what is known of a server: asked when they are
 * looked at, where brain.h keeps what every look tells. */
#ifndef CONSOLE_BRAIN_ASK_H
#define CONSOLE_BRAIN_ASK_H
#include "brain/brain.h"

/* A change that is asked about. */
struct asked_change {
    unsigned from, to, pages; /* pages 0: it is a setting */
    const char *name, *value;
    const char *outlook; /* what the server says that it would bring; NULL: it was not asked */
};

struct question {
    /* "slate.judge.attention", "automove_reasons": (observer, asked) -> a list of { text, tone } */
    const char *module, *function;
    unsigned class_id;             /* that is asked about; 0: none */
    bool is_past;                  /* an answer that is not there will not come */
    const struct asked_change *change; /* NULL: about none */
};

/* Fills at most SENTENCES_MOST; returns how many. Of a module that fails the reason is the only
 * one. Cost: some 0.1 ms. */
unsigned brain_ask(const struct model *model, const struct question *question,
                   struct sentence out[SENTENCES_MOST]);

/* What deserves attention, the worst first: the findings of slate.judge.attention on the last
 * snapshot and the replies at hand. Kept until either changes, so that drawing again costs nothing.
 * Valid until then. */
const struct sentence *brain_findings(const struct model *model, unsigned *count);

/* What a page more or less is worth to a class: see lua/slate/judge/prediction.lua. NAN where it is
 * unknown. */
struct class_worth {
    unsigned class_id;
    double pages, hit_ratio, read_share; /* by its curve; its share of all sampled reads */
    double gain, loss;                   /* hits a second by a page more, and lost by a page less */
    char policy[POLICY_NAME_BYTES];      /* one that would be better for it; "" none */
    double policy_gain;                  /* by so much of its hit ratio */
};

/* The classes of which something is known, those first that would gain most; returns how many. Kept
 * likewise. */
unsigned brain_worth(const struct model *model, const struct class_worth **worth);

/* The value of one of the operator's own columns (own_rules.h) for a class, as text; "-" when there
 * is none. Kept likewise. */
const char *brain_own_value(const struct model *model, unsigned column, unsigned class_id);

/* The same as a number, to sort by; NAN where it is none. */
double brain_own_number(const struct model *model, unsigned column, unsigned class_id);
#endif
