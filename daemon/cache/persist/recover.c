/* Recovers a memory file's items in three passes, each with all processors:
 *
 *   scan   page by page: finds complete items, and puts each into the bucket of its partition
 *   link   partition by partition: inserts the items of its buckets into index and queues, by time
 *   free   page by page: frees the chunks that no item has claimed
 *
 * Found items take memory until they are linked. If the process may not have that much, scan and
 * link run in rounds, each for some of the partitions; if even one partition takes too much, fewer
 * threads work.
 *
 * The order of a store's writes shows if an item is complete (mem/ordered_store.h). A chunk is
 * LINKED from the last write of its publishing to the first write of its end; while an item is
 * overwritten in place, its chunk is FILLING. A piece of a chained value counts only in a complete
 * chain.
 *
 * One key may have two items: the crash came after a new item, or a copy for a page on the move,
 * was published, and before the old item was freed. No client had a reply about the new item yet,
 * so either is right: the item with the higher CAS stays.
 *
 * A crash during recovery changes nothing, except that fewer chunks are left to be freed. */
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
    AHEAD = 12, /* items prefetched ahead */
};

struct recovery_counts {
    uint64_t items, dead, torn, unfinished, left_out;
};

struct recovery {
    struct cache      *c;
    struct item_clock  clock;
    uint32_t           now_s;
    struct load_result      recall;
    struct chunk_owners owners;
    struct recover_buckets buckets;
    /* the partitions of this round: `count` from `first` on; with one round, all of them */
    unsigned           first, count;
    _Atomic uint32_t   next_scan, next_link, next_free;
    _Atomic uint64_t   linked;
    _Atomic bool       no_memory;
    unsigned           thread_count;
    struct recovery_thread    *threads;
    /* for each class, the policy to whose lists the items' marks refer */
    const struct evict_policy *policies[SLAB_CLASSES_MAX];
    uint64_t           start_us, logged_us;
};
struct recovery_thread {
    struct recovery *a;
    struct recovery_counts     n;
    uint32_t         youngest; /* the largest age of a live item */
    pthread_t        thread;
    bool             started;
    unsigned         number;
    void           (*pass)(struct recovery_thread *);
};

/* Takes the next number below `end`. False: none is left. */
static bool recover_next(_Atomic uint32_t *next, uint32_t end, uint32_t *i) {
    *i = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    return *i < end;
}
static bool recover_has_failed(const struct recovery *a) {
    return atomic_load_explicit(&a->no_memory, memory_order_relaxed);
}
static void recover_fail(struct recovery *a) {
    atomic_store_explicit(&a->no_memory, true, memory_order_relaxed);
}

/* Logs the progress of a pass; only the first thread does, which waits for the others at the
 * end. */
static void recover_log_progress(struct recovery_thread *t, const char *what, uint32_t done,
                                 uint32_t all) {
    struct recovery *a = t->a;
    uint64_t now_us = clock_mono_us();
    if (t->number == 0 && now_us - a->logged_us >= PROGRESS_US) {
        a->logged_us = now_us;
        log_info("%s: %s %u of %u, %llu items so far", a->c->arena->file->path, what, done, all,
                 (unsigned long long)atomic_load_explicit(&a->linked, memory_order_relaxed));
    }
}

/* --- scan: chunks with complete items go into buckets --- */

static bool recover_item_is_complete(struct recovery *a, struct item *it, uint32_t chunk_bytes) {
    uint8_t flags = item_flags(it), key_len = item_key_len(it);
    return key_len <= KEY_BYTES_MAX &&
           item_total_bytes(flags, key_len, item_value_bytes(it)) <= chunk_bytes &&
           chunk_owner_claim_item(&a->owners, it);
}

