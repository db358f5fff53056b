/* Two places for every key: its first bucket, and a second that follows from the first and the tag
 * alone.
 *
 *   0                  4                  16                           64
 *   | version : strays | 12 one-byte tags | 12 references of items     |   the line of slots.h
 *
 * A look reads the first bucket, and the second only if strays tells that some key of the first
 * lives in its second: one line for most, two at most. A full bucket makes room by moving a key to
 * its other bucket, and that one's likewise, along the shortest path to an empty slot. Whatever
 * happens to a key changes the version of its first bucket, and of each bucket whose slots change;
 * so a look that finds nothing is told by the first bucket, one that finds is told by where it
 * found.
 *
 * The table grows by linear hashing. A bucket's new half is filled before it can be seen, and the
 * old half is cleared after; then the keys that had strayed from it are brought home. A walk visits
 * a bucket again to which a key went that it had not come to yet, so it meets what stays. Source:
 * Fan et al., "MemC3", NSDI 2013, whose four slots are twelve here and which does not grow; Litwin,
 * VLDB 1980. Memory: 64 bytes for 10.8 items at any size, 5.9 an item. */
#include "index/line.h"

enum {
    SEGMENT_SHIFT = 6, /* buckets come by 64: 4 KiB; a key's buckets differ in the low six bits */
    SEGMENT = 1 << SEGMENT_SHIFT,
    WAYS = SEGMENT,        /* buckets that may be second to one first, by the tag */
    LOAD_X10 = 108,        /* items a bucket before one is split, tenths */
    /* below it no bucket is split for want of a path, as when keys are made to collide */
    LOAD_LEAST_X10 = 72,
    SPLITS_MOST = 8,       /* for want of a path, at one insert */
    PATHS_MOST = 256,      /* buckets looked at for one */
    DEPTH_MOST = 8,
    STRAYS_MOST = ABOVE_MOST, /* so many or more: they are not counted any more */
};
#define SEGMENT_BYTES (sizeof(struct bucket) * SEGMENT)

/* --- where things are --- */

static uint8_t tag_for(uint64_t hash) {
    uint8_t t = (uint8_t)(hash >> 32);
    return t == 0 ? 1 : t;
}
/* What leads from either bucket of a key to the other, as their hashes: its low six bits are never
 * all zero. */
static unsigned way_of(uint8_t tag) { return tag % WAYS; }
static uint32_t turn_of(unsigned way) { return way != 0 ? way * UINT32_C(0x9e3779b1) : 1; }

static uint32_t count_of(const struct index *ix) {
    return atomic_load_explicit(&ix->cuckoo.count, memory_order_acquire);
}
static struct bucket *bucket_at(const struct index *ix, uint32_t i) {
    return (struct bucket *)index_array_segment(&ix->cuckoo.table, i >> SEGMENT_SHIFT) +
           (i & (SEGMENT - 1));
}
static uint32_t first_of(uint64_t hash, uint32_t count) { return index_place_of(hash, count); }
static uint32_t second_of(uint64_t hash, uint32_t count) {
    return index_place_of((uint32_t)hash ^ turn_of(way_of(tag_for(hash))), count);
}

/* The other bucket of the key in a slot of bucket `i`. Its number tells enough, unless `i` is yet
 * to be split in this round and the other was: then the key is asked. */
static uint32_t other_of(const struct index *ix, uint32_t i, unsigned slot, uint32_t count) {
    const struct bucket *b = bucket_at(ix, i);
    uint32_t round = index_round_of(count), split = count - round;
    uint32_t other = i ^ turn_of(way_of(tag_of(b, slot)));
    if ((other & (round - 1)) >= split) {
        return other & (round - 1);
    }
    if (i < split || i >= round) {
        return other & (2 * round - 1);
    }
    uint64_t hash = hash_in(ix, b, slot);
    return first_of(hash, count) == i ? second_of(hash, count) : first_of(hash, count);
}

/* --- versions and strays --- */

static uint32_t strays_of(const struct bucket *b) { return above_of(b); }
/* Within a change. */
static void set_strays(struct bucket *b, uint32_t strays) {
    set_above(b, strays < STRAYS_MOST ? strays : STRAYS_MOST);
}
static void add_strays(struct bucket *b, int more) {
    uint32_t strays = strays_of(b);
    if (strays < STRAYS_MOST) {
        set_strays(b, (uint32_t)((int)strays + more));
    }
}
static void change_begin(struct bucket *a, struct bucket *b) {
    index_version_begin(version_of(a));
    if (b != a) {
        index_version_begin(version_of(b));
    }
}
static void change_end(struct bucket *a, struct bucket *b) {
    index_version_end(&a->version);
    if (b != a) {
        index_version_end(&b->version);
    }
}

