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
    NEAR = 5,          /* lines in which a key may lie */
    PROBES_MOST = 32,  /* lines that are looked at for an empty slot */
    ASKED_MOST = 64,   /* lines whose keys are read to find one that may hop */
    STRAY = 0xc0,      /* tags from here on are strays' */
    /* lines where its keys may lie before its split, if the lines that follow are split */
    LINES_OF_HOME = 2 * NEAR - 1,
    STRAYS_MOST = (LINES_OF_HOME - 1) * SLOTS,
};
/* The distance from a line to the one that follows. It must keep lines that follow each other
 * apart: with any number of its low bits as a fraction it lies far from 0, 1/2 and 1. It repeats
 * the bits 1001011. In a table that grew to 2.5 million items, at a load of 10, 6 inserts were
 * refused, and 716 with the bits of the golden ratio. */
#define LINE_STEP UINT32_C(0xb972e5cb)

_Static_assert((int)LINES_OF_HOME * (int)SLOTS <= (int)INDEX_CHAIN_MOST,
               "what has one line as its own fits those who walk");
_Static_assert(1 << NEAR <= INDEX_VERSION_ONE, "a map fits below a version");

/* --- where things are --- */

/* The number of the line `distance` lines after a key's own. */
static uint32_t line_of(uint64_t hash, unsigned distance, uint32_t count) {
    return index_place_of((uint32_t)hash + distance * LINE_STEP, count);
}
static uint8_t tag_for(const struct index *ix, uint64_t hash, bool stray) {
    return stray ? (uint8_t)(STRAY | (uint8_t)(hash >> 32)) : index_tag(ix, hash);
}
static unsigned stray_slots(const struct index_line *b) {
    return match_slots_masked(b, STRAY, STRAY);
}

/* --- reading --- */

static uint32_t hopscotch_guess_behind(const struct index *ix, uint64_t hash,
                                       struct index_spot spot) {
    uint32_t ref = 0;
    for (uint32_t map = low_of(spot.at); ref == 0 && map != 0; map &= map - 1) {
        ref = index_guess_in(
            ix, line_at(ix, line_of(hash, (unsigned)__builtin_ctz(map), spot.count)),
            tag_for(ix, hash, true));
    }
    return ref;
}

static uint32_t hopscotch_find_behind(const struct index *ix, const struct key *k,
                                      struct index_spot spot, struct index_look *look) {
    for (uint32_t map = look->version & LOW_MOST; map != 0; map &= map - 1) {
        const struct index_line *b =
            line_at(ix, line_of(k->hash, (unsigned)__builtin_ctz(map), spot.count));
        struct index_look at = index_look_at(&b->version);
        uint32_t ref = index_find_in(ix, b, k, tag_for(ix, k->hash, true));
        if (ref != 0) {
            *look = at;
            return ref;
        }
    }
    return 0;
}

/* --- strays; the caller holds the partition's lock --- */

struct stray {
    uint64_t           hash;
    struct index_line *line;
    uint8_t            slot, distance;
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
        struct index_line *b = line_at(ix, lines[i]);
        for (unsigned slots = stray_slots(b); slots != 0; slots &= slots - 1) {
            unsigned slot = (unsigned)__builtin_ctz(slots);
            uint64_t hash = hash_in(ix, b, slot);
            if (line_of(hash, 0, count) == own) {
                to[n++] = (struct stray){hash, b, (uint8_t)slot, (uint8_t)distance};
            }
        }
    }
    return n;
}

