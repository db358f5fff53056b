#include "sample/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/prefetch.h"
#include "base/random.h"
#include "sample/stream.h"

enum {
    STEPS_AN_OCTAVE = 4,
    OCTAVE_FIRST = 12,
    OCTAVE_LAST = 46,
    STEPS = (OCTAVE_LAST - OCTAVE_FIRST) * STEPS_AN_OCTAVE
};
enum { CLASS_BITS = 8 };
/* A rate rises by this factor at least, since the curve then begins anew. */
enum { RAISE_LEAST = 4 };

struct entry {
    uint64_t hash;
    /* time of the last use, counted in uses of any key; the low eight bits are the class */
    uint64_t used;
    uint64_t sum;  /* bytes of this entry and of both its subtrees */
    uint32_t bytes, next; /* next in its bucket, or of the free entries */
    uint32_t older, newer;
};

struct curve_of_class {
    float reads;
    float at[STEPS]; /* reads whose distance falls into this step */
};

struct curve {
    struct entry *entries; /* entries 1 to keys_max; 0 is none */
    uint32_t     *buckets, keys_max, keys, free;
    uint32_t      below;
    uint64_t      now;
    double        reads;   /* reads since curve_expect */
    double        surplus; /* expected less actual reads of the sample */
    uint32_t      root[CURVE_CLASSES];
    struct curve_of_class *classes;
    unsigned      classes_max, classes_used;
    /* place in `classes`, counted from one; 0: the class has no curve */
    uint8_t       place[CURVE_CLASSES];
    float         waiting[CURVE_CLASSES]; /* reads of classes without a curve */
};

/* --- the treap: ordered by time, and a heap by mixed hashes --- */

static uint32_t curve_priority(const struct entry *e) {
    return (uint32_t)(e->hash * RANDOM_ODD >> 32);
}

static void curve_sum_up(struct curve *c, uint32_t i) {
    struct entry *e = &c->entries[i];
    e->sum = c->entries[e->older].sum + e->bytes + c->entries[e->newer].sum;
}

/* Joins two treaps; all of `a` is older than all of `b`. */
static uint32_t curve_join(struct curve *c, uint32_t a, uint32_t b) {
    if (a == 0 || b == 0) {
        return a + b;
    }
    if (curve_priority(&c->entries[a]) > curve_priority(&c->entries[b])) {
        c->entries[a].newer = curve_join(c, c->entries[a].newer, b);
        curve_sum_up(c, a);
        return a;
    }
    c->entries[b].older = curve_join(c, a, c->entries[b].older);
    curve_sum_up(c, b);
    return b;
}

static uint32_t curve_take_out(struct curve *c, uint32_t root, uint32_t which) {
    struct entry *e = &c->entries[root];
    if (root == which) {
        return curve_join(c, e->older, e->newer);
    }
    if (c->entries[which].used < e->used) {
        e->older = curve_take_out(c, e->older, which);
    } else {
        e->newer = curve_take_out(c, e->newer, which);
    }
    curve_sum_up(c, root);
    return root;
}

/* Bytes of the entries that were used after this one. */
static uint64_t curve_bytes_since(const struct curve *c, uint32_t root, uint32_t which) {
    uint64_t sum = 0, used = c->entries[which].used;
    while (root != which) {
        const struct entry *e = &c->entries[root];
        if (used < e->used) {
            sum += e->bytes + c->entries[e->newer].sum;
            root = e->older;
        } else {
            root = e->newer;
        }
    }
    return sum + c->entries[c->entries[which].newer].sum;
}

static unsigned curve_entry_class(const struct entry *e) {
    return (unsigned)(e->used & ((1u << CLASS_BITS) - 1));
}

/* --- keys --- */

struct curve *curve_create(uint32_t keys_max, unsigned classes_max) {
    bool sound =
        keys_max > 0 && keys_max < 1u << 31 && classes_max > 0 && classes_max < CURVE_CLASSES;
    struct curve *c = sound ? calloc(1, sizeof *c) : NULL;
    if (c == NULL) {
        return NULL;
    }
    c->entries = calloc((size_t)keys_max + 1, sizeof *c->entries);
    c->buckets = calloc(keys_max, sizeof *c->buckets);
    c->classes = calloc(classes_max, sizeof *c->classes);
    if (c->entries == NULL || c->buckets == NULL || c->classes == NULL) {
        curve_destroy(&c);
        return NULL;
    }
    c->keys_max = keys_max;
    c->classes_max = classes_max;
    c->below = UINT32_MAX;
    for (uint32_t i = keys_max; i > 0; i--) {
        c->entries[i].next = c->free;
        c->free = i;
    }
    return c;
}