static bool cuckoo_init(struct index *ix) {
    atomic_init(&ix->cuckoo.count, SEGMENT);
    return index_array_add(&ix->cuckoo.table, 0, ix->pool, SEGMENT_BYTES);
}

static void cuckoo_fini(struct index *ix) { index_array_free(&ix->cuckoo.table); }

/* --- reading --- */

static void cuckoo_prefetch(const struct index *ix, uint64_t hash) {
    __builtin_prefetch(bucket_at(ix, first_of(hash, count_of(ix))));
}

static uint32_t cuckoo_guess(const struct index *ix, uint64_t hash) {
    uint8_t tag = tag_for(hash);
    uint32_t count = count_of(ix);
    const struct bucket *b = bucket_at(ix, first_of(hash, count));
    unsigned slots = match_slots(b, tag);
    if (slots == 0 && strays_of(b) != 0) {
        b = bucket_at(ix, second_of(hash, count));
        slots = match_slots(b, tag);
    }
    return slots != 0 ? ref_of(b, (unsigned)__builtin_ctz(slots)) : 0;
}

static uint32_t cuckoo_find(const struct index *ix, const struct key *k, struct index_look *look) {
    uint8_t tag = tag_for(k->hash);
    uint32_t count, now = count_of(ix);
    const struct bucket *first;
    struct index_look at_first, at_second;
    do { /* a bucket's version as it was while the hash belonged there: a later split changes it */
        count = now;
        first = bucket_at(ix, first_of(k->hash, count));
        at_first = index_look_at(&first->version);
        now = count_of(ix);
    } while (now != count);
    uint32_t ref = find_in(ix, first, k, tag);
    if (look != NULL) {
        *look = at_first;
    }
    if (ref != 0 || at_first.version >> ABOVE_SHIFT == 0) {
        return ref;
    }
    const struct bucket *second = bucket_at(ix, second_of(k->hash, count));
    at_second = index_look_at(&second->version);
    ref = find_in(ix, second, k, tag);
    if (ref != 0 && look != NULL) {
        *look = at_second;
    }
    return ref;
}

/* --- moving keys, under the partition's lock --- */

static bool comes_to(const struct index_walk *w, uint32_t bucket) {
    for (unsigned i = 0; i < w->again_count; i++) {
        if (w->again[i] == bucket) {
            return true;
        }
    }
    return bucket >= w->next;
}
/* Whether a key that goes from one bucket to another would escape a walk that could not visit
 * `more` buckets again. */
static bool escapes(const struct index *ix, uint32_t from, uint32_t to, unsigned more) {
    for (const struct index_walk *w = ix->cuckoo.walks; w < ix->cuckoo.walks + INDEX_WALKS; w++) {
        if (w->again_count + more > INDEX_AGAIN && comes_to(w, from) && !comes_to(w, to)) {
            return true;
        }
    }
    return false;
}
static void tell_walks(struct index *ix, uint32_t from, uint32_t to) {
    for (struct index_walk *w = ix->cuckoo.walks; w < ix->cuckoo.walks + INDEX_WALKS; w++) {
        if (w->again_count < INDEX_AGAIN && comes_to(w, from) && !comes_to(w, to)) {
            w->again[w->again_count++] = to;
        }
    }
}

/* Moves a key to its other bucket, which has an empty slot. */
static void move_key(struct index *ix, uint32_t from_i, unsigned slot, uint32_t to_i,
                     uint32_t count) {
    struct bucket *from = bucket_at(ix, from_i), *to = bucket_at(ix, to_i);
    uint32_t ref = ref_of(from, slot);
    bool leaves_home = first_of(hash_in(ix, from, slot), count) == from_i;
    change_begin(from, to);
    set_slot(to, (unsigned)__builtin_ctz(match_slots(to, 0)), tag_of(from, slot), ref);
    set_slot(from, slot, 0, 0);
    add_strays(leaves_home ? from : to, leaves_home ? 1 : -1);
    change_end(from, to);
    tell_walks(ix, from_i, to_i);
}

