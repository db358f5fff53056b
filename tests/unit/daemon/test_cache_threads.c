/* Readers, writers and a page mover (or a thread that lowers a heap's limit) at once: no wrong value, no refused store, pages really move.
 * Run under TSan too. */
#include "tap.h"

#include "accounts.h"
#include "workers.h"

enum { KEYS = 5000, WORKERS = 3, OPERATIONS = 15000, LOWERED_BYTES = 8 << 20 };

static _Atomic bool done;
static _Atomic bool moved_once; /* a page, or a limit */
static int turns_fd; /* an eventfd, of the workers' turns */

/* Waits until the workers have taken so many turns more, or have ended. */
static void await_turns(eventfd_t n) {
    eventfd_t some = 0;
    for (eventfd_t sum = 0; sum < n && !atomic_load(&done) && tap_readable(turns_fd) && eventfd_read(turns_fd, &some) == 0; sum += some) {
    }
}

struct evacuating {
    struct cache_thread *ct;
    bool                 may_evict;
};

static enum cache_moved evacuate_chunk(void *arg, uint32_t page, uint32_t chunk) {
    const struct evacuating *e = arg;
    return cache_evacuate(e->ct, page, chunk, e->may_evict ? EVACUATE_EVICTS : 0, NULL);
}

/* Moves pages between random classes as fast as possible. */
static uint64_t move_pages(struct cache *c, uint64_t seed) {
    struct cache_thread *ct = cache_thread_create(c);
    struct slab *slab = cache_slab(c);
    uint64_t x = seed, moved = 0;
    while (!atomic_load(&done)) {
        unsigned from = 1 + (unsigned)(tap_random(&x) % slab->class_count);
        unsigned to = 1 + (unsigned)(tap_random(&x) % slab->class_count);
        uint32_t page;
        struct moving_page m;
        unsigned goes_to = tap_random(&x) % 3 ? to : SLAB_CLASS_NONE;
        if (from == to || cache_choose_pages(ct, from, (enum page_pick)(tap_random(&x) % 4), &page, 1) == 0 || !page_move_begin(&m, ct, page, from, goes_to, 0)) {
            await_turns(1);
            continue;
        }
        struct evacuating e = {.ct = ct, .may_evict = tap_random(&x) % 2};
        struct page_driver d = {.ct = ct, .step_bytes = PAGE_BYTES, .wait_us = 1000, .chunk = evacuate_chunk, .arg = &e};
        cache_turn_begin(ct);
        while (m.state == PAGE_MOVE_EMPTYING) {
            d.now_us = clock_mono_us();
            page_move_step(&m, &d);
        }
        cache_turn_end(ct);
        if (page_move_finish(&m, ct, clock_mono_us() + 1000000)) {
            moved++;
            atomic_store(&moved_once, true);
        }
    }
    cache_thread_destroy(&ct);
    return moved;
}

static void nobody_to_wake(void *arg) { (void)arg; }

/* Lowers and raises a heap's limit, and frees the memory above the limit. */
static uint64_t lower_limits(struct cache *c) {
    struct cache_thread *ct = cache_thread_create(c);
    struct cache_facts f;
    uint64_t lowered = 0;
    cache_on_starved(c, nobody_to_wake, NULL);
    cache_facts(c, &f);
    while (!atomic_load(&done)) {
        cache_set_limit(c, LOWERED_BYTES);
        cache_turn_begin(ct);
        while (fixture_shrink(ct) && !atomic_load(&done)) {
        }
        cache_turn_end(ct);
        lowered++;
        atomic_store(&moved_once, true);
        cache_set_limit(c, f.limit_bytes);
        await_turns(100);
    }
    cache_on_starved(c, NULL, NULL);
    cache_thread_destroy(&ct);
    return lowered;
}

struct mover {
    struct cache *cache;
    uint64_t seed, moved;
};
static void *mover_main(void *arg) {
    struct mover *m = arg;
    bool pages = cache_store_kind(m->cache) != CACHE_STORE_HEAP;
    m->moved = pages ? move_pages(m->cache, m->seed) : lower_limits(m->cache);
    return NULL;
}

static void test_threads_and_moving_pages(uint64_t seed, size_t limit_bytes, const struct evict_policy *policy) {
    struct cache_config cfg = fixture_config(limit_bytes);
    cfg.policy = policy;
    struct cache *c = cache_create(&cfg);
    struct worker workers[WORKERS];
    pthread_t mover_thread;
    struct mover mover = {.cache = c, .seed = seed * 31 + 7};
    atomic_store(&done, false);
    atomic_store(&moved_once, false);
    const char *moves = cfg.store != CACHE_STORE_HEAP ? "pages moved" : "times the limit was lowered";
    pthread_create(&mover_thread, NULL, mover_main, &mover);
    workers_start(workers, WORKERS, (struct worker){.cache = c, .seed = seed, .keys = KEYS, .least = OPERATIONS, .ends = &moved_once, .turns_fd = turns_fd});
    struct worker sum = workers_join(workers, WORKERS);
    atomic_store(&done, true);
    eventfd_write(turns_fd, 1);
    pthread_join(mover_thread, NULL);
    printf("# the %s store, the %s index\n", cache_store_name(cfg.store), cache_index_name(c));
    is(sum.wrong, 0, "%s, %zu MiB: no wrong value among %" PRIu64 " hits while %" PRIu64 " %s", policy->name, limit_bytes >> 20, sum.hits,
       mover.moved, moves);
    is(sum.refused, 0, "%s, %zu MiB: no set refused", policy->name, limit_bytes >> 20);
    ok(mover.moved > 0, "%s, %zu MiB: some %s", policy->name, limit_bytes >> 20, moves);
    struct cache_thread *ct = cache_thread_create(c);
    nothing_is_left(c, ct, policy->name);
    fixture_end(&c, &ct);
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    clock_start();
    turns_fd = eventfd(0, EFD_CLOEXEC);
    fixture_patience_us = FIXTURE_NEVER_REFUSE_US;
    test_threads_and_moving_pages(seed, 64u << 20, &evict_slru);
    test_threads_and_moving_pages(seed, 48u << 20, &evict_lru);
    test_threads_and_moving_pages(seed, 512u << 20, &evict_slru);
    for (fixture_store = CACHE_STORE_HEAP; fixture_store <= CACHE_STORE_BLOCKS; fixture_store++) {
        test_threads_and_moving_pages(seed, 32u << 20, &evict_slru);
        test_threads_and_moving_pages(seed, 512u << 20, &evict_slru);
    }
    fixture_store = CACHE_STORE_SLAB;
    for (int kind = 1; (fixture_index = index_kinds[kind]) != NULL; kind++) {
        test_threads_and_moving_pages(seed, 48u << 20, &evict_slru);
    }
    return tap_done();
}
