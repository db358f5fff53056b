/* A cache in a memory file, for the suites of it. A crash is a child that ends without a word, at a point that the test
 * chooses; what it leaves half done, it does to its own memory. */
#ifndef SLATE_MEMORY_FILE_FIXTURE_H
#define SLATE_MEMORY_FILE_FIXTURE_H
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache_fixture.h"
#include "cache/keep.h"
#include "cache/value.h"

enum { ITEMS = 3000, LIMIT_MB = 24, VALUE_MOST = 900 * 1000 };

static char path[256];
static char why[CACHE_WHY_BYTES];
static char value[VALUE_MOST + 8], got[VALUE_MOST + 8];
static const struct evict_policy *policy = &evict_lru;

static inline struct cache_config file_config(void) {
    struct cache_config config = fixture_config((size_t)LIMIT_MB << 20);
    config.why = why;
    config.policy = policy;
    return config;
}

static inline struct cache *open_cache_of(struct cache_config config) {
    why[0] = '\0';
    config.memory_file = memory_file_open(path, why);
    return config.memory_file != NULL ? cache_create(&config) : NULL;
}
static inline struct cache *open_cache(void) { return open_cache_of(file_config()); }

/* The sentence with which a cache of this configuration is refused; "" when it is not. */
static inline const char *refusal_of(const struct cache_config *config) {
    struct cache *c = open_cache_of(*config);
    if (c != NULL) {
        cache_destroy(&c);
        return "";
    }
    return why;
}
static inline const char *refusal(void) {
    struct cache_config config = file_config();
    return refusal_of(&config);
}

static inline size_t bytes_of(uint64_t n) { return n % 100 == 7 ? 3000 : n % 500 == 11 ? VALUE_MOST : 10 + n % 700; }

static inline bool store(struct cache_thread *ct, uint64_t n, uint64_t version) {
    fixture_value(value, bytes_of(n), n, version);
    return fixture_set(ct, n, value, bytes_of(n)) == CACHE_OK;
}

static inline void fill(struct cache_thread *ct) {
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < ITEMS; n++) {
        store(ct, n, 1);
    }
    cache_turn_end(ct);
}

/* What is wrong with a key's value: 0 nothing, 1 it is not there, 2 it is another. */
static inline int wrong(struct cache_thread *ct, uint64_t n, uint64_t version) {
    long bytes = fixture_get(ct, n, got);
    fixture_value(value, bytes_of(n), n, version);
    return bytes < 0 ? 1 : bytes == (long)bytes_of(n) && memcmp(got, value, (size_t)bytes) == 0 ? 0 : 2;
}

static inline void count_wrong(struct cache_thread *ct, unsigned counts[3]) {
    memset(counts, 0, 3 * sizeof *counts);
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < ITEMS; n++) {
        counts[wrong(ct, n, 1)]++;
    }
    cache_turn_end(ct);
}

static inline uint64_t cas_of(struct cache_thread *ct, uint64_t n) {
    struct key key = FIXTURE_KEY(n);
    struct cache_view v = {0};
    return cache_peek(ct, &key, &v) == CACHE_OK ? v.cas : 0;
}

static inline struct item *item_of(struct cache_thread *ct, uint64_t n) {
    struct key key = FIXTURE_KEY(n);
    struct cache *c = ct->cache;
    uint32_t ref = index_find(&partition_of(c, key.hash)->index, &key);
    return ref != 0 ? item_at(c, ref) : NULL;
}

/* Runs `life` on a cache in a child that is gone then, as if it had been killed. */
static inline void crash(void (*life)(struct cache_thread *)) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct cache *c = open_cache();
        struct cache_thread *ct = c != NULL ? cache_thread_create(c) : NULL;
        if (ct == NULL) {
            printf("# the child has no cache: %s\n", why);
            fflush(stdout);
            _exit(1);
        }
        life(ct);
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    ok(status == 0, "a process that crashes");
}

static inline void afresh(void) { unlink(path); }

struct life {
    struct cache        *c;
    struct cache_thread *ct;
};