/* A bucket that is looked at for a path, which leads here from a slot of the one before it. */
struct step {
    uint32_t bucket;
    uint16_t before; /* its number among the steps; the first two have none */
    uint8_t  slot, depth;
};

static bool on_path(const struct step *steps, const struct step *s, uint32_t bucket) {
    for (; s->depth > 0; s = &steps[s->before]) {
        if (s->bucket == bucket) {
            return true;
        }
    }
    return s->bucket == bucket;
}

/* Looks for the shortest path from one of two full buckets to one with an empty slot, and moves the
 * keys on it, the last first. False: there is none. `escape`: even from a walk that cannot visit
 * more buckets again. */
static bool make_room(struct index *ix, uint32_t first, uint32_t second, uint32_t count,
                      bool escape) {
    struct step steps[PATHS_MOST];
    unsigned known = 2;
    steps[0] = (struct step){.bucket = first};
    steps[1] = (struct step){.bucket = second};
    for (unsigned at = 0; at < known; at++) {
        struct step *s = &steps[at];
        uint32_t others[SLOTS];
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            others[slot] = other_of(ix, s->bucket, slot, count);
            __builtin_prefetch(bucket_at(ix, others[slot]));
        }
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            uint32_t to = others[slot];
            if (on_path(steps, s, to) || (!escape && escapes(ix, s->bucket, to, s->depth + 1u))) {
                continue;
            }
            if (match_slots(bucket_at(ix, to), 0) != 0) {
                while (move_key(ix, s->bucket, slot, to, count), s->depth > 0) {
                    to = s->bucket;
                    slot = s->slot;
                    s = &steps[s->before];
                }
                return true;
            }
            if (known < PATHS_MOST && s->depth < DEPTH_MOST) {
                steps[known++] =
                    (struct step){to, (uint16_t)at, (uint8_t)slot, (uint8_t)(s->depth + 1)};
            }
        }
    }
    return false;
}

/* --- growing --- */

struct stray {
    uint64_t hash;
    uint32_t bucket, ref;
    uint8_t  slot;
};

enum { SUSPECTS_MOST = 2 * WAYS * SLOTS };

/* Keys in a bucket that lies one of the ways from `home`; what they are called is on its way to the
 * processor. */
static unsigned suspects_in(const struct index *ix, uint32_t bucket, unsigned way,
                            struct stray *to) {
    const struct bucket *b = bucket_at(ix, bucket);
    unsigned n = 0, slots = match_slots_masked(b, (uint8_t)way, WAYS - 1) & full_slots(b);
    prefetch_items(ix, b, slots);
    for (; slots != 0; slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        to[n++] = (struct stray){.bucket = bucket, .slot = (uint8_t)slot, .ref = ref_of(b, slot)};
    }
    return n;
}

/* All keys that live in their second bucket and whose first is `home`, which is yet to be split:
 * each way is looked along. */
static unsigned find_strays(const struct index *ix, uint32_t home, uint32_t count,
                            struct stray *to) {
    uint32_t round = index_round_of(count), split = count - round;
    unsigned suspects = 0, strays = 0;
    for (unsigned way = 0; way < WAYS; way++) {
        uint32_t second = (home ^ turn_of(way)) & (round - 1);
        __builtin_prefetch(bucket_at(ix, second));
        if (second < split) {
            __builtin_prefetch(bucket_at(ix, second + round));
        }
    }
    for (unsigned way = 0; way < WAYS; way++) {
        uint32_t second = (home ^ turn_of(way)) & (round - 1);
        suspects += suspects_in(ix, second, way, to + suspects);
        if (second < split) {
            suspects += suspects_in(ix, second + round, way, to + suspects);
        }
    }
    for (unsigned i = 0; i < suspects; i++) {
        to[i].hash = ix->space->hash_of(node_at(ix->space, to[i].ref));
        if (first_of(to[i].hash, count) == home) {
            to[strays++] = to[i];
        }
    }
    return strays;
}

/* Brings keys home whose first bucket has room again. */
static void bring_home(struct index *ix, const struct stray *strays, unsigned n, uint32_t count) {
    for (unsigned i = 0; i < n; i++) {
        uint32_t home = first_of(strays[i].hash, count);
        if (match_slots(bucket_at(ix, home), 0) != 0 && !escapes(ix, strays[i].bucket, home, 1)) {
            move_key(ix, strays[i].bucket, strays[i].slot, home, count);
        }
    }
}

