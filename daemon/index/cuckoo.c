/* Two places for every key: its first line, and a second one that follows from the first and the
 * tag alone.
 *
 *   0                  4                  16                           64
 *   | version : strays | 12 one-byte tags | 12 references of items     |   the line of slots.h
 *
 * A look-up reads the first line, and the second one only if `strays` counts a key of the first
 * line that lies in its second: one line for most keys, two at most. A full line makes room by
 * moving a key to the key's other line; if that is full, too, a key of that one moves, along the
 * shortest path to an empty slot. Each change of a key changes the version of its first line, and
 * of each line whose slots change. So a look-up that finds nothing checks the first line's version,
 * and one that finds the key checks the line of the key.
 *
 * The table grows by linear hashing. A line's new half is filled before readers can see it, and the
 * old half is cleared after that; then the keys that had strayed from it are brought home. If a key
 * moves from a line that a walk has not reached yet to one that is behind the walk, the walk visits
 * the latter again, and so meets every key that stays. Source: Fan et al., "MemC3", NSDI 2013, with
 * twelve slots in place of four, and with growth; Litwin, VLDB 1980. Memory: 64 bytes for 10.8
 * items at any size, 5.9 an item. */
#include "index/index_line.h"

enum {
    WAYS = INDEX_SEGMENT,  /* lines that may be the second one to a given first, by the tag */
    STRAYS_MOST = LOW_MOST, /* at this number strays are no longer counted */
    /* Below this load no line is split because a path is missing: that happens when a client makes
     * keys collide. */
    LOAD_LEAST_X10 = 72,
    SPLITS_MOST = 8,       /* the most splits in one insert that finds no path */
    PATHS_MOST = 256,      /* lines that are visited for one path */
    DEPTH_MOST = 8,
    SUSPECTS_MOST = 2 * WAYS * SLOTS,
};

/* --- where things are --- */

/* The bits in which the hashes of a key's two lines differ, by the way between these lines. The low
 * six are never all zero. */
static uint32_t cuckoo_way_bits(unsigned way) { return way != 0 ? way * UINT32_C(0x9e3779b1) : 1; }
static uint32_t cuckoo_first(uint64_t hash, uint32_t count) { return index_place_of(hash, count); }
static uint32_t cuckoo_second(const struct index *ix, uint64_t hash, uint32_t count) {
    return index_place_of((uint32_t)hash ^ cuckoo_way_bits(index_tag(ix, hash) % WAYS), count);
}

/* The line is within a change. */
static void cuckoo_add_strays(struct index_line *b, int more) {
    uint32_t strays = line_low(b);
    if (strays < STRAYS_MOST) {
        line_set_low(b, (uint32_t)((int)strays + more));
    }
}

/* --- reading --- */

static uint32_t cuckoo_guess_behind(const struct index *ix, uint64_t hash,
                                    struct index_hint hint) {
    return line_low(hint.at) == 0
               ? 0
               : index_guess_in(ix, line_at(ix, cuckoo_second(ix, hash, hint.count)), hint.tag);
}

static uint32_t cuckoo_find_behind(const struct index *ix, const struct key *k,
                                   struct index_hint hint, struct index_lookup *lookup) {
    if ((lookup->version & LOW_MOST) == 0) {
        return 0;
    }
    const struct index_line *second = line_at(ix, cuckoo_second(ix, k->hash, hint.count));
    struct index_lookup at = index_lookup_begin(&second->version);
    uint32_t ref = index_find_in(ix, second, k, hint.tag);
    *lookup = ref != 0 ? at : *lookup;
    return ref;
}

/* --- making room; the caller holds the partition's lock --- */

/* The other line of the key in a slot of line `i`. The line's number determines the other line,
 * unless `i` is yet to be split in this round and the other line was split: then the key's hash is
 * read. */
static uint32_t cuckoo_other(const struct index *ix, uint32_t i, unsigned slot, uint32_t count) {
    const struct index_line *b = line_at(ix, i);
    uint32_t round = index_round_of(count), split = count - round;
    uint32_t other = i ^ cuckoo_way_bits(slot_tag(b, slot) % WAYS);
    if ((other & (round - 1)) >= split) {
        return other & (round - 1);
    }
    if (i < split || i >= round) {
        return other & (2 * round - 1);
    }
    uint64_t hash = line_hash(ix, b, slot);
    return cuckoo_first(hash, count) == i ? cuckoo_second(ix, hash, count)
                                          : cuckoo_first(hash, count);
}

