#include "sample/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/prefetch.h"
#include "sample/curve_entries.h"
#include "sample/stream.h"

enum {
    STEPS_AN_OCTAVE = 4,
    OCTAVE_FIRST = 12,
    OCTAVE_LAST = 46,
    STEPS = (OCTAVE_LAST - OCTAVE_FIRST) * STEPS_AN_OCTAVE
};
_Static_assert((int)STEPS == (int)CURVE_STEPS, "the copies of a key have the same sizes of caches");
/* Each use of a key looks at so many entries and forgets the expired ones. */
enum { EXPIRY_VISITS = 8 };
/* Of the first reads. If more dead keys were forgotten, many first reads may be of such keys. */
#define FORGOTTEN_RATIO_MOST 0.1
/* Keys are divided into so many groups by their hash. The error follows from how much the groups'
 * misses differ. */
enum { GROUPS = 16 };
/* A rate rises by this factor at least, since the curve then begins anew. */
enum { RAISE_LEAST = 4 };
/* The share of compulsory misses is averaged over so many misses that chance makes it wrong by at
 * most this much of all reads, in one standard error; over MISSES_LEAST at least. */
#define COMPULSORY_ERROR 0.005
/* of twice a fading mean less the mean of that mean, for each miss that a mean is made from */
#define TREND_VARIANCE 1.25
enum { MISSES_LEAST = 64 };

struct curve_of_class {
    float reads, first_reads;
    float new_keys;             /* read or stored for the first time */
    float hits_now;             /* the cache's hits of sampled keys since curve_expect */
    float surplus;              /* expected less sampled hits of the cache */
    float group_misses[GROUPS]; /* the cache's */
    float at[STEPS]; /* reads that hit from this size on, less those that miss from it on */
};

struct curve {
    struct curve_entry *entries;                            /* entries 1 to keys_max; 0 is none */
    uint32_t *buckets, keys_max, keys, dead, free, visited; /* keys: without dead ones */
    uint32_t      below;
    uint64_t      now;
    bool partial; /* since curve_expect the counts began anew */
    /* Means over the cache's misses of late: the share that any memory would have missed; and the
     * mean of this mean, which is older. Their difference shows the trend (R. G. Brown, Smoothing,
     * Forecasting and Prediction, 1963): while a cache is young, fewer and fewer keys are new. */
    double compulsory_ratio, compulsory_ratio_older;
    double misses, misses_most; /* misses that the means are made from, and the most that count */
    double forgotten; /* dead keys that made room for others; faded like the reads */
    uint32_t      root[CURVE_CLASSES];
    struct curve_of_class *classes;
    unsigned      classes_max, classes_used;
    /* place in `classes`, counted from one; 0: the class has no curve */
    uint8_t       place[CURVE_CLASSES];
    float         waiting[CURVE_CLASSES]; /* reads of classes without a curve */
};

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
    return sizeof(struct curve) + sizeof(struct curve_entry) +
           (size_t)keys_max * (sizeof(struct curve_entry) + sizeof(uint32_t)) +
           classes_max * sizeof(struct curve_of_class);
}

/* --- classes --- */

static struct curve_of_class *curve_of_class(const struct curve *c, unsigned class_id) {
    return c->place[class_id] != 0 ? &c->classes[c->place[class_id] - 1] : NULL;
}

int curve_place(const struct curve *c, unsigned class_id) { return c->place[class_id] - 1; }

/* Counts a read, in the class's curve if there is one or room for one. */
static struct curve_of_class *curve_count_read(struct curve *c, unsigned class_id) {
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

/* The key's copies are gone, but it stays known: its next read is not its first. */
static void curve_kill(struct curve *c, uint32_t i) {
    unsigned class_id = curve_entry_class(&c->entries[i]);
    c->root[class_id] = curve_entries_take_out(c->entries, c->root[class_id], i);
    c->entries[i].bytes = 0;
    c->keys--;
    c->dead++;
}

static void curve_forget(struct curve *c, uint32_t *link) {
    uint32_t i = *link;
    struct curve_entry *e = &c->entries[i];
    if (e->bytes != 0) {
        curve_kill(c, i);
    }
    *link = e->next;
    *e = (struct curve_entry){.next = c->free};
    c->free = i;
    c->dead--;
}

void curve_fade(struct curve *c, double factor) {
    c->forgotten *= factor;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        c->waiting[i] *= (float)factor;
    }
    for (unsigned i = 0; i < c->classes_used; i++) {
        struct curve_of_class *k = &c->classes[i];
        k->reads *= (float)factor;
        k->first_reads *= (float)factor;
        k->new_keys *= (float)factor;
        k->hits_now *= (float)factor;
        k->surplus *= (float)factor;
        for (unsigned g = 0; g < GROUPS; g++) {
            k->group_misses[g] *= (float)factor;
        }
        for (unsigned s = 0; s < STEPS; s++) {
            k->at[s] *= (float)factor;
        }
    }
}

