/* Adopting a memory file's items, in three passes of all processors:
 *
 *   look   page by page: which chunks hold items that are whole, and by their hash into whose bin
 *          they go
 *   link   partition by partition, the items of its bin by their times: into index and queues
 *   free   page by page: chunks that nobody claimed
 *
 * What makes an item whole is the order in which stores write (mem/kept.h): a chunk is LINKED from
 * the last store of its publishing to the first of its end, and of an overwriting where it lies it
 * is a draft meanwhile. A piece of a chained value counts only where a whole chain leads to it. One
 * key may have two items: a new one had been published, or a copy for a page that moves, and the old
 * one not yet been freed; nobody had heard of the new one. Then the one with the higher CAS stays.
 *
 * A crash on the way changes nothing but that less is left to be freed. */
#include "cache/adopt.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "base/crash.h"
#include "base/log.h"
#include "cache/keep.h"
#include "cache/stock.h"
#include "cache/value.h"
#include "mem/recall.h"

enum {
    THREADS_MOST = 16,
    BIN_BLOCK = 255, /* items: 4 KB a block */
    AHEAD = 12,      /* items looked at while their memory is on its way */
    PROGRESS_US = 1000 * 1000,
};

struct found {
    uint64_t hash;
    uint32_t ref;
    uint32_t age; /* its time, from the last flush on: the lower, the older */
};
struct bin_block {
    struct bin_block *next;
    uint32_t          count;
    struct found      items[BIN_BLOCK];
};
/* Of one thread and partition, the block it fills first. */
struct bin {
    struct bin_block *first;
};

struct tally {
    uint64_t items, dead, torn, drafts, twins, pieces, left_out;
};

struct adoption {
    struct cache      *c;
    struct item_clock  clock;
    uint32_t           now_s;
    struct recall      recall;
    uint32_t          *bit_at; /* of each page: the bit of its first chunk */
    _Atomic uint64_t  *claimed; /* a bit for each chunk of a page that a class has */
    _Atomic uint32_t   next_look, next_link, next_free;
    _Atomic uint64_t   linked;
    _Atomic bool       no_memory;
    unsigned           thread_count;
    struct adopter    *threads;
    struct bin        *bins; /* of all threads and partitions */
    const struct evict_policy *policies[SLAB_CLASSES_MAX]; /* whose lists the items' marks tell of */
    uint64_t           start_us, said_us;
};
struct adopter {
    struct adoption *a;
    struct bin      *bins;
    struct tally     n;
    pthread_t        thread;
    bool             started;
    unsigned         number;
    void           (*pass)(struct adopter *);
};

/* --- claims --- */

static uint32_t bit_of(const struct adoption *a, const void *chunk) {
    uint32_t page = arena_page_of(a->c->arena, chunk);
    size_t at = (size_t)((const char *)chunk - arena_page_start(a->c->arena, page));
    return a->bit_at[page] + (uint32_t)(at / slab_page(a->c->slab, page)->chunk_bytes);
}
/* false: somebody has */
static bool claim(struct adoption *a, const void *chunk) {
    uint32_t bit = bit_of(a, chunk);
    uint64_t mask = UINT64_C(1) << bit % 64;
    return !(atomic_fetch_or_explicit(&a->claimed[bit / 64], mask, memory_order_relaxed) & mask);
}
static void unclaim(struct adoption *a, const void *chunk) {
    uint32_t bit = bit_of(a, chunk);
    atomic_fetch_and_explicit(&a->claimed[bit / 64], ~(UINT64_C(1) << bit % 64),
                              memory_order_relaxed);
}
static bool is_claimed(const struct adoption *a, uint32_t bit) {
    return atomic_load_explicit(&a->claimed[bit / 64], memory_order_relaxed) >> bit % 64 & 1;
}

/* The first `most` pieces of an item's chain. */
static void unclaim_pieces(struct adoption *a, struct item *it, uint64_t most) {
    uint32_t ref = item_chained(it) ? item_load32(item_chain(it)) : 0;
    for (; ref != 0 && most > 0; most--) {
        const struct tail *t = (const void *)item_at(a->c, ref);
        unclaim(a, t);
        ref = tail_next(t);
    }
}

static void unclaim_item(struct adoption *a, struct item *it) {
    unclaim_pieces(a, it, UINT64_MAX);
    unclaim(a, it);
}

/* --- look --- */

/* Whether a head is the same item in another chunk: it was being moved, and its pieces told so one
 * by one. */
