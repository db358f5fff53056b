/* Moves keys of the index cuckoo to their other bucket: to make room in a full bucket, and when a
 * bucket is split. If a key moves from a bucket that a walk has not reached yet to one that it has
 * passed, the walk visits the latter again. */
#include "index/cuckoo_bucket.h"

enum {
    PATHS_MOST = 256, /* buckets that are looked at for one path */
    DEPTH_MOST = 8,
};

/* The other bucket of the key in a slot of bucket `i`. The bucket's number is enough to tell,
 * unless `i` is yet to be split in this round and the other one was split: then the key's hash is
 * read. */
static uint32_t other_of(const struct index *ix, uint32_t i, unsigned slot, uint32_t count) {
    const struct bucket *b = bucket_at(ix, i);
    uint32_t round = index_round_of(count), split = count - round;
    uint32_t other = i ^ bits_of(way_of(tag_of(b, slot)));
    if ((other & (round - 1)) >= split) {
        return other & (round - 1);
    }
    if (i < split || i >= round) {
        return other & (2 * round - 1);
    }
    uint64_t hash = hash_in(ix, b, slot);
    return first_of(hash, count) == i ? second_of(hash, count) : first_of(hash, count);
}

/* --- making room --- */

static bool comes_to(const struct index_walk *w, uint32_t bucket) {
    for (unsigned i = 0; i < w->again_count; i++) {
        if (w->again[i] == bucket) {
            return true;
        }
    }
    return bucket >= w->next;
}
/* Whether a walk that cannot note `more` buckets to visit again would miss a key that moves from
 * one bucket to another. */
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

/* A bucket on a path; a slot of the bucket before leads here. */
struct step {
    uint32_t bucket;
    uint16_t before; /* number of the step before; the first two steps have none */
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

bool cuckoo_make_room(struct index *ix, uint64_t hash, uint32_t count, bool escape) {
    struct step steps[PATHS_MOST];
    unsigned known = 2;
    steps[0] = (struct step){.bucket = first_of(hash, count)};
    steps[1] = (struct step){.bucket = second_of(hash, count)};
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

/* Slots of a bucket that lies one of the ways from `home` whose tag has that way. Prefetches their
 * keys. */
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

/* Finds all keys that lie in their second bucket and whose first is `home`, which is yet to be
 * split: it looks along each way. */
static unsigned find_strays(const struct index *ix, uint32_t home, uint32_t count,
                            struct stray *to) {
    uint32_t round = index_round_of(count), split = count - round;
    unsigned suspects = 0, strays = 0;
    for (unsigned way = 0; way < WAYS; way++) {
        uint32_t second = (home ^ bits_of(way)) & (round - 1);
        __builtin_prefetch(bucket_at(ix, second));
        if (second < split) {
            __builtin_prefetch(bucket_at(ix, second + round));
        }
    }
    for (unsigned way = 0; way < WAYS; way++) {
        uint32_t second = (home ^ bits_of(way)) & (round - 1);
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

bool cuckoo_split_one(struct index *ix) {
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
    set_strays(to, gone); /* no reader can see it yet */
    /* the count changes before the versions: a reader checks both */
    atomic_store_explicit(&ix->cuckoo.count, n + 1, memory_order_release);
    index_version_begin(version_of(from));
    set_strays(from, stray_count - gone);
    for (unsigned left = go; left != 0; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        /* the bucket they leave, or the first bucket of a key that had strayed there */
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