static inline struct life begin_of(struct cache_config config) {
    struct life l = {.c = open_cache_of(config)};
    l.ct = l.c != NULL ? cache_thread_create(l.c) : NULL;
    if (l.ct == NULL) {
        ok(false, "a cache in the file: %s", why);
        exit(1);
    }
    return l;
}
static inline struct life begin(void) { return begin_of(file_config()); }
static inline void end(struct life *l) { fixture_end(&l->c, &l->ct); }

/* Wrong in a turn of its own. */
static inline int wrong_now(struct life *l, uint64_t n, uint64_t version) {
    cache_turn_begin(l->ct);
    int what = wrong(l->ct, n, version);
    cache_turn_end(l->ct);
    return what;
}

/* What is told twice: by sums, and by a walk. */
struct sums {
    uint64_t free_listed, free_seen, items_queued, items_told, items_seen, bytes_queued, bytes_told;
};

static inline struct sums sums_of(struct life *l) {
    struct sums sums = {0};
    struct slab *slab = l->c->slab;
    for (uint32_t page = 0; page < arena_page_end(l->c->arena); page++) {
        const struct item *it;
        for (uint32_t i = 0; slab_page_class(slab, page) != 0 && (it = slab_page_chunk(slab, page, i)) != NULL; i++) {
            sums.free_seen += item_state(it) == CHUNK_FREE;
            sums.items_seen += item_state(it) == CHUNK_LINKED && item_key_len(it) != 0;
        }
    }
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        sums.free_listed += slab->classes[i].free_count;
    }
    for (unsigned i = 0; i < l->c->partition_count; i++) {
        for (unsigned k = 0; k < SLAB_CLASSES_MAX; k++) {
            const struct shelf *s = l->c->partitions[i].shelves[k];
            sums.items_queued += s != NULL ? evict_count(&s->queue) : 0;
            sums.bytes_queued += s != NULL ? s->requested_bytes : 0;
            sums.free_listed += s != NULL ? s->stock_count : 0;
        }
    }
    struct cache_facts f;
    cache_facts(l->c, &f);
    sums.items_told = f.items;
    sums.bytes_told = f.bytes;
    return sums;
}

static inline bool sums_agree(struct life *l) {
    struct sums s = sums_of(l);
    return s.free_listed == s.free_seen && s.items_queued == s.items_told && s.items_seen == s.items_told &&
           s.bytes_queued == s.bytes_told;
}

/* Chunks are free, or hold an item or a piece: sums of classes say the same as a walk. */
static inline void accounts(struct life *l, const char *when) {
    struct sums s = sums_of(l);
    is(s.free_listed, s.free_seen, "%s: every free chunk is on a list", when);
    is(s.items_queued, s.items_told, "%s: each item is in a queue", when);
    is(s.items_seen, s.items_told, "%s: … and in a chunk", when);
    is(s.bytes_queued, s.bytes_told, "%s: the sums of bytes agree", when);
}

static inline void comes_back(const char *after) {
    unsigned counts[3];
    struct life l = begin();
    is(cache_adopted(l.c)->torn + cache_adopted(l.c)->torn_pages, 0, "%s: nothing is torn", after);
    accounts(&l, after);
    count_wrong(l.ct, counts);
    is(counts[0], ITEMS, "%s: all items come back, of every size", after);
    fill(l.ct);
    accounts(&l, "when all were stored again");
    end(&l);
}

static inline void set_word(size_t at, uint32_t v) {
    uint64_t word = kept_made(v);
    int fd = open(path, O_RDWR);
    ok(pwrite(fd, &word, sizeof word, (off_t)at) == sizeof word, "a word of the head is changed");
    close(fd);
}
static inline uint32_t word_at(size_t at) {
    uint64_t word = 0;
    int fd = open(path, O_RDWR);
    ok(pread(fd, &word, sizeof word, (off_t)at) == sizeof word && kept_is_whole(word), "a word of the head is read");
    close(fd);
    return (uint32_t)word;
}

/* Names the file. */
static inline void memory_file_fixture_begin(const char *suite) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/slate-%s-%ld", folder != NULL ? folder : "/dev/shm", suite, (long)getpid());
    clock_start();
}
#endif
