/* A key lies in its own line or in one of the four lines that follow, and its own line says in
 * which.
 *
 *   0             4                  16                           64
 *   | version:map | 12 one-byte tags | 12 references of items     |   the line of slots.h
 *
 * Bit d of the map: a key whose own line this is lies in the d-th line that follows. A look-up
 * reads its own line and the lines in the map: one for most keys, five at most. A key that is not
 * in its own line is a stray. Strays have tags of a range of their own, so only for strays must the
 * key be read to find its own line. An insert looks along the lines that follow for an empty slot.
 * If the first one is too far, a key of a line between hops into it and leaves its own slot empty,
 * until an empty slot is near enough.
 *
 * Source: Herlihy, Shavit, Tzafrir, "Hopscotch Hashing", DISC 2008. What differs: a bucket is a
 * cache line of twelve, not one key; readers check versions, as in cuckoo.c, not timestamps of
 * segments; and the table grows by linear hashing (Litwin, VLDB 1980) instead of being rehashed.
 * For that, the line that follows is not the next in memory: the d-th line of a key is the own line
 * of a key with the hash + d * LINE_STEP. So when a line is split, each key in it stays or goes by
 * its own hash, in the same slot, whatever lines lie beside it. And a line that is yet to be split,
 * and so is twice as full, is followed by some lines that are split. Strays of a line that was
 * split come home.
 *
 * Each change of a key changes the version of its own line and of each line whose slots change. So
 * a look-up that finds nothing checks the own line's version, and one that finds the key checks the
 * line where it found it. An insert reads the keys of at most ASKED_MOST lines and splits one line,
 * which reads the strays of 9. Memory: 64 bytes for 9 items at any size, 7.1 an item. */
#include "index/line.h"

enum {
    SEGMENT_SHIFT = 6, /* lines come in segments of 64: 4 KiB */
    SEGMENT = 1 << SEGMENT_SHIFT,
    NEAR = 5,          /* lines in which a key may lie */
    /* Items a line at which one is split, in tenths. In tables that grew to 620,000 items 0 of 2.5
     * * 10^8 inserts were refused at 90; 2 of 6 * 10^7 at 92, and 10 at 95. */
    LOAD_X10 = 90,
    PROBES_MOST = 32,  /* lines that are looked at for an empty slot */
    ASKED_MOST = 64,   /* lines whose keys are read to find one that may hop */
    STRAY = 0xc0,      /* tags from here on are strays' */
    /* lines where its keys may lie before its split, if the lines that follow are split */
    LINES_OF_HOME = 2 * NEAR - 1,
    STRAYS_MOST = (LINES_OF_HOME - 1) * SLOTS,
};
#define SEGMENT_BYTES (sizeof(struct bucket) * SEGMENT)
/* The distance from a line to the one that follows. It must keep lines that follow each other
 * apart: with any number of its low bits as a fraction it lies far from 0, 1/2 and 1. It repeats
 * the bits 1001011. In a table that grew to 2.5 million items, at a load of 10, 6 inserts were
 * refused, and 716 with the bits of the golden ratio. */
#define LINE_STEP UINT32_C(0xb972e5cb)

_Static_assert((int)LINES_OF_HOME * (int)SLOTS <= (int)INDEX_CHAIN_MOST,
               "what has one line as its own fits those who walk");

/* --- where things are --- */

static uint32_t count_of(const struct index *ix) {
    return atomic_load_explicit(&ix->hopscotch.count, memory_order_acquire);
}
static struct bucket *line_at(const struct index *ix, uint32_t i) {
    return (struct bucket *)index_array_segment(&ix->hopscotch.table, i >> SEGMENT_SHIFT) +
           (i & (SEGMENT - 1));
}
/* The line `distance` lines after a key's own. */
static uint32_t line_of(uint64_t hash, unsigned distance, uint32_t count) {
    return index_place_of((uint32_t)hash + distance * LINE_STEP, count);
}
static uint8_t tag_for(uint64_t hash, bool stray) {
    unsigned t = (uint8_t)(hash >> 32);
    return (uint8_t)(stray ? STRAY | t : 1 + (t * (STRAY - 1) >> 8));
}
static unsigned stray_slots(const struct bucket *b) {
    return match_slots_masked(b, STRAY, STRAY);
}

