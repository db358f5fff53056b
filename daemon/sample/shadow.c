#include "sample/shadow_inner.h"

#include <stdlib.h>
#include <string.h>

enum {
    CLASSES_SHARE = 8, /* counts by class take one in so many bytes of the memory */
    SHADOW_CLASSES_MIN = 24,
    CURVE_FACTOR = 2,
    CURVE_KEYS_MAX = 8192, /* more keys gain little for their cost */
    READS_A_WINDOW = 8,
    /* for few keys, too, so that the faded counts of past windows come to 1,000 reads or more */
    READS_A_WINDOW_LEAST = 64,
    CURVE_FADE_WINDOWS = 4,
};
static const double curve_fade_factor = 0.8;

/* how many times the nodes of today's size the miniature of half the size has */
static const double half_nodes = 0.7;

/* --- memory --- */

static uint32_t shadow_curve_keys(uint32_t nodes) {
    return nodes * CURVE_FACTOR < CURVE_KEYS_MAX ? nodes * CURVE_FACTOR : CURVE_KEYS_MAX;
}
static uint32_t shadow_half_nodes(uint32_t nodes) {
    return (uint32_t)(nodes * half_nodes);
}

/* The memory for this number of nodes at today's size. The miniature of half the size may change to
 * any policy, so it counts as the costliest policy. */
static size_t shadow_memory_for(uint32_t nodes, unsigned classes) {
    size_t bytes = sizeof(struct shadow) +
                   (size_t)nodes * SHADOW_RECENT_FACTOR * sizeof(struct recent) +
                   curve_memory(shadow_curve_keys(nodes), classes) +
                   classes * sizeof(struct mini_class_counts);
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX && evict_policies[i] != NULL; i++) {
        bytes += mini_memory(evict_policies[i], nodes);
    }
    return bytes + mini_memory(&evict_s3fifo, shadow_half_nodes(nodes));
}

static unsigned shadow_classes_for(size_t memory_bytes) {
    size_t classes =
        memory_bytes / CLASSES_SHARE / (shadow_memory_for(1, 1) - shadow_memory_for(1, 0));
    return classes < SHADOW_CLASSES_MIN ? SHADOW_CLASSES_MIN
           : classes < CURVE_CLASSES    ? (unsigned)classes
                                        : CURVE_CLASSES - 1;
}

static uint32_t shadow_nodes_for(size_t memory_bytes, unsigned classes) {
    uint32_t nodes = SHADOW_NODES_MIN, step = SHADOW_NODES_MAX;
    for (; step > 0; step /= 2) {
        if (nodes + step <= SHADOW_NODES_MAX &&
            shadow_memory_for(nodes + step, classes) <= memory_bytes) {
            nodes += step;
        }
    }
    return nodes;
}

size_t shadow_memory_least(void) { return shadow_memory_for(SHADOW_NODES_MIN, SHADOW_CLASSES_MIN); }

static bool shadow_make_minis(struct shadow *s) {
    while (s->policies < SHADOW_POLICIES_MAX && evict_policies[s->policies] != NULL) {
        s->policies++;
    }
    bool made = true;
    for (unsigned i = 0; made && i < shadow_mirrors(s); i++) {
        bool is_size = i >= s->policies;
        s->mirror[i].mini =
            mini_create(is_size ? s->running : evict_policies[i], s->tuning,
                        is_size ? shadow_half_nodes(s->nodes_max) : s->nodes_max, 1);
        made = s->mirror[i].mini != NULL;
    }
    return made;
}

static unsigned shadow_policy_index(const struct evict_policy *policy) {
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
    s->classes_max = shadow_classes_for(memory_bytes);
    s->nodes_max = shadow_nodes_for(memory_bytes, s->classes_max);
    s->running = running;
    s->own = shadow_policy_index(running);
    s->tuning = tuning;
    evict_tuning_copy(&s->counted, tuning);
    s->below = UINT32_MAX;
    s->recent = calloc((size_t)s->nodes_max * SHADOW_RECENT_FACTOR, sizeof *s->recent);
    s->curve = curve_create(shadow_curve_keys(s->nodes_max), s->classes_max);
    s->classes = calloc(s->classes_max, sizeof *s->classes);
    if (s->recent == NULL || s->curve == NULL || s->classes == NULL || !shadow_make_minis(s)) {
        shadow_destroy(&s);
    }
    return s;
}