static void recover_scan_item(struct recovery_thread *t, struct item *it, uint32_t chunk_bytes) {
    struct recovery *a = t->a;
    struct found f = {.hash = item_hash(&it->node), /* random if the item is torn */
                      .ref = ref_of_item(a->c, it),
                      .age = item_time_s(it) - a->clock.flushed_s};
    unsigned partition = (unsigned)(partition_of(a->c, f.hash) - a->c->partitions) - a->first;
    if (partition >= a->count) { /* another round's */
        return;
    }
    if (item_flushed_by(it, a->clock) || cache_item_expired(it, a->now_s)) {
        t->n.dead++;
    } else if (!recover_item_is_complete(a, it, chunk_bytes)) {
        t->n.torn++;
    } else if (!recover_buckets_put(&a->buckets, t->number, partition, &f)) {
        recover_fail(a);
    } else if (f.age > t->youngest) {
        t->youngest = f.age;
    }
}

static void recover_scan_page(struct recovery_thread *t, uint32_t page) {
    const struct cache *c = t->a->c;
    uint32_t chunk_bytes = slab_page(c->slab, page)->chunk_bytes, count = PAGE_BYTES / chunk_bytes;
    for (uint32_t i = 0; i < count; i++) {
        char *chunk = arena_page_start(c->arena, page) + (size_t)i * chunk_bytes;
        struct item *it = (struct item *)(void *)chunk;
        prefetch(chunk + (i + AHEAD < count ? AHEAD * (size_t)chunk_bytes : 0));
        if (item_state(it) == CHUNK_LINKED && item_key_len(it) != 0) {
            recover_scan_item(t, it, chunk_bytes);
        }
    }
}

static void recover_scan(struct recovery_thread *t) {
    struct recovery *a = t->a;
    uint32_t i;
    while (!recover_has_failed(a) && recover_next(&a->next_scan, a->recall.pages, &i)) {
        recover_scan_page(t, a->recall.list[i]);
        failpoint_reach("page_looked_at");
        recover_log_progress(t, "looking at page", i, a->recall.pages);
    }
}

/* --- link: the items of a partition, the oldest first, go into index and queues --- */

static void recover_unlink_twin(struct recovery_thread *t, struct partition *p, uint64_t hash,
                                struct item *it) {
    struct cache *c = t->a->c;
    struct class_queue *class_queue = p->class_queues[cache_item_class(c, it)];
    uint64_t bytes = cache_item_requested_bytes(c, it);
    index_remove(&p->index, hash, ref_of_item(c, it));
    evict_remove(&class_queue->queue, &it->node);
    class_queue->requested_bytes -= bytes;
    p->bytes -= bytes;
    t->n.items--;
    chunk_owner_release_item(&t->a->owners, it);
}

/* True if the item is to be linked: its key has no other item, or an item with a lower CAS, which
 * is unlinked. */
static bool recover_settle_twins(struct recovery_thread *t, struct partition *p,
                                 const struct key *key, struct item *it) {
    uint32_t ref = index_find(&p->index, key);
    if (ref == 0) {
        return true;
    }
    struct item *twin = item_at(t->a->c, ref);
    bool stays = item_cas(twin) >= item_cas(it);
    if (stays) {
        chunk_owner_release_item(&t->a->owners, it);
    } else {
        recover_unlink_twin(t, p, key->hash, twin);
    }
    return !stays;
}

static void recover_link_item(struct recovery_thread *t, struct partition *p,
                              const struct found *f) {
    struct recovery *a = t->a;
    struct cache *c = a->c;
    struct item *it = item_at(c, f->ref);
    size_t key_at = item_key_offset(item_flags(it), item_value_bytes(it));
    struct key key = {.ptr = (const char *)it + key_at,
                      .hash = f->hash,
                      .len = item_key_len(it)};
    if (!recover_settle_twins(t, p, &key, it)) {
        return;
    }
    unsigned class_id = cache_item_class(c, it);
    struct class_queue *class_queue = class_queue_locked(c, p, class_id);
    if (class_queue == NULL || !index_insert(&p->index, f->hash, f->ref)) {
        t->n.left_out++;
        chunk_owner_release_item(&a->owners, it);
        return;
    }
    if (item_large(it)) {
        /* the link's count */
        atomic_store_explicit(item_refs(it), 1, memory_order_relaxed);
    }
    uint64_t bytes = cache_item_requested_bytes(c, it);
    class_queue->requested_bytes += bytes;
    p->bytes += bytes;
    class_queue->queue.flushed_s = a->clock.flushed_s;
    evict_restore(&class_queue->queue, &it->node, a->policies[class_id],
                  a->now_s + a->clock.ahead_s);
    t->n.items++;
    failpoint_reach("item_adopted");
}

