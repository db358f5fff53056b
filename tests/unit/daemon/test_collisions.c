/* Keys that share one place of the index, as only someone with the hash's secret can choose them: they evict others from that place and
 * cost nothing else, in every kind of index. */
#include "tap.h"

#include "cache_fixture.h"

enum { CHOSEN = 640, OTHERS = 1000, FIRST = 20, KEY_BYTES = 12 };

static char chosen[CHOSEN + 1][KEY_BYTES + 16]; /* the last is the victim's */

/* Equal in the low bits, which are the place, and in the bits of the tag that give a second one. */
static void choose_keys(void) {
    const uint64_t alike = 0x3f000000ff;
    unsigned found = 0;
    for (uint64_t n = 0; found <= CHOSEN; n++) {
        char *key = chosen[found];
        for (unsigned i = 0; i < KEY_BYTES; i++) {
            key[i] = (char)('a' + (n >> 4 * i) % 16);
        }
        found += (key_hash(key, KEY_BYTES) & alike) == (0x2a00000155 & alike);
    }
}

static enum cache_status set(struct cache_thread *ct, const struct key *key) {
    return fixture_store_key(ct, key, key->ptr, key->len, NULL);
}

static bool reads_back(struct cache_thread *ct, const struct key *key) {
    char got[ITEM_COPY_MAX + 8];
    struct cache_view v;
    return fixture_fetch(ct, key, got, &v) == CACHE_OK && v.value_bytes == key->len && memcmp(got, key->ptr, key->len) == 0;
}

static void next_second(struct cache_thread *ct) {
    fixture_next_turn(ct, 2);
}

static struct key chosen_key(unsigned i) { return key_make(chosen[i], KEY_BYTES); }

/* Stores all chosen keys, the first few some seconds before the others; returns the number refused. */
static unsigned set_chosen(struct cache_thread *ct) {
    unsigned refused = 0;
    for (unsigned i = 0; i < CHOSEN; i++) {
        struct key key = chosen_key(i);
        if (i == FIRST) {
            next_second(ct);
        }
        refused += set(ct, &key) != CACHE_OK;
    }
    return refused;
}

static struct cache_facts facts_of(struct cache *c) {
    struct cache_facts f;
    cache_facts(c, &f);
    return f;
}

static void test_a_victim_is_stored(struct cache *c, struct cache_thread *ct, const char *kind) {
    struct key victim = chosen_key(CHOSEN);
    unsigned early = 0;
    is(set_chosen(ct), 0, "%s: %d keys of one place are stored", kind, CHOSEN);
    is(set(ct, &victim), CACHE_OK, "%s: and so is another of that place", kind);
    ok(reads_back(ct, &victim), "%s: which reads back", kind);
    for (unsigned i = 0; i < FIRST; i++) {
        struct key key = chosen_key(i);
        early += reads_back(ct, &key);
    }
    is(early, 0, "%s: the item used longest ago there made way", kind);
    struct cache_facts f = facts_of(c);
    unsigned most = strcmp(kind, "chained") == 0 ? 12 * 32 : INDEX_CHAIN_MOST; /* twelve chains share a place */
    ok(f.items <= most, "%s: %" PRIu64 " of them are left, so a look stays short", kind, f.items);
    is(f.counters.index_evictions, CHOSEN + 1 - f.items, "%s: those that went are counted", kind);
    struct cache_class_values sum;
    cache_classes_counters(c, &sum);
    is(sum.evicted, f.counters.index_evictions, "%s: as evictions too", kind);
}

static void test_others_are_stored_beside_them(struct cache *c, struct cache_thread *ct, const char *kind) {
    unsigned lost = 0;
    uint64_t buckets = facts_of(c).index_buckets;
    next_second(ct);
    for (uint64_t n = 0; n < OTHERS; n++) {
        lost += fixture_set(ct, n, "x", 1) != CACHE_OK;
    }
    for (uint64_t n = 0; n < OTHERS; n++) {
        struct key key = FIXTURE_KEY(n);
        struct cache_view v;
        lost += cache_peek(ct, &key, &v) != CACHE_OK;
    }
    is(lost, 0, "%s: %d other keys are stored and found", kind, OTHERS);
    ok(facts_of(c).index_buckets > buckets, "%s: and the index has grown", kind);
}

static void test_dead_items_make_way_first(struct cache *c, struct cache_thread *ct, const char *kind) {
    uint64_t evicted = facts_of(c).counters.index_evictions;
    struct cache_class_values before, after;
    cache_flush_now(c);
    cache_classes_counters(c, &before);
    struct key victim = chosen_key(CHOSEN), second = chosen_key(1);
    set(ct, &victim);
    set(ct, &second);
    cache_classes_counters(c, &after);
    is(after.evicted, before.evicted, "%s: where dead items fill a place nothing is evicted", kind);
    ok(facts_of(c).counters.index_evictions > evicted, "%s: but they are freed there", kind);
    ok(reads_back(ct, &victim) && reads_back(ct, &second), "%s: and both are stored", kind);
}

static void test_without_evictions_the_place_is_full(const struct index_kind *kind) {
    struct cache_config cfg = fixture_config(64u << 20);
    cfg.index = kind;
    cfg.partitions = 1;
    cfg.evict = false;
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    cache_turn_begin(ct);
    unsigned refused = set_chosen(ct);
    struct key first = chosen_key(0);
    ok(refused > 0 && reads_back(ct, &first), "%s: with -M nothing live makes way, and %u are refused", kind->name, refused);
    is(fixture_set(ct, 1, "x", 1), CACHE_OK, "%s: other keys are stored", kind->name);
    cache_turn_end(ct);
    fixture_end(&c, &ct);
}

static void test_kind(const struct index_kind *kind) {
    struct cache_config cfg = fixture_config(64u << 20);
    cfg.index = kind;
    cfg.partitions = 1;
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    cache_turn_begin(ct);
    test_a_victim_is_stored(c, ct, kind->name);
    test_others_are_stored_beside_them(c, ct, kind->name);
    set_chosen(ct);
    test_dead_items_make_way_first(c, ct, kind->name);
    cache_turn_end(ct);
    fixture_end(&c, &ct);
    test_without_evictions_the_place_is_full(kind);
}

static void test_hashes_follow_the_secret(void) {
    uint64_t fixed = key_hash("key", 3), drawn;
    key_hash_seed(1);
    ok(key_hash("key", 3) != fixed, "another seed makes other hashes");
    ok(key_hash_draw(), "a secret can be drawn");
    drawn = key_hash("key", 3);
    ok(key_hash_draw() && key_hash("key", 3) != drawn, "and another each time");
    key_hash_seed(0);
    is(key_hash("key", 3), fixed, "seeded with 0 hashes are those of a program that does not seed");
}

int main(void) {
    clock_start();
    test_hashes_follow_the_secret();
    key_hash_seed(0x5eed);
    choose_keys();
    for (int i = 0; index_kinds[i] != NULL; i++) {
        test_kind(index_kinds[i]);
    }
    return tap_done();
}