void shadow_destroy(struct shadow **taken) {
    struct shadow *s = *taken;
    if (s == NULL) {
        return;
    }
    for (unsigned i = 0; i < shadow_mirrors(s); i++) {
        mini_destroy(&s->mirror[i].mini);
    }
    curve_destroy(&s->curve);
    free(s->classes);
    free(s->recent);
    free(s);
    *taken = NULL;
}

size_t shadow_memory(const struct shadow *s) {
    return shadow_memory_for(s->nodes_max, s->classes_max);
}

/* --- facts about the cache --- */

static uint64_t shadow_share_bytes(const struct shadow *s, uint64_t cache_bytes,
                                   const struct share_classes *classes, double factor) {
    double rate = sample_rate(s->below),
           bytes = share_at(s->curve, classes, (double)cache_bytes, factor, rate) * rate;
    return bytes > 1 ? (uint64_t)bytes : 1;
}

/* Scales the counts as if this rate had been from the start. Otherwise windows at a higher rate
 * would count for more, and the first ones have the highest. */
static void shadow_scale_counts(struct shadow *s, double by) {
    for (unsigned i = 0; i < shadow_mirrors(s); i++) {
        mini_counts_scale(&s->mirror[i].now, by);
        mini_counts_scale(&s->mirror[i].past, by);
        mini_counts_scale(&s->mirror[i].rising, by);
    }
    mini_counts_scale(&s->real_now, by);
    mini_counts_scale(&s->real_past, by);
    for (unsigned i = 0; i < s->classes_max; i++) {
        mini_class_counts_scale(&s->classes[i], by);
    }
}

static void shadow_forget(struct shadow *s, unsigned first) {
    s->real_now = s->real_past = (struct mini_counts){0};
    for (unsigned i = first; i < shadow_mirrors(s); i++) {
        struct mirror *m = &s->mirror[i];
        m->now = m->past = m->rising = (struct mini_counts){0};
        m->ahead = 0;
    }
}

void shadow_forget_sizes(struct shadow *s) { shadow_forget(s, s->policies); }

/* Forgets all counts: they compare with another cache than today's. */
static void shadow_forget_all(struct shadow *s) {
    shadow_forget(s, 0);
    memset(s->classes, 0, s->classes_max * sizeof *s->classes);
}

bool shadow_note_tuning(struct shadow *s) {
    bool differs = !evict_tuning_copy(&s->counted, s->tuning);
    if (differs) {
        shadow_forget_all(s);
    }
    return differs;
}

bool shadow_has_classes(const struct shadow *s, const struct share_classes *classes) {
    return memcmp(s->chunk_bytes, classes->chunk_bytes, sizeof s->chunk_bytes) == 0;
}

void shadow_set(struct shadow *s, uint64_t cache_bytes, const struct share_classes *classes,
                const struct evict_policy *running, uint32_t below) {
    bool fewer = below < s->below;
    if (below != s->below) {
        shadow_scale_counts(s, sample_rate(below) / sample_rate(s->below));
    }
    curve_set_below(s->curve, below);
    if (!shadow_has_classes(s, classes)) {
        memcpy(s->chunk_bytes, classes->chunk_bytes, sizeof s->chunk_bytes);
        curve_restart(s->curve);
    }
    s->below = below;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        s->apart[i] = share_apart(classes, i, sample_rate(below));
    }
    uint64_t today = shadow_share_bytes(s, cache_bytes, classes, 1),
             half = shadow_share_bytes(s, cache_bytes, classes, 0.5);
    for (unsigned i = 0; i < shadow_mirrors(s); i++) {
        struct mirror *m = &s->mirror[i];
        bool is_size = i >= s->policies;
        mini_set_bytes_max(m->mini, is_size ? half : today);
        if (fewer) {
            mini_drop_above(m->mini, below);
        }
        if (is_size && running != s->running) {
            mini_switch(m->mini, running);
        }
    }
    if (running != s->running) {
        s->running = running;
        s->own = shadow_policy_index(running);
        shadow_forget_all(s);
    }
}

const struct evict_policy *shadow_running(const struct shadow *s) { return s->running; }

/* --- windows --- */

/* Whether all nodes are in use: the miniature may then run out of nodes before bytes. */
static bool shadow_is_crowded(const struct mini *m) { return mini_nodes(m) == mini_nodes_max(m); }
static bool shadow_is_roomy(const struct mini *m) {
    return mini_nodes(m) < mini_nodes_max(m) / 5 * 2;
}

