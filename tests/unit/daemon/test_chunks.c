/* Chunks on their way between a thread, a partition and their class. */
#include "tap.h"

#include "cache/admin/sizing.h"
#include "cache/alloc/magazine.h"
#include "cache/partition.h"
#include "cache_fixture.h"

static char value[4096 + 8], got[4096 + 8];

static uint32_t free_chunks(const struct cache *c, unsigned class_id) {
    struct slab_class_facts f;
    slab_facts(c->slab, class_id, &f);
    return f.free_chunks;
}

TEST(test_any_number_may_be_given_back_at_once) {
    enum { CHUNKS = 5 * RELEASE_MAX + 3 };
    struct cache_thread *ct;
    struct cache *c = fixture_cache(16u << 20, &ct);
    struct partition *p = &c->partitions[0];
    unsigned class_id = slab_class_of(c->slab, 1000);
    uint32_t refs[CHUNKS];
    cache_turn_begin(ct);
    unsigned n = slab_take(c->slab, class_id, refs, CHUNKS);
    is(n, CHUNKS, "%d chunks of a class are taken", CHUNKS);
    uint32_t before = free_chunks(c, class_id);
    lock_take(&p->lock);
    for (unsigned i = 0; i < n; i++) {
        magazine_push_locked(ct, p, refs[i]);
    }
    lock_release(&p->lock);
    magazine_settle(ct);
    is(free_chunks(c, class_id), before + CHUNKS, "and given back in one hold of a partition's lock: its class has all of them");
    magazine_settle(ct);
    is(free_chunks(c, class_id), before + CHUNKS, "once");
    cache_turn_end(ct);
    fixture_end(&c, &ct);
}

/* --- the geometry changes while a store waits for a chunk --- */

enum { KEY = 1, SHORT_BYTES = 150, LONG_BYTES = 540, MORE_BYTES = 200 };
/* The append first needs a chunk of 512. After the change that class's id has chunks of 800, large enough for the value at that time; but
 * the appended value needs one of 560. */
static const uint32_t sizes_before[] = {128, 256, 512, 1024}, sizes_between[] = {128, 256, 560, 1024},
                      sizes_after[] = {128, 256, 560, 800, 1024};

struct change {
    struct cache        *cache;
    struct cache_thread *storing, *other;
    unsigned             waits; /* how often the store was about to wait */
};

static bool set_sizes(struct slab *slab, const uint32_t *bytes, unsigned count) {
    struct size_rules rules;
    struct size_list list;
    slab_rules(slab, &rules);
    return size_list_of(&list, bytes, count, &rules) && slab_set_sizes(slab, &list);
}

static unsigned reap(struct slab *slab) {
    static const struct class_set nobody;
    struct class_set reaped = slab_reap(slab, &nobody);
    return class_set_count(&reaped);
}

/* Called in place of the first wait, which is outside the turn. */
static void change_geometry(void *arg) {
    struct change *ch = arg;
    struct slab *slab = ch->cache->slab;
    if (ch->waits++ > 0) {
        return;
    }
    unsigned wanted = slab_class_of(slab, 512);
    cache_turn_end(ch->storing);
    ok(set_sizes(slab, sizes_between, 4) && reap(slab) == 1 && set_sizes(slab, sizes_after, 5), "meanwhile the geometry changes twice");
    sizing_set_magazines(ch->cache);
    is(slab_chunk_bytes(slab, wanted), 800, "and the class that the store waits for has other chunks");
    cache_turn_begin(ch->other);
    is(fixture_set(ch->other, KEY, value, LONG_BYTES), CACHE_OK, "the value that it appends to becomes longer");
    cache_turn_end(ch->other);
    cache_turn_begin(ch->storing);
}

TEST(test_a_chunk_that_was_waited_for_is_large_enough) {
    struct cache_config cfg = fixture_config(4u << 20);
    cfg.slab = (struct slab_config){.chunk_bytes_min = 96, .growth_factor = 2, .sizes = sizes_before, .size_count = 4,
                                    .chunk_bytes_max = 4096};
    struct cache *c = cache_create(&cfg);
    struct change ch = {.cache = c, .storing = cache_thread_create(c), .other = cache_thread_create(c)};
    struct cache_facts facts;
    cache_turn_begin(ch.storing);
    memset(value, 'v', sizeof value);
    fixture_set(ch.storing, KEY, value, SHORT_BYTES);
    uint64_t n = 1000;
    do {
        fixture_set(ch.storing, n++, value, 900);
        cache_facts(c, &facts);
    } while (facts.pages_free > 0);
    is(slab_class_of(c->slab, 512), slab_class_of(c->slab, 300), "a class has no page, and none is free");

    struct key key = FIXTURE_KEY(KEY);
    struct cache_store append = {.mode = CACHE_APPEND, .value = value, .value_bytes = MORE_BYTES};
    struct cache_view v;
    cache_on_starved(c, change_geometry, &ch);
    is(cache_store(ch.storing, &key, &append, &v), CACHE_OK, "an append that needs a chunk of it waits, and is done then");
    ok(ch.waits > 0, "having waited");
    is(v.value_bytes, LONG_BYTES + MORE_BYTES, "it has appended to the longer value");
    ok(slab_chunk_bytes(c->slab, v.class_id) >= v.total_bytes, "which lies in a chunk that holds it: %u bytes in one of %u",
       v.total_bytes, slab_chunk_bytes(c->slab, v.class_id));
    is(fixture_get(ch.storing, KEY, got), LONG_BYTES + MORE_BYTES, "and can be read");
    cache_turn_end(ch.storing);
    cache_thread_destroy(&ch.storing);
    fixture_end(&c, &ch.other);
}

int main(void) {
    clock_start();
    return tap_main();
}