/* Splits the next bucket of the round; false: out of memory, nothing changed. */
static bool split_one(struct index *ix) {
    uint32_t n = count_of(ix), from_i = n - index_round_of(n);
    if (n % SEGMENT == 0 &&
        !index_array_add(&ix->cuckoo.table, n >> SEGMENT_SHIFT, ix->pool, SEGMENT_BYTES)) {
        return false;
    }
    struct bucket *from = bucket_at(ix, from_i), *to = bucket_at(ix, n);
    uint64_t hashes[SLOTS];
    unsigned full = full_slots(from), go = 0;
    prefetch_items(ix, from, full);
    struct stray strays[SUSPECTS_MOST];
    unsigned stray_count = strays_of(from) > 0 ? find_strays(ix, from_i, n, strays) : 0, gone = 0;
    for (unsigned i = 0; i < stray_count; i++) {
        gone += first_of(strays[i].hash, n + 1) == n;
    }
    for (unsigned left = full; left != 0; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        uint64_t hash = hashes[slot] = hash_in(ix, from, slot);
        if ((first_of(hash, n) == from_i ? first_of(hash, n + 1) : second_of(hash, n + 1)) == n) {
            set_slot(to, slot, tag_of(from, slot), ref_of(from, slot));
            go |= 1u << slot;
        }
    }
    set_strays(to, gone); /* nobody can see it yet */
    /* before the versions: a reader checks both */
    atomic_store_explicit(&ix->cuckoo.count, n + 1, memory_order_release);
    index_version_begin(version_of(from));
    set_strays(from, stray_count - gone);
    for (unsigned left = go; left != 0; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        /* from, or that of a key that had strayed there */
        struct bucket *first = bucket_at(ix, first_of(hashes[slot], n));
        if (first != from) {
            index_version_begin(version_of(first));
        }
        set_slot(from, slot, 0, 0);
        if (first != from) {
            index_version_end(&first->version);
        }
    }
    index_version_end(&from->version);
    bring_home(ix, strays, stray_count, n + 1);
    return true;
}

/* --- changes --- */

static bool put(struct index *ix, uint64_t hash, uint32_t ref, uint32_t count) {
    struct bucket *first = bucket_at(ix, first_of(hash, count)), *to = first;
    unsigned empty = match_slots(first, 0);
    if (empty == 0) {
        to = bucket_at(ix, second_of(hash, count));
        empty = match_slots(to, 0);
        if (empty == 0) {
            return false;
        }
    }
    change_begin(first, to);
    set_slot(to, (unsigned)__builtin_ctz(empty), tag_for(hash), ref);
    if (to != first) {
        add_strays(first, 1);
    }
    change_end(first, to);
    return true;
}

static bool fuller_than(const struct index *ix, uint32_t load_x10) {
    return (ix->item_count + UINT64_C(1)) * 10 > (uint64_t)count_of(ix) * load_x10;
}

static bool put_somehow(struct index *ix, uint64_t hash, uint32_t ref) {
    for (unsigned splits = 0;; splits++) {
        uint32_t count = count_of(ix);
        if (put(ix, hash, ref, count) ||
            (make_room(ix, first_of(hash, count), second_of(hash, count), count, false) &&
             put(ix, hash, ref, count))) {
            return true;
        }
        if (splits == SPLITS_MOST || !fuller_than(ix, LOAD_LEAST_X10) || !split_one(ix)) {
            return make_room(ix, first_of(hash, count), second_of(hash, count), count, true) &&
                   put(ix, hash, ref, count);
        }
    }
}

static bool cuckoo_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    if (!put_somehow(ix, hash, ref)) {
        return false;
    }
    if (fuller_than(ix, LOAD_X10)) {
        split_one(ix);
    }
    return true;
}

/* Where an item is: its bucket and slot, and the first bucket of its key. NULL: nowhere. */
static struct bucket *seek(const struct index *ix, uint64_t hash, uint32_t ref,
                           struct bucket **first, unsigned *slot) {
    uint32_t count = count_of(ix);
    struct bucket *b = *first = bucket_at(ix, first_of(hash, count));
    for (;;) {
        for (unsigned slots = match_slots(b, tag_for(hash)); slots != 0; slots &= slots - 1) {
            *slot = (unsigned)__builtin_ctz(slots);
            if (ref_of(b, *slot) == ref) {
                return b;
            }
        }
        if (b != *first || strays_of(b) == 0) {
            return NULL;
        }
        b = bucket_at(ix, second_of(hash, count));
    }
}