/* --- changes of versions --- */

/* The own line of a key, and the one or two lines whose slots change. Any two may be the same. */
struct change {
    struct bucket *own, *from, *to;
};
static void change_begin(struct change c) {
    index_version_begin(version_of(c.own));
    if (c.from != c.own) {
        index_version_begin(version_of(c.from));
    }
    if (c.to != c.own && c.to != c.from) {
        index_version_begin(version_of(c.to));
    }
}
static void change_end(struct change c) {
    index_version_end(&c.own->version);
    if (c.from != c.own) {
        index_version_end(&c.from->version);
    }
    if (c.to != c.own && c.to != c.from) {
        index_version_end(&c.to->version);
    }
}

static bool hopscotch_init(struct index *ix) {
    atomic_init(&ix->hopscotch.count, SEGMENT);
    return index_array_add(&ix->hopscotch.table, 0, ix->pool, SEGMENT_BYTES);
}

static void hopscotch_fini(struct index *ix) { index_array_free(&ix->hopscotch.table); }

/* --- reading --- */

static void hopscotch_prefetch(const struct index *ix, uint64_t hash) {
    __builtin_prefetch(line_at(ix, line_of(hash, 0, count_of(ix))));
}

static uint32_t hopscotch_guess(const struct index *ix, uint64_t hash) {
    uint32_t count = count_of(ix);
    const struct bucket *b = line_at(ix, line_of(hash, 0, count));
    unsigned slots = match_slots(b, tag_for(hash, false));
    for (uint32_t map = above_of(b); slots == 0 && map != 0; map &= map - 1) {
        b = line_at(ix, line_of(hash, (unsigned)__builtin_ctz(map), count));
        slots = match_slots(b, tag_for(hash, true));
    }
    return slots != 0 ? ref_of(b, (unsigned)__builtin_ctz(slots)) : 0;
}

static uint32_t hopscotch_find(const struct index *ix, const struct key *k,
                               struct index_look *look) {
    uint32_t count, now = count_of(ix);
    const struct bucket *b;
    struct index_look at;
    do { /* A line's version is read while the hash belongs there: a later split changes it. */
        count = now;
        b = line_at(ix, line_of(k->hash, 0, count));
        at = index_look_at(&b->version);
        now = count_of(ix);
    } while (now != count);
    uint32_t map = at.version >> ABOVE_SHIFT, ref = find_in(ix, b, k, tag_for(k->hash, false));
    if (look != NULL) {
        *look = at;
    }
    for (; ref == 0 && map != 0; map &= map - 1) {
        b = line_at(ix, line_of(k->hash, (unsigned)__builtin_ctz(map), count));
        at = index_look_at(&b->version);
        ref = find_in(ix, b, k, tag_for(k->hash, true));
        if (ref != 0 && look != NULL) {
            *look = at;
        }
    }
    return ref;
}

/* --- strays; the caller holds the partition's lock --- */

struct stray {
    uint64_t hash;
    uint32_t line;
    uint8_t  slot, distance;
};

/* The lines at this distance after `own` where its keys may lie: two of them if that line is split
 * already and `own` is not. */
static unsigned lines_after(uint32_t own, unsigned distance, uint32_t count, uint32_t lines[2]) {
    uint32_t round = index_round_of(count);
    bool split = own < count - round || own >= round;
    lines[0] = line_of(own, distance, count);
    lines[1] = split ? lines[0] : line_of(own + round, distance, count);
    return lines[1] != lines[0] ? 2 : 1;
}

/* The keys whose own line is this one and that lie at this distance after it. */
static unsigned strays_after(const struct index *ix, uint32_t own, unsigned distance,
                             uint32_t count, struct stray *to) {
    uint32_t lines[2];
    unsigned n = 0;
    for (unsigned i = 0, of = lines_after(own, distance, count, lines); i < of; i++) {
        const struct bucket *b = line_at(ix, lines[i]);
        for (unsigned slots = stray_slots(b); slots != 0; slots &= slots - 1) {
            unsigned slot = (unsigned)__builtin_ctz(slots);
            uint64_t hash = hash_in(ix, b, slot);
            if (line_of(hash, 0, count) == own) {
                to[n++] = (struct stray){hash, lines[i], (uint8_t)slot, (uint8_t)distance};
            }
        }
    }
    return n;
}