static bool cuckoo_walk_reaches(const struct index_walk *w, uint32_t line) {
    for (unsigned i = 0; i < w->revisit_count; i++) {
        if (w->revisit[i] == line) {
            return true;
        }
    }
    return line >= w->next;
}
/* Whether a walk that cannot note `more` lines to visit again would miss a key that moves from one
 * line to another. */
static bool cuckoo_escapes_walk(const struct index *ix, uint32_t from, uint32_t to, unsigned more) {
    for (const struct index_walk *w = ix->walks; w < ix->walks + INDEX_WALKS; w++) {
        if (w->revisit_count + more > INDEX_REVISITS && cuckoo_walk_reaches(w, from) &&
            !cuckoo_walk_reaches(w, to)) {
            return true;
        }
    }
    return false;
}

/* Moves a key to its other line, which has an empty slot. */
static void cuckoo_move_key(struct index *ix, uint32_t from_i, unsigned slot, uint32_t to_i,
                            uint32_t count) {
    struct index_line *from = line_at(ix, from_i), *to = line_at(ix, to_i);
    uint32_t ref = slot_ref(from, slot);
    bool leaves_home = cuckoo_first(line_hash(ix, from, slot), count) == from_i;
    line_change_begin(from, to);
    slot_set(to, (unsigned)__builtin_ctz(slots_match(to, 0)), slot_tag(from, slot), ref);
    slot_set(from, slot, 0, 0);
    cuckoo_add_strays(leaves_home ? from : to, leaves_home ? 1 : -1);
    line_change_end(from, to);
    for (struct index_walk *w = ix->walks; w < ix->walks + INDEX_WALKS; w++) {
        if (w->revisit_count < INDEX_REVISITS && cuckoo_walk_reaches(w, from_i) &&
            !cuckoo_walk_reaches(w, to_i)) {
            w->revisit[w->revisit_count++] = to_i;
        }
    }
}

/* A line on a path; a slot of the line before leads here. */
struct step {
    uint32_t line;
    uint16_t before; /* number of the previous step; the first two steps have none */
    uint8_t  slot, depth;
};

static bool cuckoo_on_path(const struct step *steps, const struct step *s, uint32_t line) {
    for (; s->depth > 0; s = &steps[s->before]) {
        if (s->line == line) {
            return true;
        }
    }
    return s->line == line;
}

/* Finds the shortest path from one of a hash's two full lines to a line with an empty slot, and
 * moves the keys along it, the last first. False: there is none. `escape`: keys may move even if a
 * walk has no room to note another line to visit again, and so would miss these keys. */