void curve_destroy(struct curve **taken) {
    struct curve *c = *taken;
    if (c == NULL) {
        return;
    }
    free(c->entries);
    free(c->buckets);
    free(c->classes);
    free(c);
    *taken = NULL;
}

size_t curve_memory(uint32_t keys_max, unsigned classes_max) {
    return sizeof(struct curve) + sizeof(struct entry) +
           (size_t)keys_max * (sizeof(struct entry) + sizeof(uint32_t)) +
           classes_max * sizeof(struct curve_of_class);
}

/* --- classes --- */

static struct curve_of_class *curve_of_class(const struct curve *c, unsigned class_id) {
    return c->place[class_id] != 0 ? &c->classes[c->place[class_id] - 1] : NULL;
}

int curve_place(const struct curve *c, unsigned class_id) { return c->place[class_id] - 1; }

/* Counts a read, in the class's curve if there is one or room for one. */
static struct curve_of_class *curve_count_read(struct curve *c, unsigned class_id) {
    c->reads += 1;
    if (c->place[class_id] == 0 && c->classes_used < c->classes_max) {
        c->place[class_id] = (uint8_t)++c->classes_used;
    }
    struct curve_of_class *k = curve_of_class(c, class_id);
    *(k != NULL ? &k->reads : &c->waiting[class_id]) += 1;
    return k;
}

/* Moves the place of the class with the fewest reads to the class without a curve that has most
 * reads, if that has more than twice as many. */
static void curve_reassign_place(struct curve *c) {
    unsigned most = 0, fewest = 0;
    for (unsigned i = 1; i < CURVE_CLASSES; i++) {
        if (c->place[i] == 0) {
            most = c->waiting[i] > c->waiting[most] ? i : most;
        } else if (fewest == 0 || curve_of_class(c, i)->reads < curve_of_class(c, fewest)->reads) {
            fewest = i;
        }
    }
    if (most == 0 || c->waiting[most] <= 2 * curve_of_class(c, fewest)->reads) {
        return;
    }
    *curve_of_class(c, fewest) = (struct curve_of_class){0};
    c->place[most] = c->place[fewest];
    c->place[fewest] = 0;
    memset(c->waiting, 0, sizeof c->waiting); /* the new curve gets time to count as many reads */
}

static uint32_t *curve_find(struct curve *c, uint64_t hash) {
    uint32_t *link = &c->buckets[sample_slot(hash, c->keys_max)];
    while (*link != 0 && c->entries[*link].hash != hash) {
        link = &c->entries[*link].next;
    }
    return link;
}

void curve_prefetch_bucket(const struct curve *c, uint64_t hash) {
    prefetch(&c->buckets[sample_slot(hash, c->keys_max)]);
}
void curve_prefetch_key(const struct curve *c, uint64_t hash) {
    prefetch_to_write(&c->entries[c->buckets[sample_slot(hash, c->keys_max)]]);
}

static void curve_forget(struct curve *c, uint32_t *link) {
    uint32_t i = *link;
    struct entry *e = &c->entries[i];
    unsigned class_id = curve_entry_class(e);
    c->root[class_id] = curve_take_out(c, c->root[class_id], i);
    *link = e->next;
    *e = (struct entry){.next = c->free};
    c->free = i;
    c->keys--;
}

void curve_fade(struct curve *c, double factor) {
    c->reads *= factor;
    c->surplus *= factor;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        c->waiting[i] *= (float)factor;
    }
    for (unsigned i = 0; i < c->classes_used; i++) {
        struct curve_of_class *k = &c->classes[i];
        k->reads *= (float)factor;
        for (unsigned s = 0; s < STEPS; s++) {
            k->at[s] *= (float)factor;
        }
    }
}

static void curve_drop_above(struct curve *c, uint32_t below) {
    for (uint32_t b = 0; b < c->keys_max; b++) {
        uint32_t *link = &c->buckets[b];
        while (*link != 0) {
            if (sample_takes(c->entries[*link].hash, below)) {
                link = &c->entries[*link].next;
            } else {
                curve_forget(c, link);
            }
        }
    }
}

static void curve_lower_rate(struct curve *c, uint32_t below) {
    /* the counts become those of this rate from the start */
    curve_fade(c, (double)below / c->below);
    c->below = below;
    curve_drop_above(c, below);
}

/* The sample has no history of the keys that join it, nor of the bytes between their uses, so the
 * curve begins anew. */
static void curve_raise_rate(struct curve *c, uint32_t below) {
    /* curve_expect, which comes next, expects reads by the new rate */
    double reads = c->reads / c->below * below;
    curve_fade(c, 0);
    c->reads = reads;
    c->below = below;
    curve_drop_above(c, 0);
}