/* All strays of a line. Prefetches all their keys before it reads the first. */
static unsigned strays_of(const struct index *ix, uint32_t own, uint32_t count, struct stray *to) {
    uint32_t map = low_of(line_at(ix, own)), lines[2];
    unsigned n = 0;
    for (uint32_t left = map; left != 0; left &= left - 1) {
        for (unsigned of = lines_after(own, (unsigned)__builtin_ctz(left), count, lines); of > 0;) {
            const struct index_line *b = line_at(ix, lines[--of]);
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
        set_low(line_at(ix, own), low_of(line_at(ix, own)) & ~(1u << distance));
    }
}

static void put_in(const struct index *ix, struct index_line *own, struct index_line *to,
                   unsigned distance, uint64_t hash, uint32_t ref) {
    set_slot(to, (unsigned)__builtin_ctz(match_slots(to, 0)), tag_for(ix, hash, distance > 0), ref);
    if (distance > 0) {
        set_low(own, low_of(own) | 1u << distance);
    }
}

/* Moves a key to the line at this distance after its own, which has an empty slot. */
static void move_key(struct index *ix, const struct stray *key, unsigned distance,
                     uint32_t count) {
    uint32_t own_i = line_of(key->hash, 0, count);
    struct index_line *own = line_at(ix, own_i), *from = key->line,
                      *to = line_at(ix, line_of(key->hash, distance, count));
    change_begin(own, from);
    if (to != own) {
        index_version_begin(&to->version);
    }
    put_in(ix, own, to, distance, key->hash, ref_of(from, key->slot));
    set_slot(from, key->slot, 0, 0);
    mend_map(ix, own_i, key->distance, count);
    if (to != own) {
        index_version_end(&to->version);
    }
    change_end(own, from);
}

/* The distance of a key from its own line, found from where it lies. */
static unsigned distance_of(const struct index *ix, const struct index_line *b, unsigned slot,
                            uint64_t hash, uint32_t count) {
    unsigned distance = tag_of(b, slot) >= STRAY;
    while (distance != 0 && distance < NEAR && line_at(ix, line_of(hash, distance, count)) != b) {
        distance++;
    }
    return distance;
}

/* --- growing --- */

/* Fills the new half before readers can see it, and clears the old half after that. */
static bool hopscotch_split(struct index *ix) {
    uint32_t n = index_count(ix), from_i = n - index_round_of(n);
    if (!line_add(ix)) {
        return false;
    }
    struct index_line *from = line_at(ix, from_i), *to = line_at(ix, n);
    struct stray strays[STRAYS_MOST];
    uint64_t hashes[SLOTS];
    unsigned gone = 0;
    uint32_t map_from = 0, map_to = 0;
    prefetch_items(ix, from, full_slots(from));
    unsigned stray_count = strays_of(ix, from_i, n, strays);
    for (unsigned left = full_slots(from); left != 0; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        uint64_t hash = hashes[slot] = hash_in(ix, from, slot);
        if (line_of(hash, distance_of(ix, from, slot, hash, n), n + 1) == n) {
            set_slot(to, slot, tag_of(from, slot), ref_of(from, slot));
            gone |= 1u << slot;
        }
    }
    for (unsigned i = 0; i < stray_count; i++) {
        *(line_of(strays[i].hash, 0, n + 1) == n ? &map_to : &map_from) |= 1u << strays[i].distance;
    }
    set_low(to, map_to);
    /* the count changes before the versions: a reader checks both */
    atomic_store_explicit(&ix->count, n + 1, memory_order_release);
    index_version_begin(&from->version);
    set_low(from, map_from);
    line_clear(ix, from, gone, hashes, n);
    index_version_end(&from->version);
    for (unsigned i = 0; i < stray_count; i++) {
        if (match_slots(line_at(ix, line_of(strays[i].hash, 0, n + 1)), 0) != 0) {
            move_key(ix, &strays[i], 0, n + 1);
        }
    }
    return true;
}

/* --- changes; the caller holds the partition's lock --- */

/* Moves a key into an empty slot, from a line that many hops before the slot's line. */
static bool hop(struct index *ix, uint32_t line, unsigned hops, uint32_t empty_line,
                uint32_t count) {
    struct index_line *b = line_at(ix, line);
    prefetch_items(ix, b, full_slots(b));
    for (unsigned slots = full_slots(b); slots != 0; slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        uint64_t hash = hash_in(ix, b, slot);
        unsigned distance = distance_of(ix, b, slot, hash, count);
        if (distance + hops < NEAR && line_of(hash, distance + hops, count) == empty_line) {
            struct stray key = {hash, b, (uint8_t)slot, (uint8_t)distance};
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

static bool hopscotch_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    uint32_t count = index_count(ix);
    struct index_line *own = line_at(ix, line_of(hash, 0, count));
    unsigned asked = 0;
    for (unsigned probe = 0; probe < PROBES_MOST && asked < ASKED_MOST; probe++) {
        if (match_slots(line_at(ix, line_of(hash, probe, count)), 0) == 0) {
            continue;
        }
        unsigned distance = bring_near(ix, hash, probe, count, &asked);
        if (distance < NEAR) {
            struct index_line *to = line_at(ix, line_of(hash, distance, count));
            change_begin(own, to);
            put_in(ix, own, to, distance, hash, ref);
            change_end(own, to);
            return true;
        }
    }
    return false;
}

static struct index_place hopscotch_seek(const struct index *ix, uint64_t hash, uint32_t ref) {
    uint32_t count = index_count(ix);
    struct index_line *own = line_at(ix, line_of(hash, 0, count));
    for (uint32_t map = low_of(own) | 1; map != 0; map &= map - 1) {
        unsigned distance = (unsigned)__builtin_ctz(map);
        struct index_line *line = line_at(ix, line_of(hash, distance, count));
        _Atomic uint32_t *at = seek_in(line, tag_for(ix, hash, distance > 0), ref);
        if (at != NULL) {
            return (struct index_place){own, line, at};
        }
    }
    return (struct index_place){own, own, NULL};
}

static void hopscotch_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    struct index_place at = hopscotch_seek(ix, hash, ref);
    assert(at.ref != NULL);
    uint32_t count = index_count(ix);
    unsigned slot = slot_in(at.line, at.ref),
             distance = distance_of(ix, at.line, slot, hash, count);
    change_begin(at.own, at.line);
    set_slot(at.line, slot, 0, 0);
    mend_map(ix, line_of(hash, 0, count), distance, count);
    change_end(at.own, at.line);
}

/* --- walking --- */

/* The keys whose own line is the i-th, wherever they lie. Only a split changes a key's own line,
 * and then to one that the walk has not come to yet. */
static bool hopscotch_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                            unsigned *count) {
    uint32_t lines = index_count(ix);
    if (i >= lines) {
        return false;
    }
    const struct index_line *own = line_at(ix, i);
    struct stray strays[STRAYS_MOST];
    unsigned stray_count = strays_of(ix, i, lines, strays),
             n = add_refs(own, full_slots(own) & ~stray_slots(own), refs, 0, max);
    for (unsigned j = 0; j < stray_count && n < max; j++) {
        refs[n++] = ref_of(strays[j].line, strays[j].slot);
    }
    *count = n;
    return true;
}

static unsigned hopscotch_rivals(const struct index *ix, uint64_t hash, uint32_t *refs) {
    uint32_t count = index_count(ix);
    unsigned n = 0;
    for (unsigned distance = 0; distance < NEAR; distance++) {
        const struct index_line *b = line_at(ix, line_of(hash, distance, count));
        n = add_refs(b, full_slots(b), refs, n, INDEX_CHAIN_MOST);
    }
    return n;
}

const struct index_kind index_hopscotch = {
    .name = "hopscotch",
    .item_bytes_most = 12,
    .own_tags = STRAY - 1,
    /* In tables that grew to 620,000 items 0 of 2.5 * 10^8 inserts were refused at 90; 2 of 6 *
     * 10^7 at 92, and 10 at 95. */
    .load_x10 = 90,
    .find_behind = hopscotch_find_behind,
    .guess_behind = hopscotch_guess_behind,
    .insert = hopscotch_insert,
    .remove = hopscotch_remove,
    .seek = hopscotch_seek,
    .split = hopscotch_split,
    .chain = hopscotch_chain,
    .rivals = hopscotch_rivals,
};
