#include "server/memory_limit.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "mem/arena.h"

/* Items get more memory only after it was free for this long. The allocator trims its whole heap at
 * most once in this time. */
enum { SETTLE_US = 5 * 1000 * 1000 };

static uint64_t memory_slack(uint64_t limit) {
    uint64_t share = limit / SETTINGS_SLACK_SHARE;
    return share > SETTINGS_SLACK_LEAST ? share : SETTINGS_SLACK_LEAST;
}

static uint64_t memory_beyond(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* Memory of the other parts: resident memory beyond the items' pages. */
static uint64_t memory_resident_others(const struct memory_parts *p) {
    return memory_beyond(p->resident, p->items);
}

static uint64_t memory_left_for_items(const struct memory_parts *p, uint64_t others) {
    return memory_beyond(p->limit, others + memory_slack(p->limit)) & ~(uint64_t)(PAGE_BYTES - 1);
}

/* Resident and known memory are never added: memory that a connection freed may still be resident,
 * and the next connection gets that same memory. */
uint64_t memory_items_limit(const struct memory_parts *p) {
    uint64_t seen = memory_resident_others(p), most = memory_left_for_items(p, seen),
             limit = seen < p->known ? memory_left_for_items(p, p->known) : most;
    /* A reserve keeps items from growing, but takes no page from them. Only a lack of memory
     * does. */
    if (limit < p->items) {
        limit = p->items < most ? p->items : most;
    }
    return p->limit > 0 && limit < p->requested ? limit : p->requested;
}

static uint64_t memory_load(const _Atomic uint64_t *value) {
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void memory_add(_Atomic uint64_t *value, uint64_t n) {
    atomic_store_explicit(value, memory_load(value) + n, memory_order_relaxed); /* one writer */
}

void memory_facts(const struct memory_limit *m, const struct settings *s, struct memory_facts *f) {
    struct cache_facts cache;
    struct whatif_facts whatif;
    struct rss_reading now;
    cache_facts(m->from.cache, &cache);
    whatif_facts(tuner_whatif(m->from.tuner), &whatif);
    rss_read(&m->resident, &now);
    uint64_t connections = memory_load(m->from.connections),
             held = memory_load(m->from.buffer_bytes) + memory_load(m->from.reply_bytes),
             conn_bytes = settings_conn_bytes(s);
    *f = (struct memory_facts){
        .limit_bytes = s->process_memory,
        .resident_bytes = now.bytes,
        .resident_most_bytes = memory_load(&m->resident_most),
        .group_limit_bytes = m->resident.group_limit_bytes,
        .group_bytes = now.group_bytes,
        .requested_bytes = s->maxbytes,
        .items_limit_bytes = cache.limit_bytes,
        .items_bytes = (uint64_t)cache.pages_out << PAGE_SHIFT,
        .index_bytes = cache.index_bytes,
        .sample_bytes = whatif.memory_bytes,
        .buffer_bytes = held,
        .connection_bytes = connections * conn_bytes,
        .start_bytes = m->start_bytes,
        .reserved_bytes = memory_beyond(s->read_buf_mem_limit, held) +
                          memory_beyond((uint64_t)s->maxconns, connections) * conn_bytes,
        .lowered = memory_load(&m->lowered),
        .raised = memory_load(&m->raised),
        .trims = memory_load(&m->trims),
        .pressure_pct = now.pressure_pct,
    };
    uint64_t counted = f->items_bytes + f->index_bytes + f->sample_bytes + f->buffer_bytes +
                       f->connection_bytes;
    f->other_bytes = memory_beyond(f->resident_bytes, counted);
}

static struct memory_parts memory_parts_of(const struct memory_limit *m,
                                           const struct memory_facts *f) {
    /* A control group also counts the kernel's memory for the process: socket buffers, page
     * tables. */
    bool in_group = f->group_limit_bytes > 0 && f->group_bytes > f->resident_bytes;
    return (struct memory_parts){
        .limit = f->limit_bytes,
        .requested = f->requested_bytes,
        .resident = in_group ? f->group_bytes : f->resident_bytes,
        .items = f->items_bytes,
        .known = m->start_bytes + f->sample_bytes + f->index_bytes + f->buffer_bytes +
                 f->connection_bytes + f->reserved_bytes,
    };
}

/* The memory that items may have: at least MEMORY_ITEMS_MIN_BYTES, whatever the other parts
 * take. */
static uint64_t memory_items_allowed(const struct memory_parts *p) {
    uint64_t limit = memory_items_limit(p),
             least = p->requested < MEMORY_ITEMS_MIN_BYTES ? p->requested : MEMORY_ITEMS_MIN_BYTES;
    return limit > least ? limit : least;
}

/* False: the cache refuses the limit. */
static bool memory_set_limit(struct memory_limit *m, const struct memory_parts *p, uint64_t limit) {
    bool is_set = cache_set_limit(m->from.cache, limit);
    if (is_set) {
        atomic_store_explicit(&m->items_limit, limit < p->requested ? limit : 0,
                              memory_order_relaxed);
    }
    return is_set;
}

bool memory_begin(struct memory_limit *m, const struct memory_sources *from,
                  const struct settings *s, char why[SETTING_WHY_BYTES]) {
    struct memory_facts f;
    memset(m, 0, sizeof *m);
    m->from = *from;
    rss_open(&m->resident, NULL, NULL);
    memory_facts(m, s, &f);
    m->start_bytes = memory_beyond(f.resident_bytes, f.items_bytes + f.sample_bytes);
    struct memory_parts p = memory_parts_of(m, &f);
    uint64_t left = memory_items_limit(&p), limit = memory_items_allowed(&p);
    if (left < limit && !s->group_limits) {
        snprintf(why, SETTING_WHY_BYTES,
                 "process_memory of %llu MiB leaves %llu MiB for items, less than %d: connections "
                 "may take %llu MiB of it (read_buf_mem_limit, -c)",
                 (unsigned long long)(p.limit >> 20), (unsigned long long)(left >> 20),
                 MEMORY_ITEMS_MIN_BYTES >> 20, (unsigned long long)(f.reserved_bytes >> 20));
        return false;
    }
    if (limit < p.requested) {
        memory_set_limit(m, &p, limit);
    }
    return true;
}

void memory_end(struct memory_limit *m) {
    if (m->has_trimmer) {
        pthread_join(m->trimmer, NULL);
    }
    if (m->from.cache != NULL) {
        rss_close(&m->resident);
    }
}

static void memory_log_limit(struct memory_limit *m, uint64_t was, uint64_t limit,
                             const struct memory_parts *p) {
    bool lower = limit < was;
    memory_add(lower ? &m->lowered : &m->raised, 1);
    log_info("items may take %llu MiB, %s than %llu before: other parts have %llu MiB of %llu",
             (unsigned long long)(limit >> 20), lower ? "less" : "more",
             (unsigned long long)(was >> 20), (unsigned long long)(memory_resident_others(p) >> 20),
             (unsigned long long)(p->limit >> 20));
}

/* A limit may fall at once. It may rise only after the memory was free for SETTLE_US: other parts
 * may need the memory again, and pages that go back and forth cost items. */
static bool memory_may_set_limit(struct memory_limit *m, uint64_t was, uint64_t limit,
                                 uint64_t now_us) {
    if (limit <= was) {
        m->raise_us = 0;
        return limit < was;
    }
    m->raise_us = m->raise_us != 0 ? m->raise_us : now_us;
    return now_us - m->raise_us >= SETTLE_US;
}

static void *memory_trimmer_main(void *arg) {
    struct memory_limit *m = arg;
    thread_name("slated-trimmer");
    memory_add(&m->trims, malloc_trim(0) != 0);
    atomic_store_explicit(&m->trims_now, false, memory_order_release);
    return NULL;
}

/* Trims the allocator's heap before items are evicted, and where items get less because the process
 * holds more than its parts know of: mostly freed memory in the heap. True: a trim is running. */
static bool memory_trim(struct memory_limit *m, const struct memory_parts *p, uint64_t now_us) {
    uint64_t limit = memory_items_limit(p);
    if (atomic_load_explicit(&m->trims_now, memory_order_acquire)) {
        return true;
    }
    if (m->has_trimmer) {
        pthread_join(m->trimmer, NULL);
        m->has_trimmer = false;
    }
    if (limit == p->requested || now_us < m->trim_us ||
        (limit >= p->items && memory_resident_others(p) <= p->known)) {
        return false;
    }
    m->trim_us = now_us + SETTLE_US;
    atomic_store_explicit(&m->trims_now, true, memory_order_relaxed);
    m->has_trimmer = thread_start(&m->trimmer, memory_trimmer_main, m) == 0;
    if (!m->has_trimmer) {
        atomic_store_explicit(&m->trims_now, false, memory_order_relaxed);
    }
    return m->has_trimmer;
}

void memory_adjust_limit(struct memory_limit *m, const struct settings *s, uint64_t now_us) {
    struct memory_facts f;
    memory_facts(m, s, &f);
    struct memory_parts p = memory_parts_of(m, &f);
    if (p.resident > memory_load(&m->resident_most)) {
        atomic_store_explicit(&m->resident_most, p.resident, memory_order_relaxed);
    }
    if (memory_trim(m, &p, now_us)) {
        return; /* the next call sees how much the trim freed */
    }
    uint64_t limit = memory_items_allowed(&p), was = f.items_limit_bytes;
    if ((p.limit > 0 || memory_load(&m->items_limit) > 0) &&
        memory_may_set_limit(m, was, limit, now_us) && memory_set_limit(m, &p, limit)) {
        m->raise_us = 0;
        memory_log_limit(m, was, limit, &p);
    }
}

uint64_t memory_allowed_bytes(const struct memory_limit *m, const struct settings *s) {
    uint64_t limit = s->process_memory > 0 ? memory_load(&m->items_limit) : 0;
    return limit > 0 && limit < s->maxbytes ? limit : s->maxbytes;
}
