#include "sample/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "base/prefetch.h"
#include "sample/tally.h"

enum {
    CLASSES_SHARE = 8, /* counts by class take one in so many bytes of the memory */
    SHADOW_CLASSES_MIN = 24,
    RECENT_FACTOR = 2,
    CURVE_FACTOR = 2,
    CURVE_KEYS_MAX = 8192, /* more keys gain little for their cost */
    READS_A_WINDOW = 8,
    /* however few keys there are, so that what is kept of past windows comes to 1,000 reads or
     * more */
    READS_A_WINDOW_LEAST = 64,
    CURVE_FADE_WINDOWS = 4,
};
static const double curve_keeps = 0.8;

const double shadow_factor[SHADOW_SIZES] = {0.5, 2, 4};
/* the miniature of each size has a rate that is lower by these powers of two */
static const unsigned factor_shift[SHADOW_SIZES] = {0, 0, 1};
/* and so many times the nodes */
static const double factor_nodes[SHADOW_SIZES] = {0.7, 2, 2};

/* What is known of a key: a miss does not tell its size. */
enum recent_state {
    RECENT_HELD,
    RECENT_FILLING, /* it missed; its set has happened in the miniatures already */
    RECENT_WAITING, /* it missed, and its size is not known */
};
struct recent {
    uint32_t tag, bytes, ttl_s; /* ttl_s: as it was stored with; 0: it does not expire */
    uint8_t  class_id, state;
};

struct mirror {
    struct mini *mini; /* NULL: not used */
    struct tally now, past;
    /* for a policy: as `past`, but begun anew whenever the policy is not ahead of own */
    struct tally rising;
};

struct shadow {
    struct mirror  policy[SHADOW_POLICIES_MAX], size[SHADOW_SIZES];
    unsigned       policies, own;
    const struct evict_policy *running;
    const struct evict_tuning *tuning; /* the caller's */
    struct evict_tuning counted;       /* a copy of it from when counting began */
    uint32_t       below, nodes_max;
    uint64_t       windows, reads, fills; /* reads and fills of this window */
    struct recent *recent;
    struct curve  *curve;
    struct class_tally *classes; /* indexed by curve_place */
    unsigned       classes_max;
    /* by share_apart: the miniatures have neither the keys of these classes nor their memory */
    bool           apart[CURVE_CLASSES];
    struct tally   real_now, real_past; /* the cache itself, compared with own */
};

/* --- memory --- */

static uint32_t curve_keys(uint32_t nodes) {
    return nodes * CURVE_FACTOR < CURVE_KEYS_MAX ? nodes * CURVE_FACTOR : CURVE_KEYS_MAX;
}
static uint32_t size_nodes(uint32_t nodes, unsigned size) {
    return (uint32_t)(nodes * factor_nodes[size]);
}

/* The memory for so many nodes at today's size. Miniatures of other sizes may come to run any
 * policy, so each counts as the costliest one. */
static size_t memory_for(uint32_t nodes, unsigned classes) {
    size_t bytes = sizeof(struct shadow) + (size_t)nodes * RECENT_FACTOR * sizeof(struct recent) +
                   curve_memory(curve_keys(nodes), classes) + classes * sizeof(struct class_tally);
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX && evict_policies[i] != NULL; i++) {
        bytes += mini_memory(evict_policies[i], nodes);
    }
    for (unsigned i = 0; i < SHADOW_SIZES; i++) {
        bytes += mini_memory(&evict_s3fifo, size_nodes(nodes, i));
    }
    return bytes;
}

static unsigned classes_for(size_t memory_bytes) {
    size_t classes = memory_bytes / CLASSES_SHARE / (memory_for(1, 1) - memory_for(1, 0));
    return classes < SHADOW_CLASSES_MIN ? SHADOW_CLASSES_MIN
           : classes < CURVE_CLASSES    ? (unsigned)classes
                                        : CURVE_CLASSES - 1;
}

static uint32_t nodes_for(size_t memory_bytes, unsigned classes) {
    uint32_t nodes = SHADOW_NODES_MIN, step = SHADOW_NODES_MAX;
    for (; step > 0; step /= 2) {
        if (nodes + step <= SHADOW_NODES_MAX && memory_for(nodes + step, classes) <= memory_bytes) {
            nodes += step;
        }
    }
    return nodes;
}

size_t shadow_memory_least(void) { return memory_for(SHADOW_NODES_MIN, SHADOW_CLASSES_MIN); }