void curve_set_below(struct curve *c, uint32_t below) {
    /* the highest rate whose keys have room */
    double fits = c->keys > 0 ? (double)c->below * (c->keys_max / 2) / c->keys : UINT32_MAX;
    if (below != 0 && below < c->below) {
        curve_lower_rate(c, below);
    } else if ((fits < below ? fits : below) >= (double)c->below * RAISE_LEAST) {
        curve_raise_rate(c, fits < below ? (uint32_t)fits : below);
    }
}

void curve_expect(struct curve *c, double reads) {
    c->surplus += reads * sample_rate(c->below) - c->reads;
    c->reads = 0;
    curve_reassign_place(c);
}

/* Makes the key the last used one. */
static void curve_use(struct curve *c, uint32_t *link, uint64_t hash, unsigned class_id,
                      uint32_t bytes) {
    uint32_t i = *link;
    if (i == 0) {
        i = *link = c->free;
        c->free = c->entries[i].next;
        c->entries[i] = (struct entry){.hash = hash};
        c->keys++;
    } else {
        unsigned was = curve_entry_class(&c->entries[i]);
        c->root[was] = curve_take_out(c, c->root[was], i);
    }
    struct entry *e = &c->entries[i];
    e->used = c->now++ << CLASS_BITS | class_id;
    e->bytes = bytes;
    e->older = e->newer = 0;
    curve_sum_up(c, i);
    c->root[class_id] = curve_join(c, c->root[class_id], i);
}

/* Makes room for a new key by halving the rate. False: at the new rate the key is not in the
 * sample. */
static bool curve_make_room(struct curve *c, uint64_t hash) {
    while (c->free == 0 && c->below > 1) {
        curve_lower_rate(c, c->below / 2);
    }
    return sample_takes(hash, c->below);
}

static double curve_step(double bytes) {
    double place = (log2(bytes > 1 ? bytes : 1) - OCTAVE_FIRST) * STEPS_AN_OCTAVE;
    return place < 0 ? 0 : place < STEPS - 1 ? place : STEPS - 1;
}

static void curve_touch(struct curve *c, uint64_t hash, unsigned class_id, uint32_t bytes,
                        bool read) {
    uint32_t *link = curve_find(c, hash);
    bool known = *link != 0;
    if (!sample_takes(hash, c->below) || (!known && !curve_make_room(c, hash))) {
        return;
    }
    struct curve_of_class *k = read ? curve_count_read(c, class_id) : NULL;
    if (known && k != NULL) {
        double distance =
            (double)curve_bytes_since(c, c->root[curve_entry_class(&c->entries[*link])], *link) /
            sample_rate(c->below);
        k->at[(unsigned)curve_step(distance + bytes)] += 1;
    }
    /* making room may have changed which link leads to the key */
    curve_use(c, known ? link : curve_find(c, hash), hash, class_id, bytes);
}

void curve_read(struct curve *c, uint64_t hash, unsigned class_id, uint32_t bytes) {
    curve_touch(c, hash, class_id, bytes, true);
}
void curve_store(struct curve *c, uint64_t hash, unsigned class_id, uint32_t bytes) {
    curve_touch(c, hash, class_id, bytes, false);
}

void curve_gone(struct curve *c, uint64_t hash) {
    uint32_t *link = curve_find(c, hash);
    if (*link != 0) {
        curve_forget(c, link);
    }
}

/* --- results --- */

double curve_reads(const struct curve *c, unsigned class_id) {
    double sum = 0;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        const struct curve_of_class *k =
            class_id == CURVE_ALL || class_id == i ? curve_of_class(c, i) : NULL;
        sum += k != NULL ? (double)k->reads : 0;
    }
    return sum;
}

static double curve_hits_within(const struct curve_of_class *k, double bytes) {
    double place = curve_step(bytes), sum = 0;
    unsigned complete = (unsigned)place;
    for (unsigned s = 0; s < complete; s++) {
        sum += (double)k->at[s];
    }
    return sum + (double)k->at[complete] * (place - complete);
}

double curve_hit_ratio(const struct curve *c, unsigned class_id, double bytes) {
    const struct curve_of_class *k = curve_of_class(c, class_id);
    return k != NULL && k->reads > 0 ? curve_hits_within(k, bytes) / (double)k->reads : 0;
}

double curve_all_hits(const struct curve *c, const double bytes[CURVE_CLASSES], double factor) {
    double hits = 0;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        const struct curve_of_class *k = curve_of_class(c, i);
        hits += k != NULL ? curve_hits_within(k, bytes[i] * factor) : 0;
    }
    return hits;
}

double curve_all_hit_ratio(const struct curve *c, const double bytes[CURVE_CLASSES],
                           double factor) {
    double reads = curve_reads(c, CURVE_ALL) + c->surplus,
           hits = curve_all_hits(c, bytes, factor) + c->surplus;
    return reads > 0 && hits > 0 ? hits / reads : 0;
}
