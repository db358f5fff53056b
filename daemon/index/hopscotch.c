/* A key lies in its own line or in one of the four lines that follow, and its own line says in
 * which.
 *
 *   0             4                  16                           64
 *   | version:map | 12 one-byte tags | 12 references of items     |   the line of slots.h
 *
 * Bit d of the map: a key whose own line this is lies in the d-th line that follows. A look-up
 * reads its own line and the lines in the map: one for most keys, five at most. A key that is not
 * in its own line is a stray. Strays have tags of a range of their own, so only for strays must the
 * key be read to find its own line. An insert searches the lines that follow for an empty slot. If
 * the first one is too far, a key of a line between hops into that slot and leaves its own slot
 * empty, until an empty slot is near enough.
 *
 * Source: Herlihy, Shavit, Tzafrir, "Hopscotch Hashing", DISC 2008. Differences: a bucket is a
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
 * line of the key. An insert reads the keys of at most READS_MOST lines and splits one line, which
 * reads the strays of 9. Memory: 64 bytes for 9 items at any size, 7.1 an item. */
#include "index/index_line.h"

enum {
    NEAR = 5,         /* lines in which a key may lie */
    PROBES_MOST = 32, /* lines that are searched for an empty slot */
    READS_MOST = 64,  /* lines whose keys are read to find one that may hop */
    STRAY = 0xc0,     /* tags from here on are strays' */
    /* lines where its keys may lie before its split, if the lines that follow are split */
    LINES_OF_HOME = 2 * NEAR - 1,
    STRAYS_MOST = (LINES_OF_HOME - 1) * SLOTS,
};
/* The distance from a line to the one that follows. The step must spread lines that follow each
 * other: with any number of its low bits as a fraction the step lies far from 0, 1/2 and 1. Its
 * bits repeat 1001011. */
#define LINE_STEP UINT32_C(0xb972e5cb)

_Static_assert((int)LINES_OF_HOME * (int)SLOTS <= (int)INDEX_CHAIN_MOST,
               "what has one line as its own fits those who walk");
_Static_assert(1 << NEAR <= INDEX_VERSION_ONE, "a map fits below a version");

/* --- where things are --- */

/* The number of the line `distance` lines after a key's own. */
static uint32_t hopscotch_line(uint64_t hash, unsigned distance, uint32_t count) {
    return index_place_of((uint32_t)hash + distance * LINE_STEP, count);
}
static uint8_t hopscotch_tag(const struct index *ix, uint64_t hash, bool stray) {
    return stray ? (uint8_t)(STRAY | (uint8_t)(hash >> 32)) : index_tag(ix, hash);
}
static unsigned hopscotch_stray_slots(const struct index_line *b) {
    return slots_match_masked(b, STRAY, STRAY);
}

/* --- reading --- */

static uint32_t hopscotch_guess_behind(const struct index *ix, uint64_t hash,
                                       struct index_hint hint) {
    uint32_t ref = 0;
    for (uint32_t map = line_low(hint.at); ref == 0 && map != 0; map &= map - 1) {
        ref = index_guess_in(
            ix, line_at(ix, hopscotch_line(hash, (unsigned)__builtin_ctz(map), hint.count)),
            hopscotch_tag(ix, hash, true));
    }
    return ref;
}