/* Without this, keys that expired long ago would count as bytes between two uses of other keys. */
static void curve_kill_expired(struct curve *c, uint32_t now_s) {
    for (unsigned i = 0; i < EXPIRY_VISITS; i++) {
        c->visited = c->visited % c->keys_max + 1;
        const struct curve_entry *e = &c->entries[c->visited];
        if (e->bytes != 0 && curve_copies_expired(&e->copies, now_s)) {
            curve_kill(c, c->visited);
        }
    }
}

/* There is a dead entry, and no free one. */
static void curve_forget_dead(struct curve *c) {
    do {
        c->visited = c->visited % c->keys_max + 1;
    } while (c->entries[c->visited].bytes != 0);
    curve_forget(c, curve_find(c, c->entries[c->visited].hash));
    c->forgotten += 1;
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

void curve_restart(struct curve *c) {
    for (unsigned i = 0; i < c->classes_used; i++) {
        c->partial = c->partial || c->classes[i].hits_now > 0;
    }
    curve_fade(c, 0);
    c->misses = 0;
}

/* The sample has no history of the keys that join it, nor of the bytes between their uses. */
static void curve_raise_rate(struct curve *c, uint32_t below) {
    curve_restart(c);
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

/* Of a class, or of all. */
struct totals {
    double reads, first_reads, surplus, missed, misses[GROUPS];
};

static struct totals curve_totals(const struct curve *c, unsigned class_id) {
    struct totals t = {0};
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        const struct curve_of_class *k =
            class_id == CURVE_ALL || class_id == i ? curve_of_class(c, i) : NULL;
        for (unsigned g = 0; k != NULL && g < GROUPS; g++) {
            t.misses[g] += (double)k->group_misses[g];
            t.missed += (double)k->group_misses[g];
        }
        t.reads += k != NULL ? (double)k->reads : 0;
        t.first_reads += k != NULL ? (double)k->first_reads : 0;
        t.surplus += k != NULL ? (double)k->surplus : 0;
    }
    return t;
}

double curve_miss_ratio(const struct curve *c) {
    struct totals t = curve_totals(c, CURVE_ALL);
    return fmin(t.missed / fmax(t.reads + t.surplus, 1), 1);
}

void curve_expect(struct curve *c, const double class_hits[CURVE_CLASSES]) {
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        struct curve_of_class *k = curve_of_class(c, i);
        if (k != NULL && !c->partial) {
            k->surplus += (float)(class_hits[i] * sample_rate(c->below)) - k->hits_now;
        }
        if (k != NULL) {
            k->hits_now = 0;
        }
    }
    c->partial = false;
    double miss_ratio = curve_miss_ratio(c);
    /* the variance of a share is a fourth at most */
    c->misses_most =
        miss_ratio * miss_ratio / 4 * TREND_VARIANCE / (COMPULSORY_ERROR * COMPULSORY_ERROR);
    curve_reassign_place(c);
}

/* Makes the key the last used one. */
static void curve_place_last(struct curve *c, uint32_t *link, struct curve_use use,
                             struct curve_copies copies) {
    uint32_t i = *link;
    if (i == 0) {
        i = *link = c->free;
        c->free = c->entries[i].next;
        c->entries[i] = (struct curve_entry){.hash = use.hash};
    } else if (c->entries[i].bytes != 0) {
        unsigned was = curve_entry_class(&c->entries[i]);
        c->root[was] = curve_entries_take_out(c->entries, c->root[was], i);
        c->keys--;
    } else {
        c->dead--;
    }
    c->keys++;
    struct curve_entry *e = &c->entries[i];
    e->used = c->now++ << CURVE_CLASS_BITS | use.class_id;
    e->bytes = use.bytes > 0 ? use.bytes : 1; /* 0 would say that the entry is dead */
    e->copies = copies;
    e->older = e->newer = 0;
    curve_entries_sum_up(c->entries, i);
    c->root[use.class_id] = curve_entries_join(c->entries, c->root[use.class_id], i);
}

/* Makes room for a new key by halving the rate. False: at the new rate the key is not in the
 * sample. */
static bool curve_make_room(struct curve *c, uint64_t hash) {
    if (c->free == 0 && c->dead > 0) {
        curve_forget_dead(c);
    }
    while (c->free == 0 && c->below > 1) {
        curve_lower_rate(c, c->below / 2);
    }
    return sample_takes(hash, c->below);
}

