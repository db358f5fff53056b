#include "index/bucket.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "mem/item.h"

#define HUGE_BYTES ((size_t)2 << 20)
#define SEGMENT_BYTES (sizeof(struct bucket) * INDEX_SEGMENT)

/* --- memory --- */

bool index_pool_init(struct index_pool *p, size_t reserve_bytes) {
    p->bytes = (reserve_bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    p->base = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    atomic_init(&p->used, 0);
    if (p->base == MAP_FAILED) {
        p->base = NULL;
        return false;
    }
    /* A small cache's index stays in small pages, which it may never fill. */
    char *huge = (char *)(((uintptr_t)p->base + 2 * HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
    madvise(huge, (size_t)(p->base + p->bytes - huge) & ~(HUGE_BYTES - 1), MADV_HUGEPAGE);
    return true;
}

void index_pool_fini(struct index_pool *p) {
    if (p->base != NULL) {
        munmap(p->base, p->bytes);
        p->base = NULL;
    }
}

static struct bucket *pool_take_segment(struct index_pool *p) {
    size_t at = atomic_fetch_add_explicit(&p->used, SEGMENT_BYTES, memory_order_relaxed);
    if (at > p->bytes - SEGMENT_BYTES) {
        atomic_fetch_sub_explicit(&p->used, SEGMENT_BYTES, memory_order_relaxed);
        return NULL;
    }
    return (void *)(p->base + at);
}

/* Makes sure that the directory has segment `n`. */
static bool directory_grow(_Atomic(struct index_directory *) *at, uint32_t n, struct bucket *taken) {
    struct index_directory *d = atomic_load_explicit(at, memory_order_relaxed);
    if (d == NULL || n >= d->room) {
        uint32_t room = d == NULL ? 8 : d->room * 2;
        struct index_directory *wider = calloc(1, sizeof *wider + room * sizeof wider->segments[0]);
        if (wider == NULL) {
            return false;
        }
        wider->room = room;
        wider->older = d;
        for (uint32_t i = 0; i < n; i++) {
            atomic_init(&wider->segments[i], atomic_load_explicit(&d->segments[i], memory_order_relaxed));
        }
        atomic_store_explicit(at, wider, memory_order_release); /* pairs with the acquire of index_segment_bucket */
        d = wider;
    }
    atomic_store_explicit(&d->segments[n], taken, memory_order_release);
    return true;
}

static void directory_free(struct index_directory *d) {
    while (d != NULL) {
        struct index_directory *older = d->older;
        free(d);
        d = older;
    }
}

bool index_init(struct index *ix, struct index_pool *pool, const struct node_space *space) {
    memset(ix, 0, sizeof *ix);
    ix->pool = pool;
    ix->space = space;
    struct bucket *first = pool_take_segment(pool);
    if (first == NULL || !directory_grow(&ix->directory, 0, first)) {
        return false;
    }
    atomic_init(&ix->bucket_count, INDEX_SEGMENT);
    return true;
}

void index_fini(struct index *ix) {
    directory_free(atomic_load(&ix->directory));
    directory_free(atomic_load(&ix->overflow));
}

/* --- tags --- */

static uint64_t tags_low(const struct bucket *b) { return atomic_load_explicit(&b->tags_low, memory_order_relaxed); }
static uint32_t tags_high(const struct bucket *b) { return atomic_load_explicit(&b->tags_high, memory_order_relaxed); }
static uint32_t ref_of(const struct bucket *b, unsigned slot) {
    return atomic_load_explicit(&b->refs[slot], memory_order_relaxed);
}

static uint8_t tag_of(const struct bucket *b, unsigned slot) {
    return (uint8_t)(slot < 8 ? tags_low(b) >> (8 * slot) : tags_high(b) >> (8 * (slot - 8)));
}

static void set_slot(struct bucket *b, unsigned slot, uint8_t tag, uint32_t ref) {
    atomic_store_explicit(&b->refs[slot], ref, memory_order_relaxed);
    if (slot < 8) {
        uint64_t mask = (uint64_t)255 << (8 * slot);
        uint64_t low = (tags_low(b) & ~mask) | (uint64_t)tag << (8 * slot);
        atomic_store_explicit(&b->tags_low, low, memory_order_relaxed);
    } else {
        uint32_t mask = 255u << (8 * (slot - 8));
        uint32_t high = (tags_high(b) & ~mask) | (uint32_t)tag << (8 * (slot - 8));
        atomic_store_explicit(&b->tags_high, high, memory_order_relaxed);
    }
}

/* Slots of the bucket with this tag, as bits 0 to 11; exact. */
#ifdef __SSE2__
static unsigned match_slots(const struct bucket *b, uint8_t tag) {
    __m128i tags = _mm_set_epi64x((long long)tags_high(b), (long long)tags_low(b));
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag))) & ((1u << INDEX_SLOTS) - 1);
}
#else
/* The top bit of each byte that equals `tag`, gathered into the low byte. */
static unsigned match_bytes(uint64_t tags, uint8_t tag) {
    uint64_t x = tags ^ (0x0101010101010101u * tag);
    uint64_t equal = ~(((x & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu) | x | 0x7f7f7f7f7f7f7f7fu);
    return (unsigned)((equal >> 7) * 0x0102040810204080u >> 56);
}
static unsigned match_slots(const struct bucket *b, uint8_t tag) {
    return match_bytes(tags_low(b), tag) | (match_bytes(tags_high(b), tag) & 15u) << 8;
}
#endif

static struct bucket *overflow_at(const struct index *ix, uint32_t number) {
    return index_segment_bucket(&ix->overflow, number);
}

/* The next bucket of a chain. A reader may meet a link that is being changed: the number is checked against the directory. */
static struct bucket *next_in_chain(const struct index *ix, const struct bucket *b) {
    if (tag_of(b, INDEX_LINK_SLOT) != INDEX_LINK_TAG) {
        return NULL;
    }
    uint32_t number = ref_of(b, INDEX_LINK_SLOT);
    const struct index_directory *d = atomic_load_explicit(&ix->overflow, memory_order_acquire);
    if (d == NULL || (number >> INDEX_SEGMENT_SHIFT) >= d->room ||
        atomic_load_explicit(&d->segments[number >> INDEX_SEGMENT_SHIFT], memory_order_acquire) == NULL) {
        return NULL;
    }
    return overflow_at(ix, number);
}

/* --- reading --- */

enum { CHAIN_MOST = 64 }; /* a reader that follows links while they change may not go round for ever */

uint32_t index_find(const struct index *ix, const struct key *k, struct index_look *look) {
    uint8_t tag = index_tag(k->hash);
    struct bucket *b = index_bucket_of(ix, k->hash);
    if (look != NULL) {
        look->first = b;
        look->version = atomic_load_explicit(&b->version, memory_order_acquire) & ~1u; /* odd never compares equal */
    }
    for (unsigned hops = 0; b != NULL && hops < CHAIN_MOST; hops++) {
        for (unsigned slots = match_slots(b, tag); slots != 0; slots &= slots - 1) {
            uint32_t ref = ref_of(b, (unsigned)__builtin_ctz(slots));
            if (ref != 0 && item_key_is(node_at(ix->space, ref), k)) {
                return ref;
            }
        }
        b = next_in_chain(ix, b);
    }
    return 0;
}

uint32_t index_guess(const struct index *ix, uint64_t hash) {
    uint8_t tag = index_tag(hash);
    const struct bucket *b = index_bucket_of(ix, hash);
    unsigned slots = match_slots(b, tag);
    if (slots == 0) {
        b = next_in_chain(ix, b);
        slots = b != NULL ? match_slots(b, tag) : 0;
    }
    return slots != 0 ? ref_of(b, (unsigned)__builtin_ctz(slots)) : 0;
}

/* --- writing, under the partition's lock --- */

static void write_begin(struct bucket *first) {
    uint32_t v = atomic_load_explicit(&first->version, memory_order_relaxed);
    atomic_store_explicit(&first->version, v + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* odd before any change; pairs with the fence of index_unchanged */
}

static void write_end(struct bucket *first) {
    uint32_t v = atomic_load_explicit(&first->version, memory_order_relaxed);
    atomic_store_explicit(&first->version, v + 1, memory_order_release);
}

void index_change_begin(struct index *ix, uint64_t hash) { write_begin(index_bucket_of(ix, hash)); }
void index_change_end(struct index *ix, uint64_t hash) { write_end(index_bucket_of(ix, hash)); }

static struct bucket *overflow_take(struct index *ix, uint32_t *number) {
    if (ix->overflow_free != 0) {
        *number = ix->overflow_free - 1;
        struct bucket *b = overflow_at(ix, *number);
        ix->overflow_free = ref_of(b, 0);
        set_slot(b, 0, 0, 0);
        ix->overflow_used++;
        return b;
    }
    if (ix->overflow_count % INDEX_SEGMENT == 0) {
        struct bucket *segment = pool_take_segment(ix->pool);
        if (segment == NULL || !directory_grow(&ix->overflow, ix->overflow_count >> INDEX_SEGMENT_SHIFT, segment)) {
            return NULL;
        }
    }
    *number = ix->overflow_count++;
    ix->overflow_used++;
    return overflow_at(ix, *number);
}

/* Puts a pair into a chain whose version is odd, or that nobody can see yet. A chain that only keys made to collide can
 * grow is refused at CHAIN_MOST buckets. */
static bool chain_put(struct index *ix, struct bucket *b, uint8_t tag, uint32_t ref) {
    for (unsigned hops = 1; hops < CHAIN_MOST; hops++) {
        unsigned empty = match_slots(b, 0);
        if (empty != 0) {
            set_slot(b, (unsigned)__builtin_ctz(empty), tag, ref);
            return true;
        }
        struct bucket *next = next_in_chain(ix, b);
        if (next == NULL) {
            uint32_t number = 0;
            next = overflow_take(ix, &number);
            if (next == NULL) {
                return false;
            }
            set_slot(next, 0, tag_of(b, INDEX_LINK_SLOT), ref_of(b, INDEX_LINK_SLOT));
            set_slot(b, INDEX_LINK_SLOT, INDEX_LINK_TAG, number);
        }
        b = next;
    }
    return false;
}

/* Empties a bucket and gives its overflow buckets back; its pairs are in the caller's hands. */
static void chain_clear(struct index *ix, struct bucket *first) {
    struct bucket *b = next_in_chain(ix, first);
    uint32_t number = ref_of(first, INDEX_LINK_SLOT);
    while (b != NULL) {
        struct bucket *next = next_in_chain(ix, b);
        uint32_t next_number = ref_of(b, INDEX_LINK_SLOT);
        for (unsigned i = 0; i < INDEX_SLOTS; i++) {
            set_slot(b, i, 0, 0);
        }
        set_slot(b, 0, 0, ix->overflow_free);
        ix->overflow_free = number + 1;
        ix->overflow_used--;
        b = next;
        number = next_number;
    }
    for (unsigned i = 0; i < INDEX_SLOTS; i++) {
        set_slot(first, i, 0, 0);
    }
}

struct pair {
    uint32_t ref;
    uint8_t  tag;
};

static unsigned chain_collect(const struct index *ix, const struct bucket *b, struct pair *pairs, unsigned max) {
    unsigned n = 0;
    for (; b != NULL; b = next_in_chain(ix, b)) {
        for (unsigned i = 0; i < INDEX_SLOTS && n < max; i++) {
            uint8_t tag = tag_of(b, i);
            if (tag != 0 && tag != INDEX_LINK_TAG) {
                pairs[n++] = (struct pair){.ref = ref_of(b, i), .tag = tag};
            }
        }
    }
    return n;
}

enum { CHAIN_PAIRS_MAX = INDEX_SLOTS * CHAIN_MOST };

/* Splits the next bucket of the round. Without memory it does nothing: chains grow longer, nothing is lost. */
static void split_one(struct index *ix) {
    uint32_t n = atomic_load_explicit(&ix->bucket_count, memory_order_relaxed);
    if (n % INDEX_SEGMENT == 0) {
        struct bucket *segment = pool_take_segment(ix->pool);
        if (segment == NULL || !directory_grow(&ix->directory, n >> INDEX_SEGMENT_SHIFT, segment)) {
            return;
        }
    }
    uint32_t round = 1u << (31 - __builtin_clz(n)); /* buckets at the start of this round of doubling */
    struct bucket *from = index_segment_bucket(&ix->directory, n - round);
    struct bucket *to = index_segment_bucket(&ix->directory, n);
    struct pair pairs[CHAIN_PAIRS_MAX];
    unsigned count = chain_collect(ix, from, pairs, CHAIN_PAIRS_MAX);
    for (unsigned i = 0; i < count; i++) {
        __builtin_prefetch(node_at(ix->space, pairs[i].ref));
        __builtin_prefetch((const char *)node_at(ix->space, pairs[i].ref) + 64);
    }
    write_begin(from);
    chain_clear(ix, from);
    for (unsigned i = 0; i < count; i++) {
        struct bucket *home = index_slot_of(item_hash(node_at(ix->space, pairs[i].ref)), n + 1) == n ? to : from;
        chain_put(ix, home, pairs[i].tag, pairs[i].ref); /* cannot fail: at least as many overflow buckets came back */
    }
    atomic_store_explicit(&ix->bucket_count, n + 1, memory_order_release); /* before the version: a reader checks both */
    write_end(from);
}

bool index_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    struct bucket *first = index_bucket_of(ix, hash);
    write_begin(first);
    bool put = chain_put(ix, first, index_tag(hash), ref);
    write_end(first);
    if (!put) {
        return false;
    }
    ix->item_count++;
    if ((uint64_t)ix->item_count * 10 > (uint64_t)atomic_load_explicit(&ix->bucket_count, memory_order_relaxed) * INDEX_LOAD_X10) {
        split_one(ix);
    }
    return true;
}

static struct bucket *chain_seek(const struct index *ix, struct bucket *b, uint32_t ref, uint8_t tag, unsigned *slot) {
    for (; b != NULL; b = next_in_chain(ix, b)) {
        for (unsigned slots = match_slots(b, tag); slots != 0; slots &= slots - 1) {
            *slot = (unsigned)__builtin_ctz(slots);
            if (ref_of(b, *slot) == ref) {
                return b;
            }
        }
    }
    return NULL;
}

void index_replace(struct index *ix, uint64_t hash, uint32_t old_ref, uint32_t new_ref) {
    struct bucket *first = index_bucket_of(ix, hash);
    unsigned slot = 0;
    struct bucket *b = chain_seek(ix, first, old_ref, index_tag(hash), &slot);
    assert(b != NULL);
    if (b != NULL) {
        write_begin(first);
        atomic_store_explicit(&b->refs[slot], new_ref, memory_order_relaxed);
        write_end(first);
    }
}

void index_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    struct bucket *first = index_bucket_of(ix, hash);
    unsigned slot = 0;
    struct bucket *b = chain_seek(ix, first, ref, index_tag(hash), &slot);
    assert(b != NULL);
    if (b == NULL) {
        return;
    }
    struct pair pairs[CHAIN_PAIRS_MAX];
    write_begin(first);
    set_slot(b, slot, 0, 0);
    if (next_in_chain(ix, first) != NULL) {
        unsigned left = chain_collect(ix, first, pairs, CHAIN_PAIRS_MAX);
        if (left <= INDEX_SLOTS) { /* fits one bucket again */
            chain_clear(ix, first);
            for (unsigned i = 0; i < left; i++) {
                set_slot(first, i, pairs[i].tag, pairs[i].ref);
            }
        }
    }
    write_end(first);
    ix->item_count--;
}

bool index_chain(const struct index *ix, uint32_t i, uint32_t *refs, unsigned max, unsigned *count) {
    if (i >= atomic_load_explicit(&ix->bucket_count, memory_order_relaxed)) {
        return false;
    }
    struct pair pairs[CHAIN_PAIRS_MAX];
    unsigned n = chain_collect(ix, index_segment_bucket(&ix->directory, i), pairs, max < CHAIN_PAIRS_MAX ? max : CHAIN_PAIRS_MAX);
    for (unsigned j = 0; j < n; j++) {
        refs[j] = pairs[j].ref;
    }
    *count = n;
    return true;
}

uint64_t index_bytes(const struct index *ix) {
    uint64_t buckets = atomic_load_explicit(&ix->bucket_count, memory_order_relaxed) + ix->overflow_count;
    return buckets * sizeof(struct bucket);
}