/* Whether one more item of mean size would make the miniature nine tenths full: then the number of
 * items that fit is known. Few large items fit, and they leave more than a tenth free. A miniature
 * that is too small for any item is empty. */
static bool shadow_is_filled(const struct mini *m) {
    uint64_t bytes = mini_bytes(m), nodes = mini_nodes(m);
    return nodes == 0 || bytes + bytes / nodes > mini_bytes_max(m) / 10 * 9;
}

struct shadow_fill shadow_fill(const struct shadow *s) {
    const struct mini *own = s->mirror[s->own].mini;
    struct shadow_fill f = {.nodes = mini_nodes(own),
                            .nodes_max = s->nodes_max,
                            .bytes = mini_bytes(own),
                            .roomy = shadow_is_filled(own)};
    for (unsigned i = 0; i < shadow_mirrors(s); i++) {
        if (i < s->policies && evict_policies[i]->victim == NULL) {
            /* its first items stay for ever, and do not show how many items fit today */
            continue;
        }
        f.crowded = f.crowded || shadow_is_crowded(s->mirror[i].mini);
        f.roomy = f.roomy && shadow_is_roomy(s->mirror[i].mini);
    }
    return f;
}

bool shadow_window_due(const struct shadow *s) {
    uint32_t nodes = mini_nodes(s->mirror[s->own].mini);
    return (s->fills >= SHADOW_NODES_MIN / 4 && s->fills >= nodes / 4 &&
            s->reads >= READS_A_WINDOW_LEAST) ||
           s->reads >= (uint64_t)READS_A_WINDOW * s->nodes_max;
}

static void shadow_update_rising(struct mirror *m, double factor) {
    m->ahead = m->now.better > m->now.worse ? m->ahead + 1 : 0;
    mini_counts_add(&m->rising, &m->now, factor);
    if (m->rising.better <= m->rising.worse) {
        m->rising = (struct mini_counts){0};
    }
}

void shadow_window_end(struct shadow *s, const double class_hits[CURVE_CLASSES]) {
    curve_expect(s->curve, class_hits);
    for (unsigned i = 0; i < shadow_mirrors(s); i++) {
        struct mirror *m = &s->mirror[i];
        if (i < s->policies) {
            shadow_update_rising(m, SHADOW_FADE);
        }
        mini_counts_add(&m->past, &m->now, i < s->policies ? SHADOW_FADE : SHADOW_SIZES_FADE);
        m->now = (struct mini_counts){0};
    }
    mini_counts_add(&s->real_past, &s->real_now, SHADOW_SIZES_FADE);
    s->real_now = (struct mini_counts){0};
    s->windows++;
    s->reads = s->fills = 0;
    for (unsigned i = 0; i < s->classes_max; i++) {
        mini_class_counts_scale(&s->classes[i], SHADOW_FADE);
    }
    if (s->windows % CURVE_FADE_WINDOWS == 0) {
        curve_fade(s->curve, curve_fade_factor);
    }
}

uint64_t shadow_windows(const struct shadow *s) { return s->windows; }

/* --- results --- */

struct shadow_counts shadow_policy(const struct shadow *s, unsigned policy) {
    return mini_counts_result(&s->mirror[policy].past);
}
struct shadow_counts shadow_rising(const struct shadow *s, unsigned policy) {
    return mini_counts_result(&s->mirror[policy].rising);
}
unsigned shadow_ahead(const struct shadow *s, unsigned policy) { return s->mirror[policy].ahead; }
struct shadow_counts shadow_half(const struct shadow *s) {
    return mini_counts_result(&s->mirror[s->policies].past);
}

double shadow_half_factor(const struct shadow *s) {
    return (double)mini_bytes_max(s->mirror[s->policies].mini) /
           (0.5 * (double)mini_bytes_max(s->mirror[s->own].mini));
}

struct shadow_counts shadow_real(const struct shadow *s) {
    return mini_counts_result(&s->real_past);
}

struct shadow_counts shadow_class_policy(const struct shadow *s, unsigned class_id,
                                         unsigned policy) {
    int place = curve_place(s->curve, class_id);
    const struct mini_class_counts *k = place >= 0 ? &s->classes[place] : NULL;
    if (k == NULL || k->class_id != class_id) {
        return (struct shadow_counts){0};
    }
    return mini_class_counts_result(k, policy);
}

const struct curve *shadow_curve(const struct shadow *s) { return s->curve; }