/* All strays of a line. Prefetches all their keys before it reads the first. */
static unsigned strays_of(const struct index *ix, uint32_t own, uint32_t count, struct stray *to) {
    uint32_t map = above_of(line_at(ix, own)), lines[2];
    unsigned n = 0;
    for (uint32_t left = map; left != 0; left &= left - 1) {
        for (unsigned of = lines_after(own, (unsigned)__builtin_ctz(left), count, lines); of > 0;) {
            const struct bucket *b = line_at(ix, lines[--of]);
            prefetch_items(ix, b, stray_slots(b));
        }
    }
    for (; map != 0; map &= map - 1) {
        n += strays_after(ix, own, (unsigned)__builtin_ctz(map), count, to + n);
    }
    return n;
}

/* The line is within a change. A key left the line at this distance: clears the map's bit if it was
 * the last one there. */
static void mend_map(struct index *ix, uint32_t own, unsigned distance, uint32_t count) {
    struct stray strays[2 * SLOTS];
    if (distance > 0 && strays_after(ix, own, distance, count, strays) == 0) {
        set_above(line_at(ix, own), above_of(line_at(ix, own)) & ~(1u << distance));
    }
}

static void put_in(struct bucket *own, struct bucket *to, unsigned distance, uint64_t hash,
                   uint32_t ref) {
    set_slot(to, (unsigned)__builtin_ctz(match_slots(to, 0)), tag_for(hash, distance > 0), ref);
    if (distance > 0) {
        set_above(own, above_of(own) | 1u << distance);
    }
}

/* Moves a key to the line at this distance after its own, which has an empty slot. */
static void move_key(struct index *ix, const struct stray *key, unsigned distance,
                     uint32_t count) {
    uint32_t own = line_of(key->hash, 0, count);
    struct change c = {line_at(ix, own), line_at(ix, key->line),
                       line_at(ix, line_of(key->hash, distance, count))};
    change_begin(c);
    put_in(c.own, c.to, distance, key->hash, ref_of(c.from, key->slot));
    set_slot(c.from, key->slot, 0, 0);
    mend_map(ix, own, key->distance, count);
    change_end(c);
}

/* --- growing --- */

/* The distance of a key from its own line, found from where it lies. */
static unsigned distance_of(const struct bucket *b, unsigned slot, uint64_t hash, uint32_t line,
                            uint32_t count) {
    unsigned distance = tag_of(b, slot) >= STRAY;
    while (distance != 0 && distance < NEAR && line_of(hash, distance, count) != line) {
        distance++;
    }
    return distance;
}

/* Clears the slots of the line that was split whose keys belong to the new line. */
static void clear_gone(struct index *ix, struct bucket *from, unsigned gone,
                       const uint64_t *hashes, uint32_t count) {
    for (; gone != 0; gone &= gone - 1) {
        unsigned slot = (unsigned)__builtin_ctz(gone);
        struct bucket *own = line_at(ix, line_of(hashes[slot], 0, count));
        if (own != from) {
            index_version_begin(version_of(own));
        }
        set_slot(from, slot, 0, 0);
        if (own != from) {
            index_version_end(&own->version);
        }
    }
}

/* Splits the next line of the round: fills its new half before readers can see it, and clears the
 * old half after that. Without memory it does nothing. */