static void recover_link_partition(struct recovery_thread *t, unsigned number) {
    struct recovery *a = t->a;
    struct partition *p = &a->c->partitions[a->first + number];
    uint32_t count;
    struct found *memory;
    const struct found *found = recover_buckets_gather(&a->buckets, number, &count, &memory);
    if (found == NULL) {
        recover_fail(a);
        return;
    }
    lock_take(&p->lock);
    index_expect(&p->index, count);
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            prefetch_to_write(item_at(a->c, found[i + AHEAD].ref));
            index_prefetch(&p->index, found[i + AHEAD].hash);
        }
        recover_link_item(t, p, &found[i]);
    }
    lock_release(&p->lock);
    atomic_fetch_add_explicit(&a->linked, count, memory_order_relaxed);
    free(memory);
}

static void recover_link(struct recovery_thread *t) {
    struct recovery *a = t->a;
    uint32_t i;
    while (!recover_has_failed(a) && recover_next(&a->next_link, a->count, &i)) {
        recover_link_partition(t, i);
        recover_log_progress(t, "linking partition", a->first + i, a->c->partition_count);
    }
}

/* --- free: chunks without an owner --- */

static void recover_free_page(struct recovery_thread *t, uint32_t page) {
    struct cache *c = t->a->c;
    uint32_t free_head = 0, free_count = 0;
    for (uint32_t chunk = slab_page(c->slab, page)->chunk_count; chunk-- > 0;) {
        if (chunk_owner_is_claimed(&t->a->owners, page, chunk)) {
            continue;
        }
        struct item *it = slab_page_chunk(c->slab, page, chunk);
        t->n.unfinished += item_state(it) == CHUNK_FILLING && item_key_len(it) != 0;
        item_set_flags(it, CHUNK_FREE);
        node_set_next(&it->node, free_head);
        free_head = ref_of_item(c, it);
        free_count++;
        failpoint_reach("chunk_freed");
    }
    load_free_chunks(c->slab, page, free_head, free_count);
}

static void recover_free(struct recovery_thread *t) {
    struct recovery *a = t->a;
    uint32_t i;
    while (recover_next(&a->next_free, a->recall.pages, &i)) {
        recover_free_page(t, a->recall.list[i]);
    }
}

/* --- the passes --- */

static void *recover_main(void *arg) {
    struct recovery_thread *t = arg;
    t->pass(t);
    return NULL;
}

/* The calling thread is the first of the workers, and does all the work if no other can be
 * started. */
static void recover_run_pass(struct recovery *a, void (*pass)(struct recovery_thread *)) {
    for (unsigned i = a->thread_count; i-- > 0;) {
        struct recovery_thread *t = &a->threads[i];
        t->pass = pass;
        t->started = i > 0 && pthread_create(&t->thread, NULL, recover_main, t) == 0;
    }
    pass(&a->threads[0]);
    for (unsigned i = 1; i < a->thread_count; i++) {
        if (a->threads[i].started) {
            pthread_join(a->threads[i].thread, NULL);
        }
    }
}

/* --- as much memory as there is --- */

/* Bytes that the process may still take, beyond its current memory, the file's pages, and an index
 * of all items that may be in them. UINT64_MAX: no limit. */
static uint64_t recover_room_bytes(const struct recovery *a) {
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
                      chunk_owners_bytes(c, a->owners.count) +
                      a->owners.count * (uint64_t)c->partitions[0].index.kind->item_bytes_most;
    return c->config.process_bytes > needed ? c->config.process_bytes - needed : 0;
}