static bool cuckoo_make_room(struct index *ix, uint64_t hash, uint32_t count, bool escape) {
    struct step steps[PATHS_MOST];
    unsigned known = 2;
    steps[0] = (struct step){.line = cuckoo_first(hash, count)};
    steps[1] = (struct step){.line = cuckoo_second(ix, hash, count)};
    for (unsigned at = 0; at < known; at++) {
        struct step *s = &steps[at];
        uint32_t others[SLOTS];
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            others[slot] = cuckoo_other(ix, s->line, slot, count);
            __builtin_prefetch(line_at(ix, others[slot]));
        }
        for (unsigned slot = 0; slot < SLOTS; slot++) {
            uint32_t to = others[slot];
            if (cuckoo_on_path(steps, s, to) ||
                (!escape && cuckoo_escapes_walk(ix, s->line, to, s->depth + 1u))) {
                continue;
            }
            if (slots_match(line_at(ix, to), 0) != 0) {
                cuckoo_move_key(ix, s->line, slot, to, count);
                for (; s->depth > 0; s = &steps[s->before]) {
                    cuckoo_move_key(ix, steps[s->before].line, s->slot, s->line, count);
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
    uint32_t line, ref;
    uint8_t  slot;
};

/* The keys in a line whose tag has that way. Prefetches their items. */
static unsigned cuckoo_suspects(const struct index *ix, uint32_t line, unsigned way,
                                struct stray *to) {
    const struct index_line *b = line_at(ix, line);
    unsigned n = 0, slots = slots_match_masked(b, (uint8_t)way, WAYS - 1) & slots_full(b);
    line_prefetch_items(ix, b, slots);
    for (; slots != 0; slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        to[n++] = (struct stray){.line = line, .slot = (uint8_t)slot, .ref = slot_ref(b, slot)};
    }
    return n;
}

/* Finds all keys that lie in their second line and whose first is `home`, which is yet to be split,
 * along each way. */
static unsigned cuckoo_find_strays(const struct index *ix, uint32_t home, uint32_t count,
                                   struct stray *to) {
    uint32_t round = index_round_of(count), split = count - round;
    unsigned suspects = 0, strays = 0;
    for (unsigned way = 0; way < WAYS; way++) {
        uint32_t second = (home ^ cuckoo_way_bits(way)) & (round - 1);
        __builtin_prefetch(line_at(ix, second));
        if (second < split) {
            __builtin_prefetch(line_at(ix, second + round));
        }
    }
    for (unsigned way = 0; way < WAYS; way++) {
        uint32_t second = (home ^ cuckoo_way_bits(way)) & (round - 1);
        suspects += cuckoo_suspects(ix, second, way, to + suspects);
        if (second < split) {
            suspects += cuckoo_suspects(ix, second + round, way, to + suspects);
        }
    }
    for (unsigned i = 0; i < suspects; i++) {
        to[i].hash = ix->space->hash_of(node_at(ix->space, to[i].ref));
        if (cuckoo_first(to[i].hash, count) == home) {
            to[strays++] = to[i];
        }
    }
    return strays;
}

static bool cuckoo_split(struct index *ix) {
    uint32_t n = index_count(ix), from_i = n - index_round_of(n);
    if (!line_add(ix)) {
        return false;
    }
    struct index_line *from = line_at(ix, from_i), *to = line_at(ix, n);
    uint64_t hashes[SLOTS];
    unsigned full = slots_full(from), go = 0, gone = 0;
    line_prefetch_items(ix, from, full);
    struct stray strays[SUSPECTS_MOST];
    unsigned stray_count = line_low(from) > 0 ? cuckoo_find_strays(ix, from_i, n, strays) : 0;
    for (unsigned i = 0; i < stray_count; i++) {
        gone += cuckoo_first(strays[i].hash, n + 1) == n;
    }
    for (unsigned left = full; left != 0; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctz(left);
        uint64_t hash = hashes[slot] = line_hash(ix, from, slot);
        bool home = cuckoo_first(hash, n) == from_i;
        if ((home ? cuckoo_first(hash, n + 1) : cuckoo_second(ix, hash, n + 1)) == n) {
            slot_set(to, slot, slot_tag(from, slot), slot_ref(from, slot));
            go |= 1u << slot;
        }
    }
    unsigned stay = stray_count - gone;
    line_set_low(to, gone < STRAYS_MOST ? gone : STRAYS_MOST); /* no reader can see the line yet */
    /* the count changes before the versions: a reader checks both */
    atomic_store_explicit(&ix->count, n + 1, memory_order_release);
    index_version_begin(&from->version);
    line_set_low(from, stay < STRAYS_MOST ? stay : STRAYS_MOST);
    line_clear(ix, from, go, hashes, n);
    index_version_end(&from->version);
    for (unsigned i = 0; i < stray_count; i++) { /* come home where there is room again */
        uint32_t home = cuckoo_first(strays[i].hash, n + 1);
        if (slots_match(line_at(ix, home), 0) != 0 &&
            !cuckoo_escapes_walk(ix, strays[i].line, home, 1)) {
            cuckoo_move_key(ix, strays[i].line, strays[i].slot, home, n + 1);
        }
    }
    return true;
}

/* --- changes; the caller holds the partition's lock --- */

static bool cuckoo_put(struct index *ix, uint64_t hash, uint32_t ref, uint32_t count) {
    struct index_line *first = line_at(ix, cuckoo_first(hash, count)), *to = first;
    unsigned empty = slots_match(first, 0);
    if (empty == 0) {
        to = line_at(ix, cuckoo_second(ix, hash, count));
        empty = slots_match(to, 0);
    }
    if (empty != 0) {
        line_change_begin(first, to);
        slot_set(to, (unsigned)__builtin_ctz(empty), index_tag(ix, hash), ref);
        if (to != first) {
            cuckoo_add_strays(first, 1);
        }
        line_change_end(first, to);
    }
    return empty != 0;
}

static bool cuckoo_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    for (unsigned splits = 0;; splits++) {
        uint32_t count = index_count(ix);
        if (cuckoo_put(ix, hash, ref, count) ||
            (cuckoo_make_room(ix, hash, count, false) && cuckoo_put(ix, hash, ref, count))) {
            return true;
        }
        bool loaded = (ix->item_count + UINT64_C(1)) * 10 > (uint64_t)count * LOAD_LEAST_X10;
        if (splits == SPLITS_MOST || !loaded || !cuckoo_split(ix)) {
            return cuckoo_make_room(ix, hash, count, true) && cuckoo_put(ix, hash, ref, count);
        }
    }
}

static struct index_place cuckoo_seek(const struct index *ix, uint64_t hash, uint32_t ref) {
    uint32_t count = index_count(ix);
    struct index_line *first = line_at(ix, cuckoo_first(hash, count)), *line = first;
    _Atomic uint32_t *at = line_seek(first, index_tag(ix, hash), ref);
    if (at == NULL) {
        line = line_at(ix, cuckoo_second(ix, hash, count));
        at = line_seek(line, index_tag(ix, hash), ref);
    }
    return (struct index_place){first, line, at};
}

static void cuckoo_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    struct index_place at = cuckoo_seek(ix, hash, ref);
    assert(at.ref != NULL);
    line_change_begin(at.own, at.line);
    slot_set(at.line, line_slot(at.line, at.ref), 0, 0);
    if (at.line != at.own) {
        cuckoo_add_strays(at.own, -1);
    }
    line_change_end(at.own, at.line);
}

/* --- walking --- */

/* The walk whose next line is `i`. There is room for a few walks at a time; one that was broken off
 * is forgotten when others begin. */
static struct index_walk *cuckoo_walk_at(struct index *ix, uint32_t i) {
    unsigned n = 0;
    while (n < INDEX_WALKS && ix->walks[n].next != i) { /* 0: no walk, or one that begins */
        n++;
    }
    if (n == INDEX_WALKS) {
        n = ix->walk_forgotten++ % INDEX_WALKS;
        ix->walks[n].revisit_count = 0;
    }
    return &ix->walks[n];
}

static bool cuckoo_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                         unsigned *count) {
    struct index_walk *w = cuckoo_walk_at(ix, i);
    bool there = i < index_count(ix), more = there || w->revisit_count > 0;
    unsigned n =
        there ? line_add_refs(line_at(ix, i), slots_full(line_at(ix, i)), refs, 0, max) : 0;
    while (w->revisit_count > 0) {
        const struct index_line *b = line_at(ix, w->revisit[--w->revisit_count]);
        n = line_add_refs(b, slots_full(b), refs, n, max);
    }
    w->next = more ? i + 1 : 0;
    *count = n;
    return more;
}
_Static_assert((1 + (int)INDEX_REVISITS) * (int)SLOTS <= (int)INDEX_CHAIN_MOST,
               "a step of a walk fits those who walk");

static unsigned cuckoo_candidates(const struct index *ix, uint64_t hash, uint32_t *refs) {
    uint32_t count = index_count(ix);
    const struct index_line *first = line_at(ix, cuckoo_first(hash, count)),
                            *second = line_at(ix, cuckoo_second(ix, hash, count));
    unsigned n = line_add_refs(first, slots_full(first), refs, 0, INDEX_CHAIN_MOST);
    return line_add_refs(second, slots_full(second), refs, n, INDEX_CHAIN_MOST);
}

const struct index_kind index_cuckoo = {
    .name = "cuckoo",
    .item_bytes_most = 12,
    .own_tags = INDEX_LINK_TAG - 1,
    .load_x10 = 108,
    .find_behind = cuckoo_find_behind,
    .guess_behind = cuckoo_guess_behind,
    .insert = cuckoo_insert,
    .remove = cuckoo_remove,
    .seek = cuckoo_seek,
    .split = cuckoo_split,
    .chain = cuckoo_chain,
    .candidates = cuckoo_candidates,
};