static void split_one(struct index *ix) {
    uint32_t n = count_of(ix), from_i = n - index_round_of(n);
    if (n % SEGMENT == 0 &&
        !index_array_add(&ix->hopscotch.table, n >> SEGMENT_SHIFT, ix->pool, SEGMENT_BYTES)) {
        return;
    }
    struct bucket *from = line_at(ix, from_i), *to = line_at(ix, n);
    struct stray strays[STRAYS_MOST];
    uint64_t hashes[SLOTS];
    unsigned gone = 0;
    uint32_t map_from = 0, map_to = 0;
    prefetch_items(ix, from, full_slots(from));
    unsigned stray_count = strays_of(ix, from_i, n, strays);
    for (unsigned left = full_slots(from); left != 0; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        uint64_t hash = hashes[slot] = hash_in(ix, from, slot);
        if (line_of(hash, distance_of(from, slot, hash, from_i, n), n + 1) == n) {
            set_slot(to, slot, tag_of(from, slot), ref_of(from, slot));
            gone |= 1u << slot;
        }
    }
    for (unsigned i = 0; i < stray_count; i++) {
        *(line_of(strays[i].hash, 0, n + 1) == n ? &map_to : &map_from) |= 1u << strays[i].distance;
    }
    set_above(to, map_to);
    /* the count changes before the versions: a reader checks both */
    atomic_store_explicit(&ix->hopscotch.count, n + 1, memory_order_release);
    index_version_begin(version_of(from));
    set_above(from, map_from);
    clear_gone(ix, from, gone, hashes, n);
    index_version_end(&from->version);
    for (unsigned i = 0; i < stray_count; i++) {
        if (full_slots(line_at(ix, line_of(strays[i].hash, 0, n + 1))) != (1u << SLOTS) - 1) {
            move_key(ix, &strays[i], 0, n + 1);
        }
    }
}

/* --- changes; the caller holds the partition's lock --- */

/* Moves a key into an empty slot, from a line that many hops before the slot's line. */
static bool hop(struct index *ix, uint32_t line, unsigned hops, uint32_t empty_line,
                uint32_t count) {
    const struct bucket *b = line_at(ix, line);
    prefetch_items(ix, b, full_slots(b));
    for (unsigned slots = full_slots(b); slots != 0; slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        uint64_t hash = hash_in(ix, b, slot);
        unsigned distance = distance_of(b, slot, hash, line, count);
        if (distance + hops < NEAR && line_of(hash, distance + hops, count) == empty_line) {
            struct stray key = {hash, line, (uint8_t)slot, (uint8_t)distance};
            move_key(ix, &key, distance + hops, count);
            return true;
        }
    }
    return false;
}

/* Brings an empty slot, which lies at this distance after a key's own line, near enough. *asked
 * counts the lines whose keys were read. Returns the new distance: NEAR or more if no key could
 * hop. */
static unsigned bring_near(struct index *ix, uint64_t hash, unsigned distance, uint32_t count,
                           unsigned *asked) {
    unsigned hops = NEAR - 1;
    while (distance >= NEAR && hops > 0 && *asked < ASKED_MOST) {
        ++*asked;
        if (hop(ix, line_of(hash, distance - hops, count), hops, line_of(hash, distance, count),
                count)) {
            distance -= hops;
            hops = NEAR - 1;
        } else {
            hops--;
        }
    }
    return distance;
}

static bool put(struct index *ix, uint64_t hash, uint32_t ref) {
    uint32_t count = count_of(ix);
    struct bucket *own = line_at(ix, line_of(hash, 0, count));
    unsigned asked = 0;
    for (unsigned probe = 0; probe < PROBES_MOST && asked < ASKED_MOST; probe++) {
        if (match_slots(line_at(ix, line_of(hash, probe, count)), 0) == 0) {
            continue;
        }
        unsigned distance = bring_near(ix, hash, probe, count, &asked);
        if (distance < NEAR) {
            struct bucket *to = line_at(ix, line_of(hash, distance, count));
            change_begin((struct change){own, to, to});
            put_in(own, to, distance, hash, ref);
            change_end((struct change){own, to, to});
            return true;
        }
    }
    return false;
}

static bool hopscotch_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    if (!put(ix, hash, ref)) {
        return false;
    }
    if ((ix->item_count + UINT64_C(1)) * 10 > (uint64_t)count_of(ix) * LOAD_X10) {
        split_one(ix);
    }
    return true;
}

/* Finds where an item is; `slot` is SLOTS if it is nowhere. */
static struct stray seek(const struct index *ix, uint64_t hash, uint32_t ref, uint32_t count) {
    uint32_t own = line_of(hash, 0, count);
    for (uint32_t map = above_of(line_at(ix, own)) | 1; map != 0; map &= map - 1) {
        unsigned distance = (unsigned)__builtin_ctz(map);
        uint32_t line = line_of(hash, distance, count);
        const struct bucket *b = line_at(ix, line);
        for (unsigned slots = match_slots(b, tag_for(hash, distance > 0)); slots != 0;
             slots &= slots - 1) {
            unsigned slot = (unsigned)__builtin_ctz(slots);
            if (ref_of(b, slot) == ref) {
                return (struct stray){hash, line, (uint8_t)slot, (uint8_t)distance};
            }
        }
    }
    return (struct stray){.hash = hash, .line = own, .slot = SLOTS};
}

