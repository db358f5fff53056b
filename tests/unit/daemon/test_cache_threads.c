/* Readers, writers and a page mover at once, or who lowers a heap's limit: no wrong value, nothing refused, pages really move. Run under TSan too. */
#include "tap.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include "cache_fixture.h"

enum { KEYS = 5000, WORKERS = 3, OPERATIONS = 15000, VALUE_MAX = 700000, LOWERED_BYTES = 8 << 20 };

struct job {
    struct cache *cache;
    uint64_t seed;
    uint64_t wrong, refused, hits;
};

static _Atomic bool done;
static _Atomic bool moved_once; /* a page, or a limit */
static int turns_fd; /* an eventfd, of the workers' turns */

/* Waits until the workers have taken so many turns more, or are done. */
static void await_turns(eventfd_t n) {
    eventfd_t some = 0;
    for (eventfd_t sum = 0; sum < n && !atomic_load(&done) && tap_readable(turns_fd) && eventfd_read(turns_fd, &some) == 0; sum += some) {
    }
}

/* A value says its key and length in its first bytes and follows from them, so any reader can check any value. */
static void make_value(char *to, uint32_t bytes, uint32_t key) {
    fixture_value(to, bytes, key, bytes);
    if (bytes >= 4) {
        memcpy(to, &key, 4);
    }
}

static bool check_value(const char *v, long bytes, uint32_t key, char *scratch) {
    make_value(scratch, (uint32_t)bytes, key);
    return memcmp(v, scratch, (size_t)bytes) == 0;
}

static uint32_t some_bytes(uint64_t *x) {
    switch (tap_random(x) % 200) {
    case 0: return (uint32_t)(4 + tap_random(x) % (VALUE_MAX - 4));
    case 1:
    case 2: return (uint32_t)(4 + tap_random(x) % 20000);
    default: return (uint32_t)(4 + tap_random(x) % 700);
    }
}

static void *work(void *arg) {
    struct job *job = arg;
    struct cache_thread *ct = cache_thread_create(job->cache);
    char *value = malloc(VALUE_MAX + 16), *scratch = malloc(VALUE_MAX + 16);
    uint64_t x = job->seed;
    /* On, if the machine has not let the mover run yet. */
    for (int i = 0; i < OPERATIONS || (!atomic_load(&moved_once) && i < 100 * OPERATIONS); i++) {
        uint32_t n = (uint32_t)(tap_random(&x) % KEYS);
        struct key key = FIXTURE_KEY(n);
        if (i % 20 == 0 && i > 0) {
            cache_turn_end(ct);
            eventfd_write(turns_fd, 1);
        }
        if (i % 20 == 0) {
            cache_turn_begin(ct);
        }
        switch (tap_random(&x) % 8) {
        case 0:
        case 1: {
            uint32_t bytes = some_bytes(&x);
            make_value(value, bytes, n);
            job->refused += fixture_set(ct, n, value, bytes) != CACHE_OK;
            break;
        }
        case 2: {
            if (tap_random(&x) % 4 == 0) {
                cache_delete(ct, &key, &(struct cache_delete){0});
            }
            break;
        }
        default: {
            long bytes = fixture_get(ct, n, value);
            if (bytes >= 0) {
                job->hits++;
                job->wrong += !check_value(value, bytes, n, scratch);
            }
        }
        }
    }
    cache_turn_end(ct);
    free(value);
    free(scratch);
    cache_thread_destroy(&ct);
    return NULL;
}

struct evacuating {
    struct cache_thread *ct;
    bool                 may_evict;
};

static enum cache_moved evacuate_chunk(void *arg, uint32_t page, uint32_t chunk) {
    const struct evacuating *e = arg;
    return cache_evacuate(e->ct, page, chunk, e->may_evict ? EVACUATE_EVICTS : 0, NULL);
}