static bool make_minis(struct shadow *s, const struct evict_tuning *tuning) {
    for (; s->policies < SHADOW_POLICIES_MAX && evict_policies[s->policies] != NULL;
         s->policies++) {
        const struct evict_policy *policy = evict_policies[s->policies];
        s->policy[s->policies].mini = mini_create(policy, tuning, s->nodes_max, 1);
        if (s->policy[s->policies].mini == NULL) {
            return false;
        }
    }
    for (unsigned i = 0; i < SHADOW_SIZES; i++) {
        s->size[i].mini = mini_create(s->running, tuning, size_nodes(s->nodes_max, i), 1);
        if (s->size[i].mini == NULL) {
            return false;
        }
    }
    return true;
}

static unsigned index_of(const struct evict_policy *policy) {
    unsigned i = 0;
    while (evict_policies[i] != NULL && evict_policies[i] != policy) {
        i++;
    }
    return i;
}

struct shadow *shadow_create(const struct evict_policy *running, const struct evict_tuning *tuning,
                             size_t memory_bytes) {
    struct shadow *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->classes_max = classes_for(memory_bytes);
    s->nodes_max = nodes_for(memory_bytes, s->classes_max);
    s->running = running;
    s->own = index_of(running);
    s->tuning = tuning;
    evict_tuning_copy(&s->counted, tuning);
    s->below = UINT32_MAX;
    s->recent = calloc((size_t)s->nodes_max * RECENT_FACTOR, sizeof *s->recent);
    s->curve = curve_create(curve_keys(s->nodes_max), s->classes_max);
    s->classes = calloc(s->classes_max, sizeof *s->classes);
    if (s->recent == NULL || s->curve == NULL || s->classes == NULL || !make_minis(s, tuning)) {
        shadow_destroy(&s);
    }
    return s;
}

void shadow_destroy(struct shadow **taken) {
    struct shadow *s = *taken;
    if (s == NULL) {
        return;
    }
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX; i++) {
        mini_destroy(&s->policy[i].mini);
    }
    for (unsigned i = 0; i < SHADOW_SIZES; i++) {
        mini_destroy(&s->size[i].mini);
    }
    curve_destroy(&s->curve);
    free(s->classes);
    free(s->recent);
    free(s);
    *taken = NULL;
}

size_t shadow_memory(const struct shadow *s) { return memory_for(s->nodes_max, s->classes_max); }

/* --- facts about the cache --- */

static uint64_t share(const struct shadow *s, uint64_t cache_bytes,
                      const struct share_classes *classes, double factor, uint32_t below) {
    double bytes = share_at(s->curve, classes, (double)cache_bytes, factor, sample_rate(s->below)) *
                   sample_rate(below);
    return bytes > 1 ? (uint64_t)bytes : 1;
}

static void set_mini(struct mini *m, uint64_t bytes_max, uint32_t below, bool lower) {
    mini_set_bytes_max(m, bytes_max);
    if (lower) {
        mini_keep_below(m, below);
    }
}

/* Scales the counts as if this rate had been from the start. Otherwise windows at a higher rate
 * would count for more, and the first ones have the highest. */
static void scale_tallies(struct shadow *s, double by) {
    for (unsigned i = 0; i < s->policies; i++) {
        tally_scale(&s->policy[i].now, by);
        tally_scale(&s->policy[i].past, by);
        tally_scale(&s->policy[i].rising, by);
    }
    tally_scale(&s->real_now, by);
    tally_scale(&s->real_past, by);
    for (unsigned i = 0; i < SHADOW_SIZES; i++) {
        tally_scale(&s->size[i].now, by);
        tally_scale(&s->size[i].past, by);
    }
    for (unsigned i = 0; i < s->classes_max; i++) {
        class_tally_scale(&s->classes[i], by);
    }
}

void shadow_forget_sizes(struct shadow *s) {
    s->real_now = s->real_past = (struct tally){0};
    for (unsigned i = 0; i < SHADOW_SIZES; i++) {
        s->size[i].now = s->size[i].past = (struct tally){0};
    }
}

/* Forgets all counts: they compare with another cache than today's. */
static void forget_all(struct shadow *s) {
    for (unsigned i = 0; i < s->policies; i++) {
        s->policy[i].now = s->policy[i].past = s->policy[i].rising = (struct tally){0};
    }
    shadow_forget_sizes(s);
    memset(s->classes, 0, s->classes_max * sizeof *s->classes);
}

bool shadow_note_tuning(struct shadow *s) {
    bool differs = !evict_tuning_copy(&s->counted, s->tuning);
    if (differs) {
        forget_all(s);
    }
    return differs;
}

