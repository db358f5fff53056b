/* The key of a request: a rank or number in 0..n-1.
 *   uniform              every key equally often
 *   zipf[:THETA]         key i with weight 1/(i+1)^THETA (0.99 unless given)
 *   sequential           0, 1, 2, … and around again
 * A chooser belongs to one thread. Draws are O(1) and need no table. */
#ifndef LOAD_POPULARITY_H
#define LOAD_POPULARITY_H
#include <stdbool.h>
#include <stdint.h>

#include "random.h"

#define POPULARITY_TEXT_BYTES 48

enum popularity_kind { POPULARITY_UNIFORM, POPULARITY_ZIPF, POPULARITY_SEQUENTIAL };

struct popularity {
    enum popularity_kind kind;
    double theta;
    char text[POPULARITY_TEXT_BYTES]; /* as written, for reports */
};

bool popularity_parse(const char *text, struct popularity *out);

struct chooser {
    struct popularity popularity;
    uint64_t n;    /* number of keys */
    uint64_t next; /* sequential */
    double area_one, area_n, shortcut; /* zipf, see popularity.c */
};

/* Chooses among `n` keys, at least 1. */
void chooser_init(struct chooser *c, const struct popularity *p, uint64_t n);

/* A key below n. */
uint64_t chooser_draw(struct chooser *c, struct rng *r);
#endif
