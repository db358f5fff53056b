#include "evict/evict_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "evict/list.h"

enum {
    ROOM_MIN = 64,
    WAYS = 4, /* entries in a word of ghosts */
    EPOCHS = 16,
    EPOCHS_VALID = 8,
    /* ghosts for each word, which has four entries: so few ghosts push each other out */
    GHOSTS_A_WORD = 3,
    CELLS_A_WORD = 16,
    CELL_MAX = 15,
    SKETCH_WORD_PCT = 30, /* hundredths of a word for each node: 4.8 cells */
    RETRY_CALLS = 4096,
    ADDS_A_NODE = 10, /* additions for each node after which the sketch is halved */
};

struct evict_memory {
    uint32_t words; /* words that follow */
    uint32_t epoch; /* ghosts: the epoch that runs, 0 to EPOCHS - 1 */
    uint32_t adds; /* ghosts: additions in this epoch; sketch: additions since the last halving */
    /* ghosts: hash of the newest ghost, which is not in its word yet; 0: none */
    uint64_t pending;
    uint64_t word[];
};

void evict_memory_free(struct evict_memory **m) {
    free(*m);
    *m = NULL;
}

static size_t evict_memory_bytes(uint32_t words) {
    return sizeof(struct evict_memory) + words * sizeof(uint64_t);
}

static uint32_t evict_memory_words(uint32_t room, unsigned pct) {
    return (uint32_t)((uint64_t)room * pct / 100) + 1;
}

/* Makes the queue's memory, or doubles its words: the keys of one word then belong to two words,
 * and both get a copy of it. After a refusal the next attempt comes some calls later, since
 * attempts take time under the partition's lock. */
static void evict_memory_grow(struct evict_queue *q, uint32_t words) {
    if (q->memory_retry_calls > 0) {
        q->memory_retry_calls--;
        return;
    }
    struct evict_memory *m = q->memory;
    if (m == NULL) {
        m = calloc(1, evict_memory_bytes(words));
    } else {
        words = m->words * 2;
        m = realloc(m, evict_memory_bytes(words));
    }
    if (m == NULL) {
        q->memory_retry_calls = RETRY_CALLS;
        return;
    }
    for (uint32_t i = words; m->words != 0 && i-- > 0;) {
        m->word[i] = m->word[i / 2];
    }
    m->words = words;
    q->memory = m;
}

/* The queue's memory, made with `pct` hundredths of a word for each node. The memory grows when the
 * words fall to two thirds of that; NULL: the system has none. */
static struct evict_memory *evict_memory_for(struct evict_queue *q, unsigned pct) {
    uint32_t nodes = evict_lists_count(q);
    struct evict_memory *m = q->memory;
    if (m == NULL || m->words + m->words / 2 < evict_memory_words(nodes, pct)) {
        evict_memory_grow(q, evict_memory_words(nodes < ROOM_MIN ? ROOM_MIN : nodes, pct));
    }
    return q->memory;
}

static uint64_t evict_memory_hash(const struct evict_queue *q, const struct node *n) {
    /* the hash's ends chose partition and bucket already, so its bits are mixed */
    uint64_t x = q->space->hash_of(n);
    x = (x ^ x >> 31) * RANDOM_ODD;
    return x ^ x >> 29;
}

static uint32_t evict_memory_word(const struct evict_memory *m, uint64_t hash) {
    return (uint32_t)((hash >> 32) * m->words >> 32);
}

/* --- ghosts: 16 bits each; the high twelve are the tag, never 0, the low four the epoch --- */

/* A word is seldom in the processor's caches. So a ghost enters its word only at the next addition
 * or search, and the word is prefetched meanwhile. Adding a ghost never waits for memory, and no
 * branch in it depends on the word. */

#define EACH_WAY 0x0001000100010001u

static unsigned evict_ghost_tag(uint64_t hash) { return (hash & 0xfff) != 0 ? hash & 0xfff : 1; }
static unsigned evict_ghost_entry(uint64_t word, unsigned way) {
    return word >> (16 * way) & 0xffff;
}
static uint64_t evict_ghost_with_entry(uint64_t word, unsigned way, unsigned entry) {
    return (word & ~((uint64_t)0xffff << (16 * way))) | (uint64_t)entry << (16 * way);
}

/* The age of each entry in epochs. */
static uint64_t evict_ghost_ages(const struct evict_memory *m, uint64_t word) {
    uint64_t epochs = EACH_WAY * (EPOCHS - 1);
    /* no entry borrows from the next */
    return ((m->epoch + EPOCHS) * EACH_WAY - (word & epochs)) & epochs;
}

/* EPOCHS for each empty entry, 0 for each other. */
static uint64_t evict_ghost_empties(uint64_t word) {
    /* the highest bit of each entry */
    uint64_t low = EACH_WAY * 0x7fff, is_there = ((word & low) + low) | word;
    return (~is_there >> 15 & EACH_WAY) * EPOCHS;
}

/* Returns the word without its old entries. A word that no call reads for EPOCHS epochs has old
 * entries for longer. */