static double curve_step(double bytes) {
    double place = (log2(bytes > 1 ? bytes : 1) - OCTAVE_FIRST) * STEPS_AN_OCTAVE;
    return place < 0 ? 0 : place < STEPS - 1 ? place : STEPS - 1;
}

/* The smallest cache, as a step, that still holds an entry when it is used again. While items move
 * to another class, the keys that were used since then are in both. */
static unsigned curve_entry_step(const struct curve *c, uint32_t i, struct curve_use use) {
    unsigned class_id = curve_entry_class(&c->entries[i]);
    uint64_t since = curve_entries_bytes_since(c->entries, c->root[class_id], i);
    if (class_id != use.class_id) {
        since += curve_entries_bytes_since(c->entries, c->root[use.class_id], i);
    }
    return (unsigned)curve_step((double)since / sample_rate(c->below) + use.bytes);
}

/* A larger cache stores a key less often, so its copy may have expired where the cache hits: that
 * takes back what it saves elsewhere. */
static void curve_note_compulsory(struct curve *c, bool hit, bool largest_hits) {
    if (hit) {
        c->compulsory_ratio += !largest_hits / fmax(c->misses, 1);
        return;
    }
    c->misses = fmin(c->misses + 1, fmax(c->misses_most, MISSES_LEAST));
    c->compulsory_ratio += (!largest_hits - c->compulsory_ratio) / c->misses;
    c->compulsory_ratio_older += (c->compulsory_ratio - c->compulsory_ratio_older) / c->misses;
}

void curve_read(struct curve *c, struct curve_use use, bool hit, uint32_t now_s) {
    curve_kill_expired(c, now_s);
    uint32_t known = *curve_find(c, use.hash);
    if (!sample_takes(use.hash, c->below) || (known == 0 && !curve_make_room(c, use.hash))) {
        return;
    }
    struct curve_of_class *k = curve_count_read(c, use.class_id);
    if (k != NULL) {
        k->first_reads += known == 0;
        k->new_keys += known == 0;
        *(hit ? &k->hits_now : &k->group_misses[sample_slot(use.hash, GROUPS)]) += 1;
    }
    struct curve_copies copies = curve_copies_stored(use.expires_s);
    bool largest_hits = false;
    if (known != 0 && c->entries[known].bytes != 0) {
        copies = c->entries[known].copies;
        largest_hits = curve_copies_read(&copies, curve_entry_step(c, known, use), use.expires_s,
                                         now_s, k != NULL ? k->at : NULL);
    }
    if (!hit || known != 0) {
        curve_note_compulsory(c, hit, largest_hits);
    }
    /* making room may have changed which link leads to the key */
    curve_place_last(c, curve_find(c, use.hash), use, copies);
}

void curve_store(struct curve *c, struct curve_use use, uint32_t now_s) {
    curve_kill_expired(c, now_s);
    uint32_t *link = curve_find(c, use.hash);
    if (sample_takes(use.hash, c->below) && (*link != 0 || curve_make_room(c, use.hash))) {
        struct curve_of_class *k = *link == 0 ? curve_of_class(c, use.class_id) : NULL;
        if (k != NULL) {
            k->new_keys += 1;
        }
        curve_place_last(c, curve_find(c, use.hash), use, curve_copies_stored(use.expires_s));
    }
}

void curve_set_expiry(struct curve *c, uint64_t hash, uint32_t expires_s) {
    uint32_t i = *curve_find(c, hash);
    if (i != 0) { /* of a dead entry the copies are not read */
        c->entries[i].copies = curve_copies_stored(expires_s);
    }
}

void curve_gone(struct curve *c, uint64_t hash) {
    uint32_t i = *curve_find(c, hash);
    if (i != 0 && c->entries[i].bytes != 0) {
        curve_kill(c, i);
    }
}

/* --- results --- */

double curve_reads(const struct curve *c, unsigned class_id) {
    return curve_totals(c, class_id).reads;
}

double curve_first_reads(const struct curve *c, unsigned class_id) {
    double all = curve_totals(c, CURVE_ALL).first_reads;
    bool known = c->forgotten <= FORGOTTEN_RATIO_MOST * all;
    return known ? curve_totals(c, class_id).first_reads : -1;
}

static double curve_hits_within(const struct curve_of_class *k, double bytes) {
    double place = curve_step(bytes), sum = 0;
    unsigned complete = (unsigned)place;
    for (unsigned s = 0; s < complete; s++) {
        sum += (double)k->at[s];
    }
    return sum + (double)k->at[complete] * (place - complete);
}

double curve_all_hits(const struct curve *c, const double bytes[CURVE_CLASSES], double factor) {
    double hits = 0;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        const struct curve_of_class *k = curve_of_class(c, i);
        hits += k != NULL ? curve_hits_within(k, bytes[i] * factor) : 0;
    }
    return hits;
}

