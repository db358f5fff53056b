/* A cache in a memory file. A crash is a child process that exits at a point that the test chooses. The child damages its own memory to
 * leave work half done. */
#ifndef SLATE_MEMORY_FILE_FIXTURE_H
#define SLATE_MEMORY_FILE_FIXTURE_H
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache/items/item_value.h"
#include "cache/persist/file_state.h"
#include "accounts.h"

/* The largest values are chains of more than two pieces. */
enum { ITEMS = 1000, LIMIT_MB = 16, CHUNK_MOST = 64 << 10, VALUE_MOST = 150 * 1000 };

static char path[256];
static char why[CACHE_WHY_BYTES];
static char value[VALUE_MOST + 8], got[VALUE_MOST + 8];
static const struct evict_policy *policy = &evict_lru;

static inline struct cache_config file_config(void) {
    struct cache_config config = fixture_config((size_t)LIMIT_MB << 20);
    config.slab.chunk_bytes_max = CHUNK_MOST;
    config.why = why;
    config.policy = policy;
    return config;
}

static inline struct cache *open_cache_of(struct cache_config config) {
    why[0] = '\0';
    config.memory_file = memory_file_open(path, why);
    return config.memory_file != NULL ? cache_create(&config) : NULL;
}

/* The sentence with which a cache of this configuration is refused; "" when it is accepted. */
static inline const char *refusal_of(struct cache_config config) {
    struct cache *c = open_cache_of(config);
    bool refused = c == NULL;
    cache_destroy(&c);
    return refused ? why : "";
}
static inline const char *refusal(void) { return refusal_of(file_config()); }

static inline size_t bytes_of(uint64_t n) { return n % 100 == 7 ? 3000 : n % 250 == 11 ? VALUE_MOST : 10 + n % 700; }

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

/* The fault of a key's value: 0 none, 1 the key is missing, 2 another value. */
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

/* Runs `life` on a cache in a child, which then ends as if killed. */
static inline void crash(void (*life)(struct cache_thread *)) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct cache *c = open_cache_of(file_config());
        struct cache_thread *ct = c != NULL ? cache_thread_create(c) : NULL;
        if (ct != NULL) {
            life(ct);
        }
        _exit(ct == NULL);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0) {
        ok(false, "a process lives until it crashes");
    }
}

/* The same, in a new file. */
static inline void crash_afresh(void (*life)(struct cache_thread *)) {
    unlink(path);
    crash(life);
}

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

/* wrong() in a turn of its own. */
static inline int wrong_now(struct life *l, uint64_t n, uint64_t version) {
    cache_turn_begin(l->ct);
    int what = wrong(l->ct, n, version);
    cache_turn_end(l->ct);
    return what;
}

static inline void accounts(struct life *l, const char *when) { ok(accounts_agree(l->c), "%s all chunks, items and bytes are accounted for", when); }

static inline void all_are_there(struct life *l, const char *when) {
    unsigned counts[3];
    count_wrong(l->ct, counts);
    is(counts[0], ITEMS, "%s all items are there, of every size", when);
}

static inline void comes_back(const char *after) {
    struct life l = begin();
    is(cache_recovered(l.c)->torn + cache_recovered(l.c)->torn_pages, 0, "%s nothing is torn", after);
    accounts(&l, after);
    all_are_there(&l, after);
    fill(l.ct);
    accounts(&l, "when all were stored again");
    end(&l);
}

static inline uint64_t word_of_file(size_t at, const uint64_t *set) {
    uint64_t word = set != NULL ? *set : 0;
    int fd = open(path, O_RDWR);
    ssize_t bytes = set != NULL ? pwrite(fd, &word, sizeof word, (off_t)at) : pread(fd, &word, sizeof word, (off_t)at);
    if (bytes != sizeof word) {
        ok(false, "a word of the file is read or changed");
    }
    close(fd);
    return word;
}
static inline void set_word(size_t at, uint32_t v) {
    word_of_file(at, &(uint64_t){ordered_encode(v)});
}
static inline uint32_t word_at(size_t at) { return (uint32_t)word_of_file(at, NULL); }

/* Flips a bit of a byte; a second call restores the byte. */
static inline void flip(size_t at, unsigned bit) {
    uint64_t word = word_of_file(at & ~(size_t)7, NULL);
    ((unsigned char *)&word)[at & 7] ^= (unsigned char)(1u << bit);
    word_of_file(at & ~(size_t)7, &word);
}

/* Names the file. */
static inline void memory_file_fixture_begin(const char *suite) {
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/slate-%s-%ld", folder != NULL ? folder : "/dev/shm", suite, (long)getpid());
    clock_start();
}
#endif
