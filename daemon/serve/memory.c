#include "serve/memory.h"

#include <malloc.h>
#include <string.h>

#include "base/log.h"
#include "mem/arena.h"

enum {
    /* more memory must have been there for items for so long, before they get it */
    RAISE_AFTER_US = 5 * 1000 * 1000,
    /* Between two trims: the allocator looks at all that it holds. It is asked seldom when it only
     * seems to hold much free memory. */
    TRIM_EVERY_US = 1000 * 1000,
    TRIM_CALM_US = 10 * 1000 * 1000,
    /* within this time what samples had comes back: two looks and a little more */
    SAMPLES_GIVE_US = 250 * 1000,
    PRESSES_SHARE = 16,
};

static uint64_t slack_of(uint64_t limit) {
    uint64_t share = limit / SETTINGS_SLACK_SHARE;
    return share > SETTINGS_SLACK_LEAST ? share : SETTINGS_SLACK_LEAST;
}

static uint64_t beyond(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* What others have: what is resident beyond the items' pages. */
static uint64_t seen_of(const struct memory_parts *p) { return beyond(p->resident, p->items); }

/* What others say that they have and may take. Never added to what is seen: memory that a
 * connection gave back may be resident still, and the next connection gets just that memory. */
static uint64_t known_of(const struct memory_parts *p) { return p->counted + p->reserved; }

static uint64_t left_beside(const struct memory_parts *p, uint64_t others) {
    return beyond(p->limit, others + slack_of(p->limit)) & ~(uint64_t)(PAGE_BYTES - 1);
}

uint64_t memory_items_limit(const struct memory_parts *p) {
    uint64_t seen = seen_of(p), known = known_of(p), most = left_beside(p, seen),
             limit = seen < known ? left_beside(p, known) : most;
    /* A reserve keeps items from growing. It takes no page from them: the lack of room does. */
    if (limit < p->items) {
        limit = p->items < most ? p->items : most;
    }
    return p->limit > 0 && limit < p->asked ? limit : p->asked;
}

bool memory_presses(const struct memory_parts *p, bool still) {
    uint64_t most = beyond(p->limit, known_of(p) + slack_of(p->limit));
    most = p->asked < most ? p->asked : most;
    return p->limit > 0 &&
           seen_of(p) > known_of(p) + most / PRESSES_SHARE / (still ? 2 : 1);
}

static uint64_t load(const _Atomic uint64_t *value) {
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void add(_Atomic uint64_t *value, uint64_t n) {
    atomic_store_explicit(value, load(value) + n, memory_order_relaxed); /* one writer */
}

void memory_facts(const struct memory *m, const struct memory_wishes *w, struct memory_facts *f) {
    struct cache_facts cache;
    struct whatif_facts whatif;
    struct resident_now now;
    cache_facts(m->from.cache, &cache);
    whatif_facts(tuner_whatif(m->from.tuner), &whatif);
    resident_look(&m->resident, &now);
    uint64_t connections = load(m->from.connections),
             held = load(m->from.buffer_bytes) + load(m->from.reply_bytes);
    *f = (struct memory_facts){
        .limit_bytes = w->limit,
        .resident_bytes = now.bytes,
        .resident_most_bytes = load(&m->resident_most),
        .group_limit_bytes = m->resident.group_limit_bytes,
        .group_bytes = now.group_bytes,
        .asked_bytes = w->asked,
        .items_limit_bytes = cache.limit_bytes,
        .items_bytes = (uint64_t)cache.pages_out << PAGE_SHIFT,
        .index_bytes = cache.index_bytes,
        .sample_bytes = whatif.memory_bytes,
        .buffer_bytes = held,
        .connection_bytes = connections * w->conn_bytes,
        .start_bytes = m->start_bytes,
        .reserved_bytes = beyond(w->held_most, held) +
                          beyond(w->conns_most, connections) * w->conn_bytes,
        .lowered = load(&m->lowered),
        .raised = load(&m->raised),
        .trims = load(&m->trims),
        .gave_way = load(&m->gave_way),
        .pressure_pct = now.pressure_pct,
    };
    uint64_t counted = f->items_bytes + f->index_bytes + f->sample_bytes + f->buffer_bytes +
                       f->connection_bytes;
    f->other_bytes = beyond(f->resident_bytes, counted);
}

static struct memory_parts parts_of(const struct memory *m, const struct memory_facts *f) {
    /* A control group also counts what the kernel holds for the process: sockets' buffers, page
     * tables. */
    bool in_group = f->group_limit_bytes > 0 && f->group_bytes > f->resident_bytes;
    return (struct memory_parts){
        .limit = f->limit_bytes,
        .asked = f->asked_bytes,
        .resident = in_group ? f->group_bytes : f->resident_bytes,
        .items = f->items_bytes,
        .counted = m->start_bytes + f->sample_bytes + f->index_bytes + f->buffer_bytes +
                   f->connection_bytes,
        .reserved = f->reserved_bytes,
    };
}

static uint64_t least_of(uint64_t asked) {
    return asked < MEMORY_LEAST_ITEMS ? asked : MEMORY_LEAST_ITEMS;
}

bool memory_begin(struct memory *m, const struct memory_sources *from,
                  const struct memory_wishes *w, uint64_t *left_bytes) {
    struct memory_facts f;
    memset(m, 0, sizeof *m);
    m->from = *from;
    resident_open(&m->resident, NULL, NULL);
    memory_facts(m, w, &f);
    m->start_bytes = beyond(f.resident_bytes, f.items_bytes + f.sample_bytes);
    struct memory_parts parts = parts_of(m, &f);
    *left_bytes = memory_items_limit(&parts);
    uint64_t least = least_of(w->asked);
    if (*left_bytes < least && !w->reserve_yields) {
        return false;
    }
    *left_bytes = *left_bytes > least ? *left_bytes : least;
    if (*left_bytes < w->asked) {
        cache_set_limit(from->cache, *left_bytes);
        atomic_store_explicit(&m->items_limit, *left_bytes, memory_order_relaxed);
    }
    return true;
}

void memory_end(struct memory *m) {
    if (m->from.cache != NULL) {
        resident_close(&m->resident);
    }
}

static void tell(struct memory *m, uint64_t was, uint64_t limit, const struct memory_parts *p) {
    bool lower = limit < was;
    add(lower ? &m->lowered : &m->raised, 1);
    log_info("items may take %llu MiB, %s than %llu before: others have %llu MiB of %llu and may "
             "take %llu more",
             (unsigned long long)(limit >> 20), lower ? "less" : "more",
             (unsigned long long)(was >> 20),
             (unsigned long long)(seen_of(p) >> 20),
             (unsigned long long)(p->limit >> 20), (unsigned long long)(p->reserved >> 20));
}

/* Lowers the limit of items at once. Raises it only when the room has lasted: other parts may want
 * back what they gave, and pages that come and go cost items. */
static bool is_time(struct memory *m, uint64_t was, uint64_t limit, uint64_t now_us) {
    if (limit <= was) {
        m->raise_us = 0;
        return limit < was;
    }
    m->raise_us = m->raise_us != 0 ? m->raise_us : now_us;
    return now_us - m->raise_us >= RAISE_AFTER_US;
}

/* Has the allocator give memory back before items are evicted; when items have less than was asked
 * for although the other parts count less than the process holds, which mostly is memory that the
 * allocator keeps; and while samples have given way, because what it keeps of theirs would keep
 * them from coming back. True: it gave some back. */
static bool trim(struct memory *m, const struct memory_parts *p, uint64_t now_us) {
    uint64_t limit = memory_items_limit(p);
    bool evicts = limit < p->items,
         kept = limit < p->asked && seen_of(p) > p->counted + slack_of(p->limit);
    if (p->limit == 0 || now_us < m->trim_us || !(evicts || kept || m->asked_us != 0)) {
        return false;
    }
    m->trim_us = now_us + (evicts ? TRIM_EVERY_US : TRIM_CALM_US);
    bool given = malloc_trim(0) != 0;
    add(&m->trims, given);
    return given;
}

static void ask_samples(struct memory *m, bool give_way, uint64_t now_us) {
    tuner_samples_give_way(m->from.tuner, give_way);
    m->asked_us = give_way ? now_us : 0;
    m->calm_us = 0;
    add(&m->gave_way, give_way ? 1 : 0);
    log_info(give_way ? "keys are sampled no more: others need the memory (process_memory)"
                      : "keys are sampled again: others need the memory no more");
}

/* Samples give way before items do. True: they were just asked, and what they give may be
 * enough. */
static bool samples_first(struct memory *m, const struct memory_parts *p, uint64_t samples,
                          uint64_t now_us) {
    bool presses = memory_presses(p, m->asked_us != 0),
         near = p->resident + slack_of(p->limit) / 2 > p->limit;
    m->calm_us = presses ? 0 : m->calm_us != 0 ? m->calm_us : now_us;
    if (presses && m->asked_us == 0 && samples > 0) {
        ask_samples(m, true, now_us);
    } else if (m->asked_us != 0 && !presses && now_us - m->calm_us >= RAISE_AFTER_US) {
        ask_samples(m, false, now_us);
    }
    return m->asked_us != 0 && now_us - m->asked_us < SAMPLES_GIVE_US && !near;
}

void memory_look(struct memory *m, const struct memory_wishes *w, uint64_t now_us) {
    struct memory_facts f;
    struct memory_parts p;
    do {
        memory_facts(m, w, &f);
        p = parts_of(m, &f);
        if (p.resident > load(&m->resident_most)) {
            atomic_store_explicit(&m->resident_most, p.resident, memory_order_relaxed);
        }
    } while (trim(m, &p, now_us));
    uint64_t limit = memory_items_limit(&p), was = f.items_limit_bytes;
    if (samples_first(m, &p, f.sample_bytes, now_us) && limit < was) {
        return;
    }
    limit = limit > least_of(p.asked) ? limit : least_of(p.asked);
    if ((p.limit > 0 || load(&m->items_limit) > 0) && is_time(m, was, limit, now_us) &&
        cache_set_limit(m->from.cache, limit)) {
        m->raise_us = 0;
        atomic_store_explicit(&m->items_limit, limit < p.asked ? limit : 0, memory_order_relaxed);
        tell(m, was, limit, &p);
    }
}

uint64_t memory_allows(const struct memory *m, const struct memory_wishes *w) {
    uint64_t limit = w->limit > 0 ? load(&m->items_limit) : 0;
    return limit > 0 && limit < w->asked ? limit : w->asked;
}