/* Moves pages between random classes as fast as it can. */
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
        if (from == to || cache_spare_pages(ct, from, (enum page_pick)(tap_random(&x) % 4), &page, 1) == 0 || !page_move_begin(&m, ct, page, from, goes_to, 0)) {
            await_turns(1);
            continue;
        }
        struct evacuating e = {.ct = ct, .may_evict = tap_random(&x) % 2};
        struct page_driver d = {.ct = ct, .step_bytes = PAGE_BYTES, .patience_us = 1000, .chunk = evacuate_chunk, .arg = &e};
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

/* Lowers and raises the limit of a heap, and gives back what is beyond it. */
static uint64_t lower_limits(struct cache *c) {
    struct cache_thread *ct = cache_thread_create(c);
    struct cache_facts f;
    uint64_t lowered = 0;
    cache_on_hunger(c, nobody_to_wake, NULL);
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
    cache_on_hunger(c, NULL, NULL);
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

/* The items of all classes, and the chunks that are in use. */
static uint64_t sum_of_classes(struct cache *c, uint64_t *used) {
    uint64_t items = 0;
    *used = 0;
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        struct cache_class_facts cf;
        cache_class_facts(c, i, &cf);
        items += cf.items;
        *used += (uint64_t)cf.slab.pages * cf.slab.chunks_per_page - cf.slab.free_chunks - cf.stock_chunks;
    }
    return items;
}

static void test_threads_and_moving_pages(uint64_t seed, size_t limit_bytes, const struct evict_policy *policy) {
    struct cache_config cfg = fixture_config(limit_bytes);
    cfg.policy = policy;
    struct cache *c = cache_create(&cfg);
    struct job jobs[WORKERS];
    pthread_t threads[WORKERS], mover_thread;
    struct mover mover = {.cache = c, .seed = seed * 31 + 7};
    atomic_store(&done, false);
    atomic_store(&moved_once, false);
    const char *moves = cfg.store != CACHE_STORE_HEAP ? "pages moved" : "times the limit was lowered";
    pthread_create(&mover_thread, NULL, mover_main, &mover);
    for (int i = 0; i < WORKERS; i++) {
        jobs[i] = (struct job){.cache = c, .seed = seed * 2 + (uint64_t)i * 77 + 1};
        pthread_create(&threads[i], NULL, work, &jobs[i]);
    }
    uint64_t wrong = 0, refused = 0, hits = 0;
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        wrong += jobs[i].wrong, refused += jobs[i].refused, hits += jobs[i].hits;
    }
    atomic_store(&done, true);
    eventfd_write(turns_fd, 1);
    pthread_join(mover_thread, NULL);
    printf("# the %s store, the %s index\n", cache_store_name(cfg.store), cache_index_name(c));
    is(wrong, 0, "%s, %zu MiB: no wrong value among %" PRIu64 " hits while %" PRIu64 " %s", policy->name,
       limit_bytes >> 20, hits, mover.moved, moves);
    is(refused, 0, "%s, %zu MiB: no set refused", policy->name, limit_bytes >> 20);
    ok(mover.moved > 0, "%s, %zu MiB: some %s", policy->name, limit_bytes >> 20, moves);

    struct cache_thread *ct = cache_thread_create(c);
    struct cache_facts f;
    uint64_t used;
    cache_turn_begin(ct);
    cache_facts(c, &f);
    is(sum_of_classes(c, &used), f.items, "queues and index agree");
    struct cache_walk walk = {0};
    static struct cache_walked out[64];
    int n;
    while ((n = cache_walk_next(ct, &walk, out, 64)) >= 0) {
        for (int i = 0; i < n; i++) {
            struct key key = key_make(out[i].key, out[i].key_len);
            cache_delete(ct, &key, &(struct cache_delete){0});
        }
    }
    cache_facts(c, &f);
    is(f.items, 0, "every item that a walk finds can be deleted");
    sum_of_classes(c, &used);
    is(used, 0, "then every chunk is free again");
    is(f.bytes, 0, "and no byte is accounted for");
    cache_turn_end(ct);
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