/* Chooses how many partitions a round has, and how many threads work. */
static void recover_choose_rounds(struct recovery *a) {
    int processors = get_nprocs();
    unsigned partitions = a->c->partition_count;
    uint64_t room = recover_room_bytes(a), items = a->owners.count;
    a->thread_count = processors < 1 ? 1 : (unsigned)processors;
    a->thread_count = a->thread_count < THREADS_MOST ? a->thread_count : THREADS_MOST;
    a->count = partitions;
    while (a->count > 1 &&
           recover_buckets_bytes(a->thread_count, a->count, items / partitions * a->count) > room) {
        a->count /= 2;
    }
    while (a->thread_count > 1 &&
           recover_buckets_bytes(a->thread_count, a->count, items / partitions * a->count) > room) {
        a->thread_count /= 2;
    }
}

/* --- all passes --- */

static bool recover_begin(struct recovery *a) {
    struct cache *c = a->c;
    if (!chunk_owners_init(&a->owners, c, &a->recall)) {
        return false;
    }
    recover_choose_rounds(a);
    a->threads = calloc(a->thread_count, sizeof *a->threads);
    for (unsigned i = 0; a->threads != NULL && i < a->thread_count; i++) {
        a->threads[i] = (struct recovery_thread){.a = a, .number = i};
    }
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        a->policies[i] = file_state_policy(c, i);
    }
    return a->threads != NULL && recover_buckets_init(&a->buckets, a->thread_count, a->count);
}

/* Both counts of partitions are powers of two, so the rounds come out even. */
static bool recover_run_rounds(struct recovery *a) {
    for (; !recover_has_failed(a) && a->first < a->c->partition_count; a->first += a->count) {
        a->next_scan = a->next_link = 0;
        recover_run_pass(a, recover_scan);
        recover_run_pass(a, recover_link);
    }
    return !recover_has_failed(a);
}

/* Sets the items' clock forward if an item is ahead of it: the process ended before it saved the
 * second of the item's store, and the calendar has been set back. A flush would spare such items.
 * The file gets the time each second, so more than a minute is no valid time. */
static void recover_advance_clock(struct recovery *a) {
    enum { AHEAD_MAX_S = 60 };
    uint32_t youngest = 0, now = a->now_s + a->clock.ahead_s - a->clock.flushed_s;
    for (unsigned i = 0; i < a->thread_count; i++) {
        youngest = a->threads[i].youngest > youngest ? a->threads[i].youngest : youngest;
    }
    int32_t late_s = (int32_t)(youngest - now);
    if (late_s > 0 && late_s <= AHEAD_MAX_S) {
        a->clock.ahead_s += (uint32_t)late_s;
        atomic_store_explicit(&a->c->item_clock, item_clock_pack(a->clock), memory_order_relaxed);
        file_state_save_flush(a->c);
    }
}

static void recover_report(struct recovery *a) {
    struct cache_recovered *n = &a->c->recovered;
    for (unsigned i = 0; i < a->thread_count; i++) {
        const struct recovery_counts *t = &a->threads[i].n;
        n->items += t->items;
        n->expired += t->dead;
        n->torn += t->torn + t->unfinished;
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

bool recover_items(struct cache *c) {
    struct recovery a = {
        .c = c, .clock = cache_item_clock(c), .now_s = clock_now_s(), .start_us = clock_mono_us()};
    a.logged_us = a.start_us;
    bool ok = load_pages(c->slab, &a.recall) && recover_begin(&a) && recover_run_rounds(&a);
    if (ok) {
        recover_run_pass(&a, recover_free);
        recover_advance_clock(&a);
        recover_report(&a);
    }
    recover_buckets_fini(&a.buckets);
    chunk_owners_fini(&a.owners);
    free(a.threads);
    free(a.recall.list);
    return ok;
}
