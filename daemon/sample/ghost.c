#include "sample/ghost.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 8, SETS = GHOST_ENTRIES / WAYS, FINGERPRINT_BITS = 24, SAMPLE_BIT = 40 };
_Static_assert((SETS & (SETS - 1)) == 0, "a set is named by bits of the hash");
#define FINGERPRINT_MASK (((uint64_t)1 << FINGERPRINT_BITS) - 1)

/* An entry is one word: 32 bits are the class's count at the eviction, 8 the class, 24 the key's
 * fingerprint. Class 0: empty. */
struct set {
    _Atomic uint64_t entry[WAYS];
} __attribute__((aligned(64)));

struct class {
    _Atomic uint32_t sampled;         /* sampled evictions so far; wraps */
    _Atomic uint32_t chunks_per_page;
};

/* When each entry's item would have expired: the low bits of the time. 0: never, or in more than
 * EXPIRY_FAR_S. Times that many seconds apart have the same bits, but no ghost lasts so long where
 * items are evicted. */
struct expiries {
    _Atomic uint16_t at_s[WAYS];
};
enum { EXPIRY_FAR_S = 1 << 15 };

struct ghost {
    struct set      sets[SETS];
    struct expiries expiries[SETS];
    struct class    classes[GHOST_CLASSES];
};

struct ghost *ghost_create(void) {
    struct ghost *g = aligned_alloc(64, sizeof *g);
    if (g != NULL) {
        memset(g, 0, sizeof *g);
    }
    return g;
}

void ghost_destroy(struct ghost **taken) {
    free(*taken);
    *taken = NULL;
}

void ghost_clear(struct ghost *g) {
    for (unsigned i = 0; i < SETS; i++) {
        for (unsigned w = 0; w < WAYS; w++) {
            atomic_store_explicit(&g->sets[i].entry[w], 0, memory_order_relaxed);
        }
    }
}

void ghost_set_class(struct ghost *g, unsigned class_id, uint32_t chunks_per_page) {
    atomic_store_explicit(&g->classes[class_id].chunks_per_page, chunks_per_page,
                          memory_order_relaxed);
}

/* 1 of 1 << shift keys of a class is sampled. */
static unsigned ghost_shift(uint32_t chunks_per_page) {
    unsigned shift = 0;
    while (shift < GHOST_SAMPLE_SHIFT && chunks_per_page >> (shift + 1) >= GHOST_PAGE_SAMPLES) {
        shift++;
    }
    return shift;
}

uint32_t ghost_class_chunks(const struct ghost *g, unsigned class_id) {
    return atomic_load_explicit(&g->classes[class_id].chunks_per_page, memory_order_relaxed);
}

unsigned ghost_weight(const struct ghost *g, unsigned class_id) {
    return 1u << ghost_shift(ghost_class_chunks(g, class_id));
}

static uint64_t ghost_fingerprint(uint64_t key_hash) { return key_hash >> 12 & FINGERPRINT_MASK; }
static unsigned ghost_entry_class(uint64_t entry) {
    return (unsigned)(entry >> FINGERPRINT_BITS) & 0xff;
}

/* Evictions of the entry's class since then, in 1/256 pages; UINT64_MAX: the entry is empty, or its
 * class exists no more. */
static uint64_t ghost_age(const struct ghost *g, uint64_t entry) {
    unsigned class_id = ghost_entry_class(entry);
    uint32_t chunks_per_page = ghost_class_chunks(g, class_id);
    if (chunks_per_page == 0) {
        return UINT64_MAX;
    }
    uint32_t after = (uint32_t)(entry >> 32) + 1;
    uint32_t since =
        atomic_load_explicit(&g->classes[class_id].sampled, memory_order_relaxed) - after;
    return ((uint64_t)since << (ghost_shift(chunks_per_page) + 8)) / chunks_per_page;
}

static uint16_t ghost_expiry_code(uint32_t expires_s, uint32_t now_s) {
    if (expires_s == 0 || expires_s - now_s >= EXPIRY_FAR_S) {
        return 0;
    }
    /* 0 means never, so a time of 0 becomes one second later */
    return (uint16_t)expires_s != 0 ? (uint16_t)expires_s : 1;
}

static bool ghost_is_over(const struct expiries *e, unsigned way, uint32_t now_s) {
    uint16_t at_s = atomic_load_explicit(&e->at_s[way], memory_order_relaxed);
    return at_s != 0 && (uint16_t)(now_s - at_s) < EXPIRY_FAR_S;
}

void ghost_evicted(struct ghost *g, unsigned class_id, uint64_t key_hash, uint32_t expires_s,
                   uint32_t now_s) {
    uint32_t chunks_per_page = ghost_class_chunks(g, class_id);
    uint64_t ghost_mask = ((uint64_t)1 << ghost_shift(chunks_per_page)) - 1;
    if (chunks_per_page == 0 || (key_hash >> SAMPLE_BIT & ghost_mask) != 0) {
        return;
    }
    uint32_t count =
        atomic_fetch_add_explicit(&g->classes[class_id].sampled, 1, memory_order_relaxed);
    struct set *set = &g->sets[key_hash & (SETS - 1)];
    struct expiries *expiries = &g->expiries[key_hash & (SETS - 1)];
    unsigned way = 0;
    uint64_t oldest = 0;
    for (unsigned w = 0; w < WAYS; w++) {
        uint64_t entry = atomic_load_explicit(&set->entry[w], memory_order_relaxed);
        if ((entry & FINGERPRINT_MASK) == ghost_fingerprint(key_hash) && entry != 0) {
            way = w; /* the key came back and was evicted again */
            break;
        }
        uint64_t age = ghost_is_over(expiries, w, now_s) ? UINT64_MAX : ghost_age(g, entry);
        if (age >= oldest) {
            oldest = age;
            way = w;
        }
    }
    uint64_t entry = (uint64_t)count << 32 | (uint64_t)class_id << FINGERPRINT_BITS |
                     ghost_fingerprint(key_hash);
    atomic_store_explicit(&expiries->at_s[way], ghost_expiry_code(expires_s, now_s),
                          memory_order_relaxed);
    atomic_store_explicit(&set->entry[way], entry, memory_order_relaxed);
}

unsigned ghost_missed(const struct ghost *g, uint64_t key_hash, uint32_t now_s, unsigned *depth) {
    const struct set *set = &g->sets[key_hash & (SETS - 1)];
    for (unsigned w = 0; w < WAYS; w++) {
        uint64_t entry = atomic_load_explicit(&set->entry[w], memory_order_relaxed);
        if (entry == 0 || (entry & FINGERPRINT_MASK) != ghost_fingerprint(key_hash)) {
            continue;
        }
        if (ghost_is_over(&g->expiries[key_hash & (SETS - 1)], w, now_s)) {
            return 0;
        }
        uint64_t pages = ghost_age(g, entry) >> 8;
        *depth = pages == 0 ? 0 : 64u - (unsigned)__builtin_clzll(pages);
        return *depth < GHOST_DEPTHS ? ghost_entry_class(entry) : 0;
    }
    return 0;
}