static bool is_copy_of(const struct cache *c, uint32_t head_ref, struct item *it) {
    char key[KEY_BYTES_MAX + 14];
    struct item *other = item_at(c, head_ref);
    if (!chunk_is_at(c, head_ref) || item_state(other) != CHUNK_LINKED || !item_chained(other) ||
        item_key_len(other) == 0) {
        return false;
    }
    struct key of = {.ptr = key, .len = item_copy_key(it, key)};
    return item_key_is(other, &of) &&
           item_load32(item_chain(other)) == item_load32(item_chain(it));
}

/* A piece of this item's chain that may hold so much of what is left; 0: it is none. */
static uint32_t piece_bytes(const struct adoption *a, uint32_t ref, struct item *it,
                            uint64_t left) {
    const struct cache *c = a->c;
    if (!chunk_is_at(c, ref) || slab_ref_class(c->slab, ref) == SLAB_CLASS_NONE) {
        return 0;
    }
    const struct tail *t = (const void *)item_at(c, ref);
    uint32_t used_bytes = item_load32(&t->used_bytes),
             room = slab_chunk_bytes(c->slab, slab_ref_class(c->slab, ref)) - TAIL_HEADER;
    bool is = item_key_len((const void *)t) == 0 && item_state((const void *)t) == CHUNK_LINKED &&
              used_bytes <= room && used_bytes <= left &&
              (item_load32(&t->head) == ref_of_item(c, it) ||
               is_copy_of(c, item_load32(&t->head), it));
    return is ? used_bytes : 0;
}

/* Claims an item's pieces if they are its value, whole. */
static bool claim_chain(struct adoption *a, struct item *it) {
    const struct cache *c = a->c;
    uint32_t ref = item_load32(item_chain(it));
    uint64_t left = item_value_bytes(it) - value_bytes_in_head(c, it), claimed = 0;
    while (left > 0) {
        uint32_t used_bytes = piece_bytes(a, ref, it, left);
        if (used_bytes == 0 || !claim(a, item_at(c, ref))) {
            break;
        }
        item_store32(&((struct tail *)(void *)item_at(c, ref))->head, ref_of_item(c, it));
        claimed++;
        left -= used_bytes;
        ref = tail_next((const void *)item_at(c, ref));
    }
    if (left > 0 || ref != 0 || claimed == 0) { /* its class is its first piece's */
        unclaim_pieces(a, it, claimed);
        return false;
    }
    return true;
}

static bool item_is_whole(struct adoption *a, struct item *it, uint32_t chunk_bytes) {
    uint8_t flags = item_flags(it), key_len = item_key_len(it);
    size_t bytes = item_total_bytes(flags, key_len, item_value_bytes(it));
    return key_len <= KEY_BYTES_MAX && bytes <= chunk_bytes &&
           (!(flags & ITEM_CHAINED) || claim_chain(a, it));
}

static bool bin_put(struct bin *bin, const struct found *f) {
    if (bin->first == NULL || bin->first->count == BIN_BLOCK) {
        struct bin_block *b = malloc(sizeof *b);
        if (b == NULL) {
            return false;
        }
        b->next = bin->first;
        b->count = 0;
        bin->first = b;
    }
    bin->first->items[bin->first->count++] = *f;
    return true;
}