void shadow_set(struct shadow *s, uint64_t cache_bytes, const struct share_classes *classes,
                const struct evict_policy *running, uint32_t below) {
    bool fewer = below < s->below;
    if (below != s->below) {
        scale_tallies(s, sample_rate(below) / sample_rate(s->below));
    }
    curve_set_below(s->curve, below);
    s->below = below;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        s->apart[i] = share_apart(classes, i, sample_rate(below));
    }
    uint64_t today = share(s, cache_bytes, classes, 1, below);
    for (unsigned i = 0; i < s->policies; i++) {
        set_mini(s->policy[i].mini, today, below, fewer);
    }
    for (unsigned i = 0; i < SHADOW_SIZES; i++) {
        uint32_t lower = below >> factor_shift[i];
        set_mini(s->size[i].mini, share(s, cache_bytes, classes, shadow_factor[i], lower), lower,
                 fewer);
        if (running != s->running) {
            mini_switch(s->size[i].mini, running);
        }
    }
    if (running != s->running) {
        s->running = running;
        s->own = index_of(running);
        forget_all(s);
    }
}

const struct evict_policy *shadow_running(const struct shadow *s) { return s->running; }

/* --- records --- */

static struct recent *recent_of(struct shadow *s, uint64_t hash) {
    struct recent *r = &s->recent[sample_slot(hash, s->nodes_max * RECENT_FACTOR)];
    if (r->tag != (uint32_t)(hash >> 32)) {
        *r = (struct recent){.tag = (uint32_t)(hash >> 32)};
    }
    return r;
}

/* NULL: the class has no counts. If the place was another class's, its counts begin anew. */
static struct class_tally *class_tally(struct shadow *s, unsigned class_id) {
    int place = curve_place(s->curve, class_id);
    struct class_tally *k = place >= 0 ? &s->classes[place] : NULL;
    if (k != NULL && k->class_id != class_id) {
        *k = (struct class_tally){.class_id = class_id};
    }
    return k;
}

/* A get, and the set after it if the item's bytes are known. */
static bool ask(struct mini *m, struct mini_item item, uint32_t now_s) {
    return item.bytes != 0 ? mini_request(m, item, now_s) : mini_read(m, item.hash, now_s);
}

/* Counts a read. If its class stands apart, every miniature counts as having hit or missed as the
 * cache did. */
static void read_key(struct shadow *s, struct mini_item item, unsigned class_id, uint32_t now_s,
                     bool hit) {
    uint64_t hash = item.hash;
    bool apart = s->apart[class_id],
         own = apart ? hit : ask(s->policy[s->own].mini, item, now_s);
    if (item.bytes != 0) {
        curve_read(s->curve, hash, class_id, item.bytes);
    }
    struct class_tally *k = class_tally(s, class_id);
    s->reads++;
    s->fills += !own;
    tally_count(&s->real_now, hash, own, hit);
    if (k != NULL) {
        k->reads += 1;
        k->own_misses += !own;
    }
    for (unsigned i = 0; i < s->policies; i++) {
        bool other = apart || i == s->own ? own : ask(s->policy[i].mini, item, now_s);
        tally_count(&s->policy[i].now, hash, own, other);
        if (k != NULL && other != own) {
            *(own ? &k->policy[i].worse : &k->policy[i].better) += 1;
        }
    }
    for (unsigned i = 0; i < SHADOW_SIZES; i++) {
        if (sample_takes(hash, s->below >> factor_shift[i])) {
            tally_count(&s->size[i].now, hash, own,
                  apart ? own : ask(s->size[i].mini, item, now_s));
        }
    }
}

static void store_in(struct mini *m, const struct sample_record *r, bool fill, uint32_t now_s) {
    struct mini_item item = {.hash = r->hash, .bytes = r->bytes, .expires_s = r->expires_s};
    if (fill) {
        mini_fill(m, item, now_s);
    } else {
        mini_store(m, item, now_s);
    }
}

static uint32_t ttl_of(const struct sample_record *r, uint32_t now_s) {
    return r->expires_s > now_s ? r->expires_s - now_s : r->expires_s != 0;
}

/* A read tells how long the item still has to live: less than the time it was stored with, which
 * may not be known. */
static void learn_ttl(struct recent *known, const struct sample_record *r, uint32_t now_s) {
    uint32_t left_s = ttl_of(r, now_s);
    bool     is_new = known->bytes == 0 || left_s == 0;
    known->ttl_s = is_new || left_s > known->ttl_s ? left_s : known->ttl_s;
}

