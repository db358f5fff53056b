/* The locks that an operation takes, and the cache lines shared with other threads that it writes.
 *
 * The memory that threads have in common is write-protected while an operation runs. Each write faults, is noted by its address, and is let
 * through by one step of the processor; so no write is missed, not even one of an equal value. Locks are counted at pthread_mutex_lock, and
 * their lines with all others. */
#include "cache/cache.h"

#include "cache_fixture.h"
#include "own_clock.h" /* otherwise ages would be published while a slow machine measures */
#include "tap.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "cache/partition.h"

enum {
    LIMIT_BYTES = 8 << 20,
    ITEMS = 20000,     /* before the cache is full */
    VALUE_BYTES = 32,
    ROUNDS = 60,       /* repeats of each operation */
    LINE_BYTES = 64,
    OS_PAGE_BYTES = 4096,
    TRAP_FLAG = 0x100, /* a processor flag: a trap after the next instruction */
    RANGES_MAX = 600,
    OPEN_MAX = 4,      /* pages that one instruction may write to */
    LINES_MAX = 256,   /* the most lines that one operation may write to */
};

/* The threads that may write to a range. */
enum owner { OF_ITSELF, OF_ALL, OF_A_CLASS, OF_A_PARTITION, OWNERS };

struct range {
    uintptr_t  begin, end;
    enum owner owner;
};

static struct range ranges[RANGES_MAX];
static unsigned range_count;
static uintptr_t open_pages[OPEN_MAX], lines[LINES_MAX];
static volatile unsigned open_count, line_count, lock_count;

int pthread_mutex_lock(pthread_mutex_t *m) {
    static int (*real)(pthread_mutex_t *);
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    }
    lock_count++;
    return real(m);
}

static void protect(uintptr_t page, int how) { mprotect((void *)page, OS_PAGE_BYTES, how); }

static void note_write(int signal, siginfo_t *info, void *context) {
    (void)signal;
    ucontext_t *c = context;
    uintptr_t at = (uintptr_t)info->si_addr, line = at & ~(uintptr_t)(LINE_BYTES - 1);
    if (open_count == OPEN_MAX) {
        _exit(70); /* a fault of the test's own */
    }
    bool known = false;
    for (unsigned i = 0; i < line_count; i++) {
        known = known || lines[i] == line;
    }
    if (!known && line_count < LINES_MAX) {
        lines[line_count++] = line;
    }
    open_pages[open_count++] = at & ~(uintptr_t)(OS_PAGE_BYTES - 1);
    protect(open_pages[open_count - 1], PROT_READ | PROT_WRITE);
    c->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void close_again(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    ucontext_t *c = context;
    while (open_count > 0) {
        protect(open_pages[--open_count], PROT_READ);
    }
    c->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
}

static void add_range(const void *begin, size_t bytes, enum owner owner) {
    ranges[range_count++] = (struct range){(uintptr_t)begin, (uintptr_t)begin + bytes, owner};
}

static void protect_all(int how) {
    for (unsigned i = 0; i < range_count; i++) {
        uintptr_t begin = ranges[i].begin & ~(uintptr_t)(OS_PAGE_BYTES - 1);
        mprotect((void *)begin, ranges[i].end - begin, how);
    }
}

/* The lines that ROUNDS operations wrote, and the locks that they took. */
struct shared {
    unsigned locks, written[OWNERS];
};

static void add_lines(struct shared *s) {
    for (unsigned i = 0; i < line_count; i++) {
        for (unsigned j = 0; j < range_count; j++) {
            if (lines[i] + LINE_BYTES > ranges[j].begin && lines[i] < ranges[j].end) {
                s->written[ranges[j].owner]++;
                break;
            }
        }
    }
}

/* --- a full cache, its memory, and the operations --- */

static char out[VALUE_BYTES + 8], value[VALUE_BYTES];
static uint64_t next_key;

/* A line that lies in several ranges belongs to the first. */
static void find_ranges(struct cache *c, const struct cache_thread *ct) {
    range_count = 0;
    add_range(ct->turn, sizeof *ct->turn, OF_ITSELF);
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        add_range(&c->slab->classes[i], sizeof c->slab->classes[i], OF_A_CLASS);
    }
    for (unsigned i = 0; i < c->partition_count; i++) {
        add_range(&c->partitions[i], sizeof c->partitions[i], OF_A_PARTITION);
        for (unsigned j = 0; j < SLAB_CLASSES_MAX; j++) {
            if (c->partitions[i].class_queues[j] != NULL) {
                add_range(c->partitions[i].class_queues[j], sizeof *c->partitions[i].class_queues[j], OF_A_PARTITION);
            }
        }
    }
    add_range(c->index_pool.base, atomic_load(&c->index_pool.used), OF_A_PARTITION);
    add_range(c->arena->table, c->arena->page_max * sizeof *c->arena->table, OF_A_CLASS);
    add_range(c, sizeof *c, OF_ALL);
    add_range(c->slab, sizeof *c->slab, OF_ALL);
    add_range(c->arena, sizeof *c->arena, OF_ALL);
}