static void look_at_item(struct adopter *t, struct item *it, uint32_t chunk_bytes) {
    struct adoption *a = t->a;
    struct cache *c = a->c;
    if (item_flushed_by(it, a->clock) || cache_item_expired(it, a->now_s)) {
        t->n.dead++;
        return;
    }
    if (!item_is_whole(a, it, chunk_bytes)) {
        t->n.torn++;
        return;
    }
    claim(a, it);
    struct found f = {.hash = item_hash(&it->node),
                      .ref = ref_of_item(c, it),
                      .age = item_time_s(it) - a->clock.flushed};
    if (!bin_put(&t->bins[partition_of(c, f.hash) - c->partitions], &f)) {
        atomic_store_explicit(&a->no_memory, true, memory_order_relaxed);
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

/* By the thread that waits for the others: for whoever watches the start. */
static void say_progress(struct adopter *t, const char *what, uint32_t done, uint32_t all) {
    struct adoption *a = t->a;
    uint64_t now_us = clock_mono_us();
    if (t->number == 0 && now_us - a->said_us >= PROGRESS_US) {
        a->said_us = now_us;
        log_info("%s: %s %u of %u, %llu items so far", a->c->config.memory_file, what, done, all,
                 (unsigned long long)atomic_load_explicit(&a->linked, memory_order_relaxed));
    }
}

static bool next_of(_Atomic uint32_t *next, uint32_t end, uint32_t *i) {
    *i = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    return *i < end;
}

static void look_pass(struct adopter *t) {
    struct adoption *a = t->a;
    uint32_t i;
    while (!atomic_load_explicit(&a->no_memory, memory_order_relaxed) &&
           next_of(&a->next_look, a->recall.pages, &i)) {
        look_at_page(t, a->recall.list[i]);
        crash_point("page_looked_at");
        say_progress(t, "looking at page", i, a->recall.pages);
    }
}

/* --- link --- */

/* All that the threads found for a partition, and as much room to sort it; NULL: no memory. */
static struct found *gather(struct adoption *a, unsigned partition, uint32_t *count) {
    uint32_t n = 0;
    for (unsigned t = 0; t < a->thread_count; t++) {
        for (struct bin_block *b = a->threads[t].bins[partition].first; b != NULL; b = b->next) {
            n += b->count;
        }
    }
    struct found *all = malloc(((size_t)n * 2 + 1) * sizeof *all);
    *count = n;
    for (unsigned t = 0; all != NULL && t < a->thread_count; t++) {
        /* the last block is the first of the list: from the end, so that the order stays */
        for (struct bin_block *b = a->threads[t].bins[partition].first; b != NULL; b = b->next) {
            n -= b->count;
            memcpy(all + n, b->items, b->count * sizeof *all);
        }
    }
    return all;
}

/* By age, the oldest first, and else as they came; `room` for as many. Returns where they are. */
static struct found *sort(struct found *from, struct found *room, uint32_t count) {
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        least = from[i].age < least ? from[i].age : least;
        most = from[i].age > most ? from[i].age : most;
    }
    for (unsigned shift = 0; shift < 32 && count > 0 && (most - least) >> shift > 0; shift += 8) {
        uint32_t places[257] = {0};
        for (uint32_t i = 0; i < count; i++) {
            places[((from[i].age - least) >> shift & 255) + 1]++;
        }
        for (unsigned d = 1; d < 256; d++) {
            places[d] += places[d - 1];
        }
        for (uint32_t i = 0; i < count; i++) {
            room[places[(from[i].age - least) >> shift & 255]++] = from[i];
        }
        struct found *sorted = room;
        room = from;
        from = sorted;
    }
    return from;
}

static void unlink_twin(struct adopter *t, struct partition *p, uint64_t hash, struct item *it) {
    struct cache *c = t->a->c;
    struct shelf *shelf = p->shelves[cache_item_class(c, it)];
    uint64_t bytes = cache_item_requested_bytes(c, it);
    index_remove(&p->index, hash, ref_of_item(c, it));
    evict_remove(&shelf->queue, &it->node);
    shelf->requested_bytes -= bytes;
    p->bytes -= bytes;
    t->n.items--;
    unclaim_item(t->a, it);
}

/* Whether an item is to be linked, as its key has no other or a lesser one, which goes. */
static bool settle_twins(struct adopter *t, struct partition *p, const struct key *key,
                         struct item *it) {
    uint32_t ref = index_find(&p->index, key, NULL);
    if (ref == 0) {
        return true;
    }
    struct item *twin = item_at(t->a->c, ref);
    bool stays = item_cas(twin) >= item_cas(it);
    t->n.twins++;
    if (stays) {
        unclaim_item(t->a, it);
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
        unclaim_item(a, it);
        return;
    }
    if (item_large(it)) {
        atomic_store_explicit(item_refs(it), 1, memory_order_relaxed); /* the link's */
    }
    uint64_t bytes = cache_item_requested_bytes(c, it);
    shelf->requested_bytes += bytes;
    p->bytes += bytes;
    shelf->queue.flushed_s = a->clock.flushed;
    evict_restore(&shelf->queue, &it->node, a->policies[class_id], a->now_s + a->clock.ahead_s);
    t->n.items++;
    crash_point("item_adopted");
}

static void link_partition(struct adopter *t, unsigned number) {
    struct adoption *a = t->a;
    struct partition *p = &a->c->partitions[number];
    uint32_t count;
    struct found *all = gather(a, number, &count);
    if (all == NULL) {
        atomic_store_explicit(&a->no_memory, true, memory_order_relaxed);
        return;
    }
    const struct found *sorted = sort(all, all + count, count);
    lock_take(&p->lock);
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            prefetch_to_write(item_at(a->c, sorted[i + AHEAD].ref));
            index_prefetch(&p->index, sorted[i + AHEAD].hash);
        }
        link_item(t, p, &sorted[i]);
    }
    lock_release(&p->lock);
    atomic_fetch_add_explicit(&a->linked, count, memory_order_relaxed);
    free(all);
}