static uint64_t evict_ghost_without_old(const struct evict_memory *m, uint64_t word) {
    _Static_assert(EPOCHS == 2 * EPOCHS_VALID, "one bit of an age says whether it is too old");
    uint64_t is_old = evict_ghost_ages(m, word) / EPOCHS_VALID & EACH_WAY;
    return word & ~(is_old * 0xffff);
}

/* The place for another entry: an empty one, or else the oldest. */
static unsigned evict_ghost_place(const struct evict_memory *m, uint64_t word) {
    uint64_t ranks = evict_ghost_ages(m, word) | evict_ghost_empties(word);
    unsigned place = 0, most = evict_ghost_entry(ranks, 0);
    for (unsigned i = 1; i < WAYS; i++) {
        unsigned rank = evict_ghost_entry(ranks, i);
        place = rank >= most ? i : place;
        most = rank >= most ? rank : most;
    }
    return place;
}

static void evict_ghost_settle(struct evict_memory *m) {
    if (m->pending != 0) {
        uint64_t *word = &m->word[evict_memory_word(m, m->pending)],
                 valid = evict_ghost_without_old(m, *word);
        *word = evict_ghost_with_entry(valid, evict_ghost_place(m, valid),
                                       evict_ghost_tag(m->pending) << 4 | m->epoch);
        m->pending = 0;
    }
}

void evict_ghosts_add(struct evict_queue *q, const struct node *n, uint32_t share_pct) {
    struct evict_memory *m = evict_memory_for(q, share_pct / GHOSTS_A_WORD);
    if (m == NULL) {
        return;
    }
    evict_ghost_settle(m);
    m->pending = evict_memory_hash(q, n);
    __builtin_prefetch(&m->word[evict_memory_word(m, m->pending)], 1);
    /* The valid epochs, with half of the current one, hold share_pct of the nodes. */
    if (++m->adds >=
        (uint64_t)evict_lists_count(q) * share_pct / 100 * 2 / (2 * EPOCHS_VALID - 1)) {
        m->adds = 0;
        m->epoch = (m->epoch + 1) & (EPOCHS - 1);
    }
}

bool evict_ghosts_take(struct evict_queue *q, const struct node *n) {
    struct evict_memory *m = q->memory;
    if (m == NULL) {
        return false;
    }
    evict_ghost_settle(m);
    uint64_t hash = evict_memory_hash(q, n), *word = &m->word[evict_memory_word(m, hash)],
             valid = evict_ghost_without_old(m, *word);
    *word = valid;
    for (unsigned i = 0; i < WAYS; i++) {
        if (evict_ghost_entry(valid, i) >> 4 == evict_ghost_tag(hash)) {
            *word = evict_ghost_with_entry(valid, i, 0);
            return true;
        }
    }
    return false;
}

/* --- sketch: words of sixteen 4-bit cells --- */

enum { ROWS = 4 };

struct cell {
    uint32_t word;
    unsigned shift;
};

static struct cell evict_sketch_cell(const struct evict_memory *m, uint64_t hash, unsigned row) {
    uint64_t x = hash + row * 0xc2b2ae3d27d4eb4fu;
    x = (x ^ x >> 32) * 0x9fb21c651e98df25u;
    return (struct cell){evict_memory_word(m, x), (unsigned)(x & (CELLS_A_WORD - 1)) * 4};
}

void evict_sketch_add(struct evict_queue *q, const struct node *n, unsigned times) {
    struct evict_memory *m = evict_memory_for(q, SKETCH_WORD_PCT);
    if (m == NULL) {
        return;
    }
    uint64_t hash = evict_memory_hash(q, n);
    for (unsigned row = 0; row < ROWS; row++) {
        struct cell c = evict_sketch_cell(m, hash, row);
        unsigned count = m->word[c.word] >> c.shift & CELL_MAX;
        unsigned more = times < CELL_MAX - count ? times : CELL_MAX - count;
        m->word[c.word] += (uint64_t)more << c.shift;
    }
    m->adds += times;
    /* not by the room: how soon the past fades must not depend on how the queue grew */
    uint32_t nodes = evict_lists_count(q);
    if (m->adds >= (uint64_t)(nodes < ROOM_MIN ? ROOM_MIN : nodes) * ADDS_A_NODE) {
        for (uint32_t i = 0; i < m->words; i++) {
            m->word[i] = m->word[i] >> 1 & 0x7777777777777777u;
        }
        m->adds /= 2;
    }
}

unsigned evict_sketch_count(const struct evict_queue *q, const struct node *n) {
    const struct evict_memory *m = q->memory;
    unsigned least = CELL_MAX;
    if (m == NULL) {
        return 0;
    }
    uint64_t hash = evict_memory_hash(q, n);
    for (unsigned row = 0; row < ROWS; row++) {
        struct cell c = evict_sketch_cell(m, hash, row);
        unsigned count = m->word[c.word] >> c.shift & CELL_MAX;
        least = count < least ? count : least;
    }
    return least;
}