static bool hopscotch_replace(struct index *ix, uint64_t hash, uint32_t old_ref,
                              uint32_t new_ref) {
    uint32_t count = count_of(ix);
    struct stray at = seek(ix, hash, old_ref, count);
    if (at.slot == SLOTS) {
        return false;
    }
    struct bucket *own = line_at(ix, line_of(hash, 0, count)), *b = line_at(ix, at.line);
    change_begin((struct change){own, b, b});
    atomic_store_explicit(&b->refs[at.slot], new_ref, memory_order_relaxed);
    change_end((struct change){own, b, b});
    return true;
}

static bool hopscotch_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    uint32_t count = count_of(ix), own_i = line_of(hash, 0, count);
    struct stray at = seek(ix, hash, ref, count);
    if (at.slot == SLOTS) {
        return false;
    }
    struct bucket *own = line_at(ix, own_i), *b = line_at(ix, at.line);
    change_begin((struct change){own, b, b});
    set_slot(b, at.slot, 0, 0);
    mend_map(ix, own_i, at.distance, count);
    change_end((struct change){own, b, b});
    return true;
}

/* A look-up that found the key checks the version of the line where it found it. */
static struct index_change hopscotch_change(struct index *ix, uint64_t hash, const void *item) {
    uint32_t count = count_of(ix);
    struct stray at = seek(ix, hash, node_ref(ix->space, item), count);
    return (struct index_change){{version_of(line_at(ix, line_of(hash, 0, count))),
                                  at.distance > 0 ? version_of(line_at(ix, at.line)) : NULL}};
}

/* --- walking --- */

/* The keys whose own line is the i-th, wherever they lie. Only a split changes a key's own line,
 * and then to one that the walk has not come to yet. */
static bool hopscotch_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                            unsigned *count) {
    uint32_t lines = count_of(ix);
    if (i >= lines) {
        return false;
    }
    const struct bucket *own = line_at(ix, i);
    struct stray strays[STRAYS_MOST];
    unsigned n = 0, stray_count = strays_of(ix, i, lines, strays);
    for (unsigned slots = full_slots(own) & ~stray_slots(own); slots != 0 && n < max;
         slots &= slots - 1) {
        refs[n++] = ref_of(own, (unsigned)__builtin_ctz(slots));
    }
    for (unsigned j = 0; j < stray_count && n < max; j++) {
        refs[n++] = ref_of(line_at(ix, strays[j].line), strays[j].slot);
    }
    *count = n;
    return true;
}

_Static_assert((int)NEAR * (int)SLOTS <= (int)INDEX_CHAIN_MOST, "and so do those in the way");
static unsigned hopscotch_rivals(const struct index *ix, uint64_t hash, uint32_t *refs) {
    uint32_t count = count_of(ix);
    unsigned n = 0;
    for (unsigned distance = 0; distance < NEAR; distance++) {
        const struct bucket *b = line_at(ix, line_of(hash, distance, count));
        for (unsigned slots = full_slots(b); slots != 0; slots &= slots - 1) {
            refs[n++] = ref_of(b, (unsigned)__builtin_ctz(slots));
        }
    }
    return n;
}

static uint64_t hopscotch_lines(const struct index *ix) { return count_of(ix); }
static uint64_t hopscotch_bytes(const struct index *ix) {
    return (uint64_t)count_of(ix) * sizeof(struct bucket);
}

const struct index_kind index_hopscotch = {
    .name = "hopscotch",
    .item_bytes_most = 12,
    .init = hopscotch_init,
    .fini = hopscotch_fini,
    .prefetch = hopscotch_prefetch,
    .guess = hopscotch_guess,
    .find = hopscotch_find,
    .insert = hopscotch_insert,
    .replace = hopscotch_replace,
    .remove = hopscotch_remove,
    .change = hopscotch_change,
    .chain = hopscotch_chain,
    .rivals = hopscotch_rivals,
    .bytes = hopscotch_bytes,
    .buckets = hopscotch_lines,
};