static void get_hit(struct cache_thread *ct) { fixture_get(ct, next_key - 1 - next_key % 100, out); }
static void get_miss(struct cache_thread *ct) { fixture_get(ct, UINT32_MAX + next_key++, out); }
static void set_again(struct cache_thread *ct) { fixture_set(ct, next_key - 1 - next_key % 100, value, sizeof value); }
static void set_new(struct cache_thread *ct) { fixture_set(ct, next_key++, value, sizeof value); }

static double each(unsigned sum) { return (double)sum / ROUNDS; }

/* Runs within a turn. */
static void fill_to(struct cache_thread *ct, uint64_t key) {
    cache_turn_begin(ct);
    while (next_key < key) {
        fixture_set(ct, next_key++, value, sizeof value);
    }
    cache_turn_end(ct);
}

/* Threads count in their own blocks, which no range covers. A turn's begin and end are included, as with one request. */
static struct shared measure(struct cache *c, struct cache_thread *ct, const char *name, void (*operation)(struct cache_thread *)) {
    struct shared s = {.locks = 0};
    for (unsigned i = 0; i < 10; i++) { /* class queues are made, magazines are filled */
        cache_turn_begin(ct);
        operation(ct);
        cache_turn_end(ct);
    }
    find_ranges(c, ct);
    for (unsigned i = 0; i < ROUNDS; i++) {
        line_count = lock_count = 0;
        protect_all(PROT_READ);
        cache_turn_begin(ct);
        operation(ct);
        cache_turn_end(ct);
        protect_all(PROT_READ | PROT_WRITE);
        s.locks += lock_count;
        add_lines(&s);
    }
    printf("# %-34s %5.2f locks, lines written: %5.2f of all threads, %5.2f of a class, %5.2f of a partition\n",
           name, each(s.locks), each(s.written[OF_ALL]), each(s.written[OF_A_CLASS]), each(s.written[OF_A_PARTITION]));
    return s;
}

static bool writes_nothing(const struct shared *s) {
    return s->written[OF_ALL] + s->written[OF_A_CLASS] + s->written[OF_A_PARTITION] == 0;
}

static void test_policy(const struct evict_policy *policy) {
    struct cache_config cfg = fixture_config(LIMIT_BYTES);
    cfg.policy = policy;
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c), *other = cache_thread_create(c);
    const char *name = policy->name, *kind = cache_index_name(c);
    ok((uintptr_t)ct->turn % LINE_BYTES == 0 && sizeof *ct->turn == LINE_BYTES, "a thread's turn has a line of its own");
    next_key = 1;
    fill_to(ct, ITEMS);
    printf("# %s, %s\n", kind, name);
    struct shared hit = measure(c, ct, "a get that hits", get_hit);
    struct shared miss = measure(c, ct, "a get that misses", get_miss);
    struct shared again = measure(c, ct, "a set of a key that is there", set_again);
    struct shared grows = measure(c, ct, "a set of another key", set_new);
    fill_to(ct, 10 * ITEMS);
    struct shared full = measure(c, ct, "a set of another key that evicts", set_new);
    ok(hit.locks == 0 || policy->hit != NULL, "%s, %s: a get takes no lock unless hits change the order", kind, name);
    ok(writes_nothing(&hit) || policy->hit != NULL, "and writes to no line that threads share but its item's");
    ok(miss.locks == 0 && writes_nothing(&miss), "a miss takes no lock and writes to no line that threads share");
    ok(again.written[OF_A_PARTITION] >= ROUNDS && grows.written[OF_A_CLASS] > 0,
       "such writes are seen: each set writes to its partition's lines, some to their class's");
    ok(again.locks == ROUNDS && again.written[OF_ALL] == 0 && again.written[OF_A_CLASS] == 0,
       "a set of a key that is there takes its partition's lock, and writes to no line of all threads or of a class");
    ok(each(grows.written[OF_ALL]) <= 0.05 && each(full.written[OF_ALL]) <= 0.05,
       "a set of another key writes to no line of all threads, but for a page or an age now and then");
    ok(each(grows.locks) <= 1.5 && each(grows.written[OF_A_CLASS]) <= 1 && each(full.locks) <= 1.5 && each(full.written[OF_A_CLASS]) <= 1,
       "to its class's lines seldom, for several chunks at a time, also when it evicts");
    cache_thread_destroy(&other);
    fixture_end(&c, &ct);
}

int main(void) {
    struct sigaction fault = {.sa_sigaction = note_write, .sa_flags = SA_SIGINFO},
                     trap = {.sa_sigaction = close_again, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGTRAP, &trap, NULL);
    clock_start();
    for (unsigned i = 0; index_kinds[i] != NULL; i++) {
        fixture_index = index_kinds[i];
        test_policy(&evict_s3fifo);
    }
    fixture_index = NULL;
    test_policy(&evict_slru);
    test_policy(&evict_lru);
    return tap_done();
}
#else
int main(void) {
    tap_skip("needs an x86-64 build without sanitizers, to step through writes");
    return tap_done();
}
#endif
