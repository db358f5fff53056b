/* Takes up a memory file's items in three passes, each by all processors:
 *
 *   look   page by page: finds the chunks that hold whole items, and puts each into the bin of its
 *          partition
 *   link   partition by partition: puts the items of its bins into index and queues, by their times
 *   free   page by page: frees the chunks that nobody claimed
 *
 * What was found takes memory until it is linked. If the process may not have that much, look and
 * link come in rounds, each for some of the partitions; if even one partition takes too much, fewer
 * threads work.
 *
 * The order in which stores write makes an item whole (mem/ordered_store.h). A chunk is LINKED from
 * the last store of its publishing to the first store of its end; while an item is overwritten in
 * place, its chunk is a draft. A piece of a chained value counts only if a whole chain leads to it.
 *
 * One key may have two items: a new one, or a copy for a page that moves, had been published, and
 * the old one was not yet freed. Nobody had heard of the new one then, so either will do: the one
 * with the higher CAS stays.
 *
 * A crash on the way changes nothing, except that fewer chunks are left to be freed. */
#include "cache/persist/recover.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/rss.h"
#include "cache/alloc/magazine.h"
#include "cache/items/item_value.h"
#include "cache/persist/chunk_owner.h"
#include "cache/persist/file_state.h"
#include "cache/persist/recover_buckets.h"

enum {
    THREADS_MOST = 16,
    PROGRESS_US = 1000 * 1000, /* between two lines of the log */
    AHEAD = 12, /* so many items are prefetched ahead of the one that is looked at */
};

struct tally {
    uint64_t items, dead, torn, drafts, left_out;
};

struct adoption {
    struct cache      *c;
    struct item_clock  clock;
    uint32_t           now_s;
    struct load_result      recall;
    struct claims      claims;
    struct bins        bins;
    /* the partitions of this round: `count` of them from `first` on. With one round, all of them */
    unsigned           first, count;
    _Atomic uint32_t   next_look, next_link, next_free;
    _Atomic uint64_t   linked;
    _Atomic bool       no_memory;
    unsigned           thread_count;
    struct adopter    *threads;
    /* by class: the policy to whose lists the items' marks refer */
    const struct evict_policy *policies[SLAB_CLASSES_MAX];
    uint64_t           start_us, said_us;
};
struct adopter {
    struct adoption *a;
    struct tally     n;
    uint32_t         youngest; /* the largest age of a live item */
    pthread_t        thread;
    bool             started;
    unsigned         number;
    void           (*pass)(struct adopter *);
};

/* Takes the next number for this thread. False: there is none below `end`. */
static bool adoption_next(_Atomic uint32_t *next, uint32_t end, uint32_t *i) {
    *i = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    return *i < end;
}
static bool adoption_fails(const struct adoption *a) {
    return atomic_load_explicit(&a->no_memory, memory_order_relaxed);
}
static void adoption_fail(struct adoption *a) {
    atomic_store_explicit(&a->no_memory, true, memory_order_relaxed);
}

/* Only the first thread, which waits for the others at the end, logs how far the pass is. */
static void adoption_say_progress(struct adopter *t, const char *what, uint32_t done,
                                  uint32_t all) {
    struct adoption *a = t->a;
    uint64_t now_us = clock_mono_us();
    if (t->number == 0 && now_us - a->said_us >= PROGRESS_US) {
        a->said_us = now_us;
        log_info("%s: %s %u of %u, %llu items so far", a->c->arena->file->path, what, done, all,
                 (unsigned long long)atomic_load_explicit(&a->linked, memory_order_relaxed));
    }
}

/* --- look: chunks that hold whole items go into bins --- */

static bool item_is_whole(struct adoption *a, struct item *it, uint32_t chunk_bytes) {
    uint8_t flags = item_flags(it), key_len = item_key_len(it);
    return key_len <= KEY_BYTES_MAX &&
           item_total_bytes(flags, key_len, item_value_bytes(it)) <= chunk_bytes &&
           claim_item(&a->claims, it);
}

