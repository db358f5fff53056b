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
 * The order in which stores write makes an item whole (mem/kept.h). A chunk is LINKED from the last
 * store of its publishing to the first store of its end; while an item is overwritten in place, its
 * chunk is a draft. A piece of a chained value counts only if a whole chain leads to it.
 *
 * One key may have two items: a new one, or a copy for a page that moves, had been published, and
 * the old one was not yet freed. Nobody had heard of the new one then, so either will do: the one
 * with the higher CAS stays.
 *
 * A crash on the way changes nothing, except that fewer chunks are left to be freed. */
#include "cache/adopt/adopt.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "base/log.h"
#include "base/resident.h"
#include "cache/adopt/adoption.h"
#include "cache/keep.h"

enum { THREADS_MOST = 16 };

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
    struct resident r;
    struct resident_now now;
    if (c->config.process_bytes == 0) {
        return UINT64_MAX;
    }
    resident_open(&r, NULL, NULL);
    resident_look(&r, &now);
    resident_close(&r);
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

static void adoption_end(struct adoption *a) {
    bins_fini(&a->bins);
    claims_fini(&a->claims);
    free(a->threads);
    free(a->recall.list);
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
    bool ok = recall_pages(c->slab, &a.recall) && adoption_begin(&a) && run_rounds(&a);
    if (ok) {
        run_pass(&a, adopt_free);
        note(&a);
    }
    adoption_end(&a);
    return ok;
}