static void link_pass(struct adopter *t) {
    struct adoption *a = t->a;
    uint32_t i;
    while (!atomic_load_explicit(&a->no_memory, memory_order_relaxed) &&
           next_of(&a->next_link, a->c->partition_count, &i)) {
        link_partition(t, i);
        say_progress(t, "linking partition", i, a->c->partition_count);
    }
}

/* --- free --- */

static void count_freed(struct adopter *t, const struct item *it) {
    t->n.drafts += item_state(it) == CHUNK_DRAFT && item_key_len(it) != 0;
    t->n.pieces += item_state(it) == CHUNK_LINKED && item_key_len(it) == 0;
}

static void free_pass(struct adopter *t) {
    struct adoption *a = t->a;
    struct cache *c = a->c;
    uint32_t i;
    while (next_of(&a->next_free, a->recall.pages, &i)) {
        uint32_t page = a->recall.list[i], free_head = 0, free_count = 0;
        struct item *it;
        for (uint32_t chunk = slab_page(c->slab, page)->chunk_count; chunk-- > 0;) {
            if (is_claimed(a, a->bit_at[page] + chunk)) {
                continue;
            }
            it = slab_page_chunk(c->slab, page, chunk);
            count_freed(t, it);
            item_set_flags(it, CHUNK_FREE);
            node_set_next(&it->node, free_head);
            free_head = ref_of_item(c, it);
            free_count++;
            crash_point("chunk_freed");
        }
        recall_free_chunks(c->slab, page, free_head, free_count);
    }
}

/* --- all of it --- */

static void *adopter_main(void *arg) {
    struct adopter *t = arg;
    t->pass(t);
    return NULL;
}

/* The calling thread is the first of them; with it alone it works, too. */
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

static bool adoption_begin(struct adoption *a) {
    struct cache *c = a->c;
    uint32_t bits = 0;
    int processors = get_nprocs();
    a->thread_count = processors < 1              ? 1
                      : processors > THREADS_MOST ? THREADS_MOST
                                                  : (unsigned)processors;
    a->threads = calloc(a->thread_count, sizeof *a->threads);
    a->bit_at = calloc(c->arena->page_max + 1, sizeof *a->bit_at);
    for (uint32_t i = 0; a->bit_at != NULL && i < a->recall.pages; i++) {
        a->bit_at[a->recall.list[i]] = bits;
        bits += slab_page(c->slab, a->recall.list[i])->chunk_count;
    }
    a->claimed = calloc(bits / 64 + 1, sizeof *a->claimed);
    a->bins = calloc((size_t)a->thread_count * c->partition_count, sizeof *a->bins);
    for (unsigned i = 0; a->threads != NULL && a->bins != NULL && i < a->thread_count; i++) {
        a->threads[i] = (struct adopter){
            .a = a, .number = i, .bins = a->bins + (size_t)i * c->partition_count};
    }
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        a->policies[i] = keep_policy_of(c, i);
    }
    return a->threads != NULL && a->bins != NULL && a->bit_at != NULL && a->claimed != NULL;
}

static void adoption_end(struct adoption *a) {
    size_t bins = a->bins != NULL ? (size_t)a->thread_count * a->c->partition_count : 0;
    for (size_t i = 0; i < bins; i++) {
        for (struct bin_block *b = a->bins[i].first, *next; b != NULL; b = next) {
            next = b->next;
            free(b);
        }
    }
    free(a->bins);
    free(a->threads);
    free(a->bit_at);
    free((void *)a->claimed);
    free(a->recall.list);
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
    n->us = clock_mono_us() - a->start_us;
    log_info("%s: %llu items in %u pages adopted in %.2f s; %llu were torn, %llu had ended, %u "
             "pages were torn",
             a->c->config.memory_file, (unsigned long long)n->items, n->pages, (double)n->us / 1e6,
             (unsigned long long)n->torn, (unsigned long long)n->expired, n->torn_pages);
}

bool adopt_items(struct cache *c) {
    struct adoption a = {.c = c,
                         .clock = cache_item_clock(c),
                         .now_s = clock_now_s(),
                         .start_us = clock_mono_us()};
    a.said_us = a.start_us;
    bool ok = recall_pages(c->slab, &a.recall) && adoption_begin(&a);
    if (ok) {
        run_pass(&a, look_pass);
        run_pass(&a, link_pass);
        ok = !atomic_load_explicit(&a.no_memory, memory_order_relaxed);
    }
    if (ok) {
        run_pass(&a, free_pass);
        note(&a);
    }
    adoption_end(&a);
    return ok;
}