static void look_at_item(struct adopter *t, struct item *it, uint32_t chunk_bytes) {
    struct adoption *a = t->a;
    struct found f = {.hash = item_hash(&it->node), /* of a torn item any hash */
                      .ref = ref_of_item(a->c, it),
                      .age = item_time_s(it) - a->clock.flushed};
    unsigned partition = (unsigned)(partition_of(a->c, f.hash) - a->c->partitions) - a->first;
    if (partition >= a->count) { /* of another round */
        return;
    }
    if (item_flushed_by(it, a->clock) || cache_item_expired(it, a->now_s)) {
        t->n.dead++;
    } else if (!item_is_whole(a, it, chunk_bytes)) {
        t->n.torn++;
    } else if (!bins_put(&a->bins, t->number, partition, &f)) {
        adoption_fail(a);
    } else if (f.age > t->youngest) {
        t->youngest = f.age;
    }
}

static void look_at_page(struct adopter *t, uint32_t page) {
    const struct cache *c = t->a->c;
    uint32_t chunk_bytes = slab_page(c->slab, page)->chunk_bytes, count = PAGE_BYTES / chunk_bytes;
    for (uint32_t i = 0; i < count; i++) {
        char *chunk = arena_page_start(c->arena, page) + (size_t)i * chunk_bytes;
        struct item *it = (struct item *)(void *)chunk;
        prefetch(chunk + (i + AHEAD < count ? AHEAD * (size_t)chunk_bytes : 0));
        if (item_state(it) == CHUNK_LINKED && item_key_len(it) != 0) {
            look_at_item(t, it, chunk_bytes);
        }
    }
}

static void adopt_look(struct adopter *t) {
    struct adoption *a = t->a;
    uint32_t i;
    while (!adoption_fails(a) && adoption_next(&a->next_look, a->recall.pages, &i)) {
        look_at_page(t, a->recall.list[i]);
        failpoint_reach("page_looked_at");
        adoption_say_progress(t, "looking at page", i, a->recall.pages);
    }
}

/* --- link: the items of a partition, the oldest first, go into index and queues --- */

static void unlink_twin(struct adopter *t, struct partition *p, uint64_t hash, struct item *it) {
    struct cache *c = t->a->c;
    struct shelf *shelf = p->shelves[cache_item_class(c, it)];
    uint64_t bytes = cache_item_requested_bytes(c, it);
    index_remove(&p->index, hash, ref_of_item(c, it));
    evict_remove(&shelf->queue, &it->node);
    shelf->requested_bytes -= bytes;
    p->bytes -= bytes;
    t->n.items--;
    unclaim_item(&t->a->claims, it);
}

/* Whether the item is to be linked: its key has no other item, or has one with a lower CAS, which
 * is unlinked. */
static bool settle_twins(struct adopter *t, struct partition *p, const struct key *key,
                         struct item *it) {
    uint32_t ref = index_find(&p->index, key);
    if (ref == 0) {
        return true;
    }
    struct item *twin = item_at(t->a->c, ref);
    bool stays = item_cas(twin) >= item_cas(it);
    if (stays) {
        unclaim_item(&t->a->claims, it);
    } else {
        unlink_twin(t, p, key->hash, twin);
    }
    return !stays;
}

static void link_item(struct adopter *t, struct partition *p, const struct found *f) {
    struct adoption *a = t->a;
    struct cache *c = a->c;
    struct item *it = item_at(c, f->ref);
    size_t key_at = item_key_offset(item_flags(it), item_value_bytes(it));
    struct key key = {.ptr = (const char *)it + key_at,
                      .hash = f->hash,
                      .len = item_key_len(it)};
    if (!settle_twins(t, p, &key, it)) {
        return;
    }
    unsigned class_id = cache_item_class(c, it);
    struct shelf *shelf = shelf_of_locked(c, p, class_id);
    if (shelf == NULL || !index_insert(&p->index, f->hash, f->ref)) {
        t->n.left_out++;
        unclaim_item(&a->claims, it);
        return;
    }
    if (item_large(it)) {
        /* the count that the link holds */
        atomic_store_explicit(item_refs(it), 1, memory_order_relaxed);
    }
    uint64_t bytes = cache_item_requested_bytes(c, it);
    shelf->requested_bytes += bytes;
    p->bytes += bytes;
    shelf->queue.flushed_s = a->clock.flushed;
    evict_restore(&shelf->queue, &it->node, a->policies[class_id], a->now_s + a->clock.ahead_s);
    t->n.items++;
    failpoint_reach("item_adopted");
}