/* What the set after a miss will store, as far as it is known. */
static struct mini_item item_of(uint64_t hash, const struct recent *known, uint32_t now_s) {
    return (struct mini_item){.hash = hash,
                              .bytes = known->bytes,
                              .expires_s = known->ttl_s != 0 ? now_s + known->ttl_s : 0};
}

/* A key was stored. The set that follows a miss has happened in the miniatures already if they knew
 * the key's size; it then had the time to live that the key had before. */
static void store_key(struct shadow *s, const struct sample_record *r, const struct recent *known,
                      uint32_t now_s) {
    bool waited = known->state == RECENT_WAITING, apart = s->apart[r->class_id];
    if (known->state == RECENT_FILLING && known->bytes == r->bytes) {
        return;
    }
    for (unsigned i = 0; i < s->policies && !apart; i++) {
        store_in(s->policy[i].mini, r, waited, now_s);
    }
    for (unsigned i = 0; i < SHADOW_SIZES && !apart; i++) {
        if (sample_takes(r->hash, s->below >> factor_shift[i])) {
            store_in(s->size[i].mini, r, waited, now_s);
        }
    }
    if (waited) {
        curve_read(s->curve, r->hash, r->class_id, r->bytes);
    } else {
        curve_store(s->curve, r->hash, r->class_id, r->bytes);
    }
}

/* All miniatures, by number: first those of the policies, then those of the sizes; NULL behind the
 * last. */
static struct mini *mini_at(const struct shadow *s, unsigned i) {
    return i < s->policies                  ? s->policy[i].mini
           : i < s->policies + SHADOW_SIZES ? s->size[i - s->policies].mini
                                            : NULL;
}

static void touch_key(struct shadow *s, uint64_t hash, uint32_t expires_s, uint32_t now_s) {
    struct mini *m;
    for (unsigned i = 0; (m = mini_at(s, i)) != NULL; i++) {
        mini_touch(m, hash, expires_s, now_s);
    }
}

static void drop_key(struct shadow *s, uint64_t hash) {
    struct mini *m;
    for (unsigned i = 0; (m = mini_at(s, i)) != NULL; i++) {
        mini_delete(m, hash);
    }
}

void shadow_prefetch_later(const struct shadow *s, uint64_t hash) {
    const struct mini *m;
    for (unsigned i = 0; (m = mini_at(s, i)) != NULL; i++) {
        mini_prefetch_bucket(m, hash);
    }
    curve_prefetch_bucket(s->curve, hash);
    prefetch_to_write(&s->recent[sample_slot(hash, s->nodes_max * RECENT_FACTOR)]);
}

void shadow_prefetch_next(const struct shadow *s, uint64_t hash) {
    const struct mini *m;
    for (unsigned i = 0; (m = mini_at(s, i)) != NULL; i++) {
        mini_prefetch_key(m, hash);
    }
    curve_prefetch_key(s->curve, hash);
}

void shadow_record(struct shadow *s, const struct sample_record *r, uint32_t now_s) {
    if (!sample_takes(r->hash, s->below)) {
        return; /* the record was on its way when the rate was lowered */
    }
    struct recent *known = recent_of(s, r->hash);
    switch ((enum sample_verb)r->verb) {
    case SAMPLE_MISS:
        read_key(s, item_of(r->hash, known, now_s), known->class_id, now_s, false);
        known->state = known->bytes != 0 ? RECENT_FILLING : RECENT_WAITING;
        return;
    case SAMPLE_HIT:
        learn_ttl(known, r, now_s);
        known->bytes = r->bytes;
        read_key(s, item_of(r->hash, known, now_s), r->class_id, now_s, true);
        break;
    case SAMPLE_STORE:
        store_key(s, r, known, now_s);
        known->ttl_s = ttl_of(r, now_s);
        break;
    case SAMPLE_TOUCH:
        touch_key(s, r->hash, r->expires_s, now_s);
        known->ttl_s = ttl_of(r, now_s);
        return;
    case SAMPLE_GONE:
        if (r->expires_s == 0) { /* what expires does so in each miniature by itself */
            drop_key(s, r->hash);
        }
        curve_gone(s->curve, r->hash);
        known->state = RECENT_HELD; /* its size may serve again */
        return;
    case SAMPLE_KEY: return;
    }
    known->bytes = r->bytes;
    known->class_id = r->class_id;
    known->state = RECENT_HELD;
}

/* --- windows --- */

/* Whether all its nodes are in use: it may then run out of nodes before it runs out of bytes. */
static bool crowded(const struct mini *m) { return mini_nodes(m) == mini_nodes_max(m); }
static bool roomy(const struct mini *m) { return mini_nodes(m) < mini_nodes_max(m) / 5 * 2; }

