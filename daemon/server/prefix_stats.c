#include "server/prefix_stats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct prefix_count {
    struct prefix_count *next;
    uint64_t             events[PREFIX_EVENTS];
    uint8_t              len;
    char                 name[];
};

struct prefix_stats *prefix_stats_create(char delimiter, bool on) {
    struct prefix_stats *p = calloc(1, sizeof *p);
    if (p) {
        lock_init(&p->lock);
        p->delimiter = delimiter;
        prefix_stats_enable(p, on);
    }
    return p;
}

void prefix_stats_destroy(struct prefix_stats **taken) {
    if (*taken) {
        prefix_stats_clear(*taken);
        lock_fini(&(*taken)->lock);
        free(*taken);
        *taken = NULL;
    }
}

/* A relaxed store is enough: the lock guards the counts. A worker that still reads the old value
 * counts, or leaves out, a few more operations. */
void prefix_stats_enable(struct prefix_stats *p, bool on) {
    atomic_store_explicit(&p->on, on, memory_order_relaxed);
}

void prefix_stats_clear(struct prefix_stats *p) {
    lock_take(&p->lock);
    for (unsigned i = 0; i < PREFIX_BUCKETS; i++) {
        while (p->buckets[i]) {
            struct prefix_count *gone = p->buckets[i];
            p->buckets[i] = gone->next;
            free(gone);
        }
    }
    p->count = 0;
    lock_release(&p->lock);
}

/* Finds the count of a prefix, or adds one if there is room. NULL: the prefix is not counted. */
static struct prefix_count *prefix_count_locked(struct prefix_stats *p, const char *name,
                                                size_t len) {
    assert(lock_held(&p->lock));
    struct prefix_count **head = &p->buckets[key_hash(name, len) % PREFIX_BUCKETS];
    for (struct prefix_count *c = *head; c; c = c->next) {
        if (c->len == len && memcmp(c->name, name, len) == 0) {
            return c;
        }
    }
    struct prefix_count *c = p->count < PREFIX_MAX ? calloc(1, sizeof *c + len) : NULL;
    if (c) {
        c->len = (uint8_t)len;
        memcpy(c->name, name, len);
        c->next = *head;
        *head = c;
        p->count++;
    }
    return c;
}

void prefix_stats_count(struct prefix_stats *p, const struct key *key, enum prefix_event event) {
    const char *end = memchr(key->ptr, p->delimiter, key->len);
    if (!end || !key_fits_line(key->ptr, (size_t)(end - key->ptr))) {
        return; /* a key without a prefix, or one whose prefix no line can hold, is not counted */
    }
    lock_take(&p->lock);
    struct prefix_count *c = prefix_count_locked(p, key->ptr, (size_t)(end - key->ptr));
    if (c) {
        c->events[event]++;
        c->events[PREFIX_GET] += event == PREFIX_HIT;
    }
    lock_release(&p->lock);
}

static uint32_t prefix_next_used_locked(const struct prefix_stats *p, uint32_t bucket) {
    assert(lock_held(&p->lock));
    if (p->count == 0) {
        return PREFIX_BUCKETS;
    }
    while (bucket < PREFIX_BUCKETS && !p->buckets[bucket]) {
        bucket++;
    }
    return bucket;
}

uint32_t prefix_stats_dump(struct prefix_stats *p, uint32_t bucket, struct text_out *out) {
    lock_take(&p->lock);
    bucket = prefix_next_used_locked(p, bucket);
    for (const struct prefix_count *c = bucket < PREFIX_BUCKETS ? p->buckets[bucket] : NULL; c;
         c = c->next) {
        text_out_str(out, "PREFIX ");
        text_out_bytes(out, c->name, c->len);
        text_out_printf(out, " get %" PRIu64 " hit %" PRIu64 " set %" PRIu64 " del %" PRIu64 "\r\n",
                        c->events[PREFIX_GET], c->events[PREFIX_HIT], c->events[PREFIX_SET],
                        c->events[PREFIX_DELETE]);
    }
    bucket = prefix_next_used_locked(p, bucket + 1);
    lock_release(&p->lock);
    return bucket;
}