static double curve_ratio(const struct curve *c, unsigned class_id, double hits) {
    struct totals t = curve_totals(c, class_id);
    double reads = t.reads + t.surplus;
    hits += t.surplus;
    return reads > 0 && hits > 0 ? fmin(hits / reads, 1) : 0;
}

double curve_hit_ratio(const struct curve *c, unsigned class_id, double bytes) {
    const struct curve_of_class *k = curve_of_class(c, class_id);
    return k != NULL ? curve_ratio(c, class_id, curve_hits_within(k, bytes)) : 0;
}

double curve_all_hit_ratio(const struct curve *c, const double bytes[CURVE_CLASSES],
                           double factor) {
    return curve_ratio(c, CURVE_ALL, curve_all_hits(c, bytes, factor));
}

double curve_reads_a_key(const struct curve *c, unsigned class_id) {
    struct totals t = curve_totals(c, class_id);
    double squares = 0;
    for (unsigned g = 0; g < GROUPS; g++) {
        squares += (t.misses[g] - t.missed / GROUPS) * (t.misses[g] - t.missed / GROUPS);
    }
    return fmax(squares * GROUPS / (GROUPS - 1) / fmax(t.missed, 1), 1);
}

double curve_compulsory_ratio(const struct curve *c, double *error) {
    *error = 0.5;
    if (c->misses < 1) {
        return 0.5;
    }
    double trend = c->compulsory_ratio - c->compulsory_ratio_older,
           ratio = fmin(fmax(c->compulsory_ratio + trend, 0), 1),
           chance = curve_reads_a_key(c, CURVE_ALL) * TREND_VARIANCE / c->misses *
                    fmax(ratio * (1 - ratio), 1 / c->misses);
    *error = fmin(sqrt(chance + trend * trend), 0.5); /* the trend may end, or be twice that */
    return ratio;
}

double curve_taking(const struct curve *c, unsigned class_id, double bytes) {
    const struct curve_of_class *k = curve_of_class(c, class_id);
    return k != NULL
               ? (double)k->new_keys +
                     fmax(curve_hits_within(k, CURVE_UNBOUNDED) - curve_hits_within(k, bytes), 0)
               : 0;
}

/* The error of a ratio that comes from misses: those of one key are not independent. Hits that a
 * smaller cache would not have come from keys with shorter distances, so of more reads each. */
static double curve_error_of_misses(const struct curve *c, unsigned class_id, double hit_ratio,
                                    double factor) {
    struct totals t = curve_totals(c, class_id);
    double reads = t.reads + t.surplus, then = (1 - hit_ratio) * reads,
           apart = fabs(then - t.missed) / fmin(factor, 1);
    if (reads < 1) {
        return 1;
    }
    return sqrt(curve_reads_a_key(c, class_id) *
                fmax(hit_ratio * hit_ratio * fmin(then, t.missed) + apart, 1)) /
           reads;
}

/* Sampled keys that so many bytes hold: all items of a class are of one size. */
static double curve_keys_within(const struct curve *c, unsigned class_id, double bytes) {
    uint32_t root = c->root[class_id];
    return root != 0 ? bytes * sample_rate(c->below) / c->entries[root].bytes : 0;
}

double curve_error(const struct curve *c, unsigned class_id, double bytes, double factor) {
    double then = bytes * factor, off = 1 / sqrt(fmax(curve_keys_within(c, class_id, then), 1)),
           misses = curve_error_of_misses(c, class_id, curve_hit_ratio(c, class_id, then), factor),
           distances = (curve_hit_ratio(c, class_id, then * (1 + off)) -
                        curve_hit_ratio(c, class_id, then / (1 + off))) /
                       2;
    return fmin(sqrt(misses * misses + distances * distances), 1);
}

double curve_distance_error(const struct curve *c, const double bytes[CURVE_CLASSES]) {
    double keys = 0;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        keys += curve_keys_within(c, i, bytes[i]);
    }
    return 1 / sqrt(fmax(keys, 1));
}

double curve_all_error(const struct curve *c, const double bytes[CURVE_CLASSES], double factor) {
    double then[CURVE_CLASSES];
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        then[i] = bytes[i] * factor;
    }
    double off = curve_distance_error(c, then),
           misses =
               curve_error_of_misses(c, CURVE_ALL, curve_all_hit_ratio(c, bytes, factor), factor),
           distances = (curve_all_hit_ratio(c, bytes, factor * (1 + off)) -
                        curve_all_hit_ratio(c, bytes, factor / (1 + off))) /
                       2;
    return fmin(sqrt(misses * misses + distances * distances), 1);
}