static void link_partition(struct adopter *t, unsigned number) {
    struct adoption *a = t->a;
    struct partition *p = &a->c->partitions[a->first + number];
    uint32_t count;
    struct found *memory;
    const struct found *found = bins_gather(&a->bins, number, &count, &memory);
    if (found == NULL) {
        adoption_fail(a);
        return;
    }
    lock_take(&p->lock);
    index_expect(&p->index, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            prefetch_to_write(item_at(a->c, found[i + AHEAD].ref));
            index_prefetch(&p->index, found[i + AHEAD].hash);
        }
        link_item(t, p, &found[i]);
    }
    lock_release(&p->lock);
    atomic_fetch_add_explicit(&a->linked, count, memory_order_relaxed);
    free(memory);
}

static void adopt_link(struct adopter *t) {
    struct adoption *a = t->a;
    uint32_t i;
    while (!adoption_fails(a) && adoption_next(&a->next_link, a->count, &i)) {
        link_partition(t, i);
        adoption_say_progress(t, "linking partition", a->first + i, a->c->partition_count);
    }
}

/* --- free: chunks that no item has claimed --- */

static void free_in_page(struct adopter *t, uint32_t page) {
    struct cache *c = t->a->c;
    uint32_t free_head = 0, free_count = 0;
    for (uint32_t chunk = slab_page(c->slab, page)->chunk_count; chunk-- > 0;) {
        if (claim_is(&t->a->claims, page, chunk)) {
            continue;
        }
        struct item *it = slab_page_chunk(c->slab, page, chunk);
        t->n.drafts += item_state(it) == CHUNK_FILLING && item_key_len(it) != 0;
        item_set_flags(it, CHUNK_FREE);
        node_set_next(&it->node, free_head);
        free_head = ref_of_item(c, it);
        free_count++;
        failpoint_reach("chunk_freed");
    }
    load_free_chunks(c->slab, page, free_head, free_count);
}

static void adopt_free(struct adopter *t) {
    struct adoption *a = t->a;
    uint32_t i;
    while (adoption_next(&a->next_free, a->recall.pages, &i)) {
        free_in_page(t, a->recall.list[i]);
    }
}

/* --- the passes --- */

static void *adopter_main(void *arg) {
    struct adopter *t = arg;
    t->pass(t);
    return NULL;
}

/* The calling thread is the first of the workers, and does all the work if no other can be
 * started. */
static void run_pass(struct adoption *a, void (*pass)(struct adopter *)) {
    for (unsigned i = a->thread_count; i-- > 0;) {
        struct adopter *t = &a->threads[i];
        t->pass = pass;
        t->started = i > 0 && pthread_create(&t->thread, NULL, adopter_main, t) == 0;
    }
    pass(&a->threads[0]);
    for (unsigned i = 1; i < a->thread_count; i++) {
        if (a->threads[i].started) {
            pthread_join(a->threads[i].thread, NULL);
        }
    }
}

/* --- as much memory as there is --- */

/* Bytes that the process may still take, beyond what it has now, the file's pages, and an index of
 * all items that may be in them. UINT64_MAX: no bound. */
static uint64_t room_bytes(const struct adoption *a) {
    const struct cache *c = a->c;
    struct rss r;
    struct rss_reading now;
    if (c->config.process_bytes == 0) {
        return UINT64_MAX;
    }
    rss_open(&r, NULL, NULL);
    rss_read(&r, &now);
    rss_close(&r);
    uint64_t needed = now.bytes + ((uint64_t)a->recall.pages << PAGE_SHIFT) +
                      claims_bytes(c, a->claims.count) +
                      a->claims.count * (uint64_t)c->partitions[0].index.kind->item_bytes_most;
    return c->config.process_bytes > needed ? c->config.process_bytes - needed : 0;
}