static uint32_t hopscotch_find_behind(const struct index *ix, const struct key *k,
                                      struct index_hint hint, struct index_lookup *lookup) {
    for (uint32_t map = lookup->version & LOW_MOST; map != 0; map &= map - 1) {
        const struct index_line *b =
            line_at(ix, hopscotch_line(k->hash, (unsigned)__builtin_ctz(map), hint.count));
        struct index_lookup at = index_lookup_begin(&b->version);
        uint32_t ref = index_find_in(ix, b, k, hopscotch_tag(ix, k->hash, true));
        if (ref != 0) {
            *lookup = at;
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
static unsigned hopscotch_lines_after(uint32_t own, unsigned distance, uint32_t count,
                                      uint32_t lines[2]) {
    uint32_t round = index_round_of(count);
    bool split = own < count - round || own >= round;
    lines[0] = hopscotch_line(own, distance, count);
    lines[1] = split ? lines[0] : hopscotch_line(own + round, distance, count);
    return lines[1] != lines[0] ? 2 : 1;
}

/* The keys of this own line that lie at this distance behind. */
static unsigned hopscotch_strays_after(const struct index *ix, uint32_t own, unsigned distance,
                                       uint32_t count, struct stray *to) {
    uint32_t lines[2];
    unsigned n = 0;
    for (unsigned i = 0, of = hopscotch_lines_after(own, distance, count, lines); i < of; i++) {
        struct index_line *b = line_at(ix, lines[i]);
        for (unsigned slots = hopscotch_stray_slots(b); slots != 0; slots &= slots - 1) {
            unsigned slot = (unsigned)__builtin_ctz(slots);
            uint64_t hash = line_hash(ix, b, slot);
            if (hopscotch_line(hash, 0, count) == own) {
                to[n++] = (struct stray){hash, b, (uint8_t)slot, (uint8_t)distance};
            }
        }
    }
    return n;
}

/* All strays of a line. Prefetches all their keys before the first read. */
static unsigned hopscotch_strays(const struct index *ix, uint32_t own, uint32_t count,
                                 struct stray *to) {
    uint32_t map = line_low(line_at(ix, own)), lines[2];
    unsigned n = 0;
    for (uint32_t left = map; left != 0; left &= left - 1) {
        for (unsigned of = hopscotch_lines_after(own, (unsigned)__builtin_ctz(left), count, lines);
             of > 0;) {
            const struct index_line *b = line_at(ix, lines[--of]);
            line_prefetch_items(ix, b, hopscotch_stray_slots(b));
        }
    }
    for (; map != 0; map &= map - 1) {
        n += hopscotch_strays_after(ix, own, (unsigned)__builtin_ctz(map), count, to + n);
    }
    return n;
}

/* The line is within a change. A key left the line at this distance: clears the map's bit if no
 * other key lies there. */
static void hopscotch_mend_map(struct index *ix, uint32_t own, unsigned distance, uint32_t count) {
    struct stray strays[2 * SLOTS];
    if (distance > 0 && hopscotch_strays_after(ix, own, distance, count, strays) == 0) {
        line_set_low(line_at(ix, own), line_low(line_at(ix, own)) & ~(1u << distance));
    }
}

static void hopscotch_put(const struct index *ix, struct index_line *own, struct index_line *to,
                          unsigned distance, uint64_t hash, uint32_t ref) {
    slot_set(to, (unsigned)__builtin_ctz(slots_match(to, 0)), hopscotch_tag(ix, hash, distance > 0),
             ref);
    if (distance > 0) {
        line_set_low(own, line_low(own) | 1u << distance);
    }
}

/* Moves a key to the line at this distance after its own, which has an empty slot. */
static void hopscotch_move_key(struct index *ix, const struct stray *key, unsigned distance,
                               uint32_t count) {
    uint32_t own_i = hopscotch_line(key->hash, 0, count);
    struct index_line *own = line_at(ix, own_i), *from = key->line,
                      *to = line_at(ix, hopscotch_line(key->hash, distance, count));
    line_change_begin(own, from);
    if (to != own) {
        index_version_begin(&to->version);
    }
    hopscotch_put(ix, own, to, distance, key->hash, slot_ref(from, key->slot));
    slot_set(from, key->slot, 0, 0);
    hopscotch_mend_map(ix, own_i, key->distance, count);
    if (to != own) {
        index_version_end(&to->version);
    }
    line_change_end(own, from);
}

/* The distance of a key from its own line, found from the key's line. */
static unsigned hopscotch_distance(const struct index *ix, const struct index_line *b,
                                   unsigned slot, uint64_t hash, uint32_t count) {
    unsigned distance = slot_tag(b, slot) >= STRAY;
    while (distance != 0 && distance < NEAR &&
           line_at(ix, hopscotch_line(hash, distance, count)) != b) {
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
    line_prefetch_items(ix, from, slots_full(from));
    unsigned stray_count = hopscotch_strays(ix, from_i, n, strays);
    for (unsigned left = slots_full(from); left != 0; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        uint64_t hash = hashes[slot] = line_hash(ix, from, slot);
        if (hopscotch_line(hash, hopscotch_distance(ix, from, slot, hash, n), n + 1) == n) {
            slot_set(to, slot, slot_tag(from, slot), slot_ref(from, slot));
            gone |= 1u << slot;
        }
    }
    for (unsigned i = 0; i < stray_count; i++) {
        *(hopscotch_line(strays[i].hash, 0, n + 1) == n ? &map_to : &map_from) |=
            1u << strays[i].distance;
    }
    line_set_low(to, map_to);
    /* the count changes before the versions: a reader checks both */
    atomic_store_explicit(&ix->count, n + 1, memory_order_release);
    index_version_begin(&from->version);
    line_set_low(from, map_from);
    line_clear(ix, from, gone, hashes, n);
    index_version_end(&from->version);
    for (unsigned i = 0; i < stray_count; i++) {
        if (slots_match(line_at(ix, hopscotch_line(strays[i].hash, 0, n + 1)), 0) != 0) {
            hopscotch_move_key(ix, &strays[i], 0, n + 1);
        }
    }
    return true;
}

/* --- changes; the caller holds the partition's lock --- */

/* Moves a key from a line to the line with an empty slot, which lies `hops` lines behind. */
static bool hopscotch_hop(struct index *ix, uint32_t line, unsigned hops, uint32_t empty_line,
                          uint32_t count) {
    struct index_line *b = line_at(ix, line);
    line_prefetch_items(ix, b, slots_full(b));
    for (unsigned slots = slots_full(b); slots != 0; slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        uint64_t hash = line_hash(ix, b, slot);
        unsigned distance = hopscotch_distance(ix, b, slot, hash, count);
        if (distance + hops < NEAR && hopscotch_line(hash, distance + hops, count) == empty_line) {
            struct stray key = {hash, b, (uint8_t)slot, (uint8_t)distance};
            hopscotch_move_key(ix, &key, distance + hops, count);
            return true;
        }
    }
    return false;
}

/* Brings an empty slot, which lies at this distance after a key's own line, near enough.
 * *lines_read counts the lines whose keys were read. Returns the new distance: NEAR or more if no
 * key could hop. */
static unsigned hopscotch_bring_near(struct index *ix, uint64_t hash, unsigned distance,
                                     uint32_t count, unsigned *lines_read) {
    unsigned hops = NEAR - 1;
    while (distance >= NEAR && hops > 0 && *lines_read < READS_MOST) {
        ++*lines_read;
        if (hopscotch_hop(ix, hopscotch_line(hash, distance - hops, count), hops,
                          hopscotch_line(hash, distance, count), count)) {
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
    struct index_line *own = line_at(ix, hopscotch_line(hash, 0, count));
    unsigned lines_read = 0;
    for (unsigned probe = 0; probe < PROBES_MOST && lines_read < READS_MOST; probe++) {
        if (slots_match(line_at(ix, hopscotch_line(hash, probe, count)), 0) == 0) {
            continue;
        }
        unsigned distance = hopscotch_bring_near(ix, hash, probe, count, &lines_read);
        if (distance < NEAR) {
            struct index_line *to = line_at(ix, hopscotch_line(hash, distance, count));
            line_change_begin(own, to);
            hopscotch_put(ix, own, to, distance, hash, ref);
            line_change_end(own, to);
            return true;
        }
    }
    return false;
}

static struct index_place hopscotch_seek(const struct index *ix, uint64_t hash, uint32_t ref) {
    uint32_t count = index_count(ix);
    struct index_line *own = line_at(ix, hopscotch_line(hash, 0, count));
    for (uint32_t map = line_low(own) | 1; map != 0; map &= map - 1) {
        unsigned distance = (unsigned)__builtin_ctz(map);
        struct index_line *line = line_at(ix, hopscotch_line(hash, distance, count));
        _Atomic uint32_t *at = line_seek(line, hopscotch_tag(ix, hash, distance > 0), ref);
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
    unsigned slot = line_slot(at.line, at.ref),
             distance = hopscotch_distance(ix, at.line, slot, hash, count);
    line_change_begin(at.own, at.line);
    slot_set(at.line, slot, 0, 0);
    hopscotch_mend_map(ix, hopscotch_line(hash, 0, count), distance, count);
    line_change_end(at.own, at.line);
}

/* --- walking --- */

/* The keys whose own line is the i-th, wherever they lie. Only a split changes a key's own line.
 * The walk reaches the new line later. */
static bool hopscotch_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                            unsigned *count) {
    uint32_t lines = index_count(ix);
    if (i >= lines) {
        return false;
    }
    const struct index_line *own = line_at(ix, i);
    struct stray strays[STRAYS_MOST];
    unsigned stray_count = hopscotch_strays(ix, i, lines, strays),
             n = line_add_refs(own, slots_full(own) & ~hopscotch_stray_slots(own), refs, 0, max);
    for (unsigned j = 0; j < stray_count && n < max; j++) {
        refs[n++] = slot_ref(strays[j].line, strays[j].slot);
    }
    *count = n;
    return true;
}

static unsigned hopscotch_candidates(const struct index *ix, uint64_t hash, uint32_t *refs) {
    uint32_t count = index_count(ix);
    unsigned n = 0;
    for (unsigned distance = 0; distance < NEAR; distance++) {
        const struct index_line *b = line_at(ix, hopscotch_line(hash, distance, count));
        n = line_add_refs(b, slots_full(b), refs, n, INDEX_CHAIN_MOST);
    }
    return n;
}

const struct index_kind index_hopscotch = {
    .name = "hopscotch",
    .item_bytes_most = 12,
    .own_tags = STRAY - 1,
    /* more refuses inserts: BENCHMARKS.md */
    .load_x10 = 90,
    .find_behind = hopscotch_find_behind,
    .guess_behind = hopscotch_guess_behind,
    .insert = hopscotch_insert,
    .remove = hopscotch_remove,
    .seek = hopscotch_seek,
    .split = hopscotch_split,
    .chain = hopscotch_chain,
    .candidates = hopscotch_candidates,
};