static bool cuckoo_replace(struct index *ix, uint64_t hash, uint32_t old_ref, uint32_t new_ref) {
    struct bucket *first;
    unsigned slot;
    struct bucket *b = seek(ix, hash, old_ref, &first, &slot);
    if (b == NULL) {
        return false;
    }
    change_begin(first, b);
    atomic_store_explicit(&b->refs[slot], new_ref, memory_order_relaxed);
    change_end(first, b);
    return true;
}

static bool cuckoo_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    struct bucket *first;
    unsigned slot;
    struct bucket *b = seek(ix, hash, ref, &first, &slot);
    if (b == NULL) {
        return false;
    }
    change_begin(first, b);
    set_slot(b, slot, 0, 0);
    if (b != first) {
        add_strays(first, -1);
    }
    change_end(first, b);
    return true;
}

/* A look that found the key asks the bucket where it found it. */
static struct index_change cuckoo_change(struct index *ix, uint64_t hash, const void *item) {
    struct bucket *first;
    unsigned slot;
    struct bucket *b = seek(ix, hash, node_ref(ix->space, item), &first, &slot);
    return (struct index_change){
        {version_of(first), b != NULL && b != first ? version_of(b) : NULL}};
}

/* --- walking --- */

/* The walk that comes to bucket `i` next. There is room for some at a time; one that was broken off
 * is forgotten when others begin. */
static struct index_walk *walk_at(struct index *ix, uint32_t i) {
    struct index_cuckoo *c = &ix->cuckoo;
    struct index_walk *w = c->walks;
    while (w < c->walks + INDEX_WALKS && (i == 0 || w->next != i)) {
        w++;
    }
    if (w == c->walks + INDEX_WALKS) {
        for (w = c->walks; w < c->walks + INDEX_WALKS && w->next != 0; w++) {
        }
        w = w < c->walks + INDEX_WALKS ? w : &c->walks[c->walk_forgotten++ % INDEX_WALKS];
        *w = (struct index_walk){.next = i};
    }
    return w;
}

static unsigned refs_in(const struct index *ix, uint32_t i, uint32_t *refs, unsigned max) {
    const struct bucket *b = bucket_at(ix, i);
    unsigned n = 0;
    for (unsigned slot = 0; slot < SLOTS && n < max; slot++) {
        if (tag_of(b, slot) != 0) {
            refs[n++] = ref_of(b, slot);
        }
    }
    return n;
}

_Static_assert((1 + (int)INDEX_AGAIN) * (int)SLOTS <= (int)INDEX_CHAIN_MOST,
               "a step of a walk fits those who walk");
static bool cuckoo_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                         unsigned *count) {
    struct index_walk *w = walk_at(ix, i);
    unsigned n = 0;
    bool past_end = i >= count_of(ix), more = !past_end || w->again_count > 0;
    if (!past_end) {
        n = refs_in(ix, i, refs, max);
    }
    while (w->again_count > 0) {
        n += refs_in(ix, w->again[--w->again_count], refs + n, max - n);
    }
    w->next = more ? i + 1 : 0;
    *count = n;
    return more;
}

static unsigned cuckoo_rivals(const struct index *ix, uint64_t hash, uint32_t *refs) {
    uint32_t count = count_of(ix);
    unsigned n = refs_in(ix, first_of(hash, count), refs, INDEX_CHAIN_MOST);
    return n + refs_in(ix, second_of(hash, count), refs + n, INDEX_CHAIN_MOST - n);
}

static uint64_t cuckoo_buckets(const struct index *ix) { return count_of(ix); }
static uint64_t cuckoo_bytes(const struct index *ix) {
    return (uint64_t)count_of(ix) * sizeof(struct bucket);
}

const struct index_kind index_cuckoo = {
    .name = "cuckoo",
    .item_bytes_most = 12,
    .init = cuckoo_init,
    .fini = cuckoo_fini,
    .prefetch = cuckoo_prefetch,
    .guess = cuckoo_guess,
    .find = cuckoo_find,
    .insert = cuckoo_insert,
    .replace = cuckoo_replace,
    .remove = cuckoo_remove,
    .change = cuckoo_change,
    .chain = cuckoo_chain,
    .rivals = cuckoo_rivals,
    .bytes = cuckoo_bytes,
    .buckets = cuckoo_buckets,
};