/* Chooses how many partitions a round has, and how many threads work. */
static void choose_rounds(struct adoption *a) {
    int processors = get_nprocs();
    unsigned partitions = a->c->partition_count;
    uint64_t room = room_bytes(a), items = a->claims.count;
    a->thread_count = processors < 1              ? 1
                      : processors > THREADS_MOST ? THREADS_MOST
                                                  : (unsigned)processors;
    a->count = partitions;
    while (a->count > 1 &&
           bins_bytes(a->thread_count, a->count, items / partitions * a->count) > room) {
        a->count /= 2;
    }
    while (a->thread_count > 1 &&
           bins_bytes(a->thread_count, a->count, items / partitions * a->count) > room) {
        a->thread_count /= 2;
    }
}

/* --- all of it --- */

static bool adoption_begin(struct adoption *a) {
    struct cache *c = a->c;
    if (!claims_init(&a->claims, c, &a->recall)) {
        return false;
    }
    choose_rounds(a);
    a->threads = calloc(a->thread_count, sizeof *a->threads);
    for (unsigned i = 0; a->threads != NULL && i < a->thread_count; i++) {
        a->threads[i] = (struct adopter){.a = a, .number = i};
    }
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        a->policies[i] = keep_policy_of(c, i);
    }
    return a->threads != NULL && bins_init(&a->bins, a->thread_count, a->count);
}

/* Both counts of partitions are powers of two, so the rounds come out even. */
static bool run_rounds(struct adoption *a) {
    for (; !adoption_fails(a) && a->first < a->c->partition_count; a->first += a->count) {
        a->next_look = a->next_link = 0;
        run_pass(a, adopt_look);
        run_pass(a, adopt_link);
    }
    return !adoption_fails(a);
}

/* Sets the items' clock forward where an item is younger than it: the process that stored the item
 * had come to a second that the memory file was not told, and the calendar has been set back. A
 * flush would leave such items. The file is told each second, so a time beyond a minute is not
 * believed. */
static void adoption_catch_up(struct adoption *a) {
    enum { LATE_MOST_S = 60 };
    uint32_t youngest = 0, now = a->now_s + a->clock.ahead_s - a->clock.flushed;
    for (unsigned i = 0; i < a->thread_count; i++) {
        youngest = a->threads[i].youngest > youngest ? a->threads[i].youngest : youngest;
    }
    int32_t late_s = (int32_t)(youngest - now);
    if (late_s > 0 && late_s <= LATE_MOST_S) {
        a->clock.ahead_s += (uint32_t)late_s;
        atomic_store_explicit(&a->c->item_clock,
                              (uint64_t)a->clock.ahead_s << 32 | a->clock.flushed,
                              memory_order_relaxed);
        keep_flush(a->c);
    }
}

static void note(struct adoption *a) {
    struct cache_adopted *n = &a->c->adopted;
    for (unsigned i = 0; i < a->thread_count; i++) {
        const struct tally *t = &a->threads[i].n;
        n->items += t->items;
        n->expired += t->dead;
        n->torn += t->torn + t->drafts;
        n->left_out += t->left_out;
    }
    n->pages = a->recall.pages;
    n->torn_pages = a->recall.torn_pages;
    n->rounds = a->c->partition_count / a->count;
    n->us = clock_mono_us() - a->start_us;
    log_info("%s: %llu items in %u pages adopted in %.2f s; %llu were torn, %llu had ended, %u "
             "pages were torn",
             a->c->arena->file->path, (unsigned long long)n->items, n->pages, (double)n->us / 1e6,
             (unsigned long long)n->torn, (unsigned long long)n->expired, n->torn_pages);
}

bool adopt_items(struct cache *c) {
    struct adoption a = {.c = c,
                         .clock = cache_item_clock(c),
                         .now_s = clock_now_s(),
                         .start_us = clock_mono_us()};
    a.said_us = a.start_us;
    bool ok = load_pages(c->slab, &a.recall) && adoption_begin(&a) && run_rounds(&a);
    if (ok) {
        run_pass(&a, adopt_free);
        adoption_catch_up(&a);
        note(&a);
    }
    bins_fini(&a.bins);
    claims_fini(&a.claims);
    free(a.threads);
    free(a.recall.list);
    return ok;
}