/* Whether one more item of mean size would make it nine tenths full: then it is known how many
 * items fit. Few large items fit, and they leave more than a tenth free. A miniature that is too
 * small for any item is empty. */
static bool filled(const struct mini *m) {
    uint64_t bytes = mini_bytes(m), nodes = mini_nodes(m);
    return nodes == 0 || bytes + bytes / nodes > mini_bytes_max(m) / 10 * 9;
}

struct shadow_fill shadow_fill(const struct shadow *s) {
    const struct mini *own = s->policy[s->own].mini;
    struct shadow_fill f = {.nodes = mini_nodes(own),
                            .nodes_max = s->nodes_max,
                            .bytes = mini_bytes(own),
                            .roomy = filled(own)};
    for (unsigned i = 0; i < s->policies; i++) {
        if (evict_policies[i]->victim == NULL) {
            /* what it holds came first and stays for ever, so it does not tell how many items fit
             * today */
            continue;
        }
        f.crowded = f.crowded || crowded(s->policy[i].mini);
        f.roomy = f.roomy && roomy(s->policy[i].mini);
    }
    for (unsigned i = 0; i < SHADOW_SIZES; i++) {
        f.crowded = f.crowded || crowded(s->size[i].mini);
        f.roomy = f.roomy && roomy(s->size[i].mini);
    }
    return f;
}

bool shadow_window_due(const struct shadow *s) {
    uint32_t nodes = mini_nodes(s->policy[s->own].mini);
    return (s->fills >= SHADOW_NODES_MIN / 4 && s->fills >= nodes / 4 &&
            s->reads >= READS_A_WINDOW_LEAST) ||
           s->reads >= (uint64_t)READS_A_WINDOW * s->nodes_max;
}

static void settle(struct mirror *m, double keep) {
    tally_add(&m->past, &m->now, keep);
    m->now = (struct tally){0};
}

static void rise(struct mirror *m, double keep) {
    tally_add(&m->rising, &m->now, keep);
    if (m->rising.better <= m->rising.worse) {
        m->rising = (struct tally){0};
    }
}

void shadow_window_end(struct shadow *s, double reads) {
    curve_expect(s->curve, reads);
    for (unsigned i = 0; i < s->policies; i++) {
        rise(&s->policy[i], SHADOW_KEEPS);
        settle(&s->policy[i], SHADOW_KEEPS);
    }
    for (unsigned i = 0; i < SHADOW_SIZES; i++) {
        settle(&s->size[i], SHADOW_SIZES_KEEP);
    }
    tally_add(&s->real_past, &s->real_now, SHADOW_SIZES_KEEP);
    s->real_now = (struct tally){0};
    s->windows++;
    s->reads = s->fills = 0;
    for (unsigned i = 0; i < s->classes_max; i++) {
        class_tally_scale(&s->classes[i], SHADOW_KEEPS);
    }
    if (s->windows % CURVE_FADE_WINDOWS == 0) {
        curve_fade(s->curve, curve_keeps);
    }
}

uint64_t shadow_windows(const struct shadow *s) { return s->windows; }

/* --- results --- */

struct shadow_tally shadow_policy(const struct shadow *s, unsigned policy) {
    return tally_told(&s->policy[policy].past);
}
struct shadow_tally shadow_rising(const struct shadow *s, unsigned policy) {
    return tally_told(&s->policy[policy].rising);
}
struct shadow_tally shadow_size(const struct shadow *s, unsigned size) {
    return tally_told(&s->size[size].past);
}

double shadow_share_factor(const struct shadow *s, unsigned size) {
    double own = (double)mini_bytes_max(s->policy[s->own].mini) / sample_rate(s->below),
           other = (double)mini_bytes_max(s->size[size].mini) /
                   sample_rate(s->below >> factor_shift[size]);
    return other / (own * shadow_factor[size]);
}

struct shadow_tally shadow_real(const struct shadow *s) { return tally_told(&s->real_past); }

struct shadow_tally shadow_class_policy(const struct shadow *s, unsigned class_id,
                                        unsigned policy) {
    int place = curve_place(s->curve, class_id);
    const struct class_tally *k = place >= 0 ? &s->classes[place] : NULL;
    if (k == NULL || k->class_id != class_id) {
        return (struct shadow_tally){0};
    }
    return class_tally_told(k, policy);
}

const struct curve *shadow_curve(const struct shadow *s) { return s->curve; }
