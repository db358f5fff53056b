/* Writes records into rings, one for each thread, and reads them from all rings in order.
 *
 * A thread takes a gid before it publishes the record. So a reader may pass a record that another
 * thread is just writing; that record then comes late by this moment. The events of one thread stay
 * in order. */
#include "watch/event.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/key.h"
#include "base/lock.h"
#include "watch/ring.h"

enum { RINGS_MAX = 192, RING_BYTES_DEFAULT = 64 * 1024 };

struct event_mask event_mask = {.sample_one_in = 1};

static _Atomic uint64_t last_gid;
static _Atomic size_t   ring_bytes = RING_BYTES_DEFAULT;
/* protects `taken`; readers need no lock */
static struct lock      rings_lock = {PTHREAD_MUTEX_INITIALIZER};
static _Atomic(struct ring *) rings[RINGS_MAX];
static bool             taken[RINGS_MAX];
static _Atomic unsigned ring_count; /* all rings have lower numbers */
static struct ring     *oldest_ring; /* the reader's */

static _Thread_local struct ring *mine;
static _Thread_local unsigned     my_number;

/* --- threads --- */

static struct ring *event_ring(unsigned i) {
    return atomic_load_explicit(&rings[i], memory_order_acquire);
}

bool event_thread_begin(void) {
    if (mine != NULL) {
        return true;
    }
    lock_take(&rings_lock);
    for (unsigned i = 0; i < RINGS_MAX && mine == NULL; i++) {
        if (taken[i]) {
            continue;
        }
        mine = event_ring(i);
        if (mine == NULL) {
            mine = ring_create(atomic_load_explicit(&ring_bytes, memory_order_relaxed));
            atomic_store_explicit(&rings[i], mine, memory_order_release);
        }
        taken[i] = mine != NULL;
        my_number = i;
        if (i >= atomic_load_explicit(&ring_count, memory_order_relaxed)) {
            atomic_store_explicit(&ring_count, i + 1, memory_order_release);
        }
        break;
    }
    lock_release(&rings_lock);
    return mine != NULL;
}

void event_thread_end(void) {
    if (mine != NULL) {
        lock_take(&rings_lock);
        taken[my_number] = false;
        lock_release(&rings_lock);
        mine = NULL;
    }
}

void event_set_ring_bytes(size_t bytes) {
    atomic_store_explicit(&ring_bytes, bytes, memory_order_relaxed);
}

void event_rings_free(void) {
    lock_take(&rings_lock);
    for (unsigned i = 0; i < RINGS_MAX; i++) {
        struct ring *r = event_ring(i);
        if (r != NULL && !taken[i]) {
            atomic_store_explicit(&rings[i], NULL, memory_order_relaxed);
            ring_destroy(&r);
        }
    }
    lock_release(&rings_lock);
}

/* --- writing --- */

uint64_t event_next_gid(void) {
    return atomic_fetch_add_explicit(&last_gid, 1, memory_order_relaxed) + 1;
}

uint64_t event_last_gid(void) { return atomic_load_explicit(&last_gid, memory_order_relaxed); }

static void event_write(struct event_record record, const char *text, size_t text_bytes) {
    if (mine == NULL) {
        return;
    }
    text_bytes = text_bytes < EVENT_TEXT_MAX ? text_bytes : EVENT_TEXT_MAX;
    struct event_record *e = ring_reserve(mine, sizeof *e + text_bytes);
    if (e == NULL) {
        return;
    }
    *e = record;
    e->gid = event_next_gid();
    e->unix_us = clock_unix_us();
    e->text_bytes = (uint8_t)text_bytes;
    memcpy(e->text, text, text_bytes);
    ring_publish(mine);
}

void event_item_get(const char *key, size_t key_bytes, enum event_found found, unsigned class_id,
                    int fd, uint32_t value_bytes) {
    event_write((struct event_record){.kind = EVENT_ITEM_GET,
                                      .status = (uint8_t)found,
                                      .class_id = (uint8_t)class_id,
                                      .fd = fd,
                                      .value_bytes = value_bytes},
                key, key_bytes);
}

void event_item_store(const char *key, size_t key_bytes, enum event_stored stored,
                      enum event_command command, uint32_t ttl_s, unsigned class_id, int fd,
                      uint32_t value_bytes) {
    event_write((struct event_record){.kind = EVENT_ITEM_STORE,
                                      .status = (uint8_t)stored,
                                      .command = (uint8_t)command,
                                      .ttl_s = ttl_s,
                                      .class_id = (uint8_t)class_id,
                                      .fd = fd,
                                      .value_bytes = value_bytes},
                key, key_bytes);
}

void event_eviction(const char *key, size_t key_bytes, bool fetched, int64_t left_s,
                    uint32_t unused_s, unsigned class_id, uint32_t value_bytes) {
    event_write((struct event_record){.kind = EVENT_EVICTION,
                                      .fetched = fetched,
                                      .left_s = left_s,
                                      .unused_s = unused_s,
                                      .class_id = (uint8_t)class_id,
                                      .value_bytes = value_bytes},
                key, key_bytes);
}

void event_deleted(const char *key, size_t key_bytes, enum event_command command, unsigned class_id,
                   uint32_t value_bytes) {
    event_write((struct event_record){.kind = EVENT_DELETED,
                                      .command = (uint8_t)command,
                                      .class_id = (uint8_t)class_id,
                                      .value_bytes = value_bytes},
                key, key_bytes);
}

void event_conn_new(const char *address, int fd) {
    event_write((struct event_record){.kind = EVENT_CONN_NEW, .fd = fd}, address, strlen(address));
}

void event_conn_close(const char *address, enum event_reason reason, int fd) {
    event_write(
        (struct event_record){.kind = EVENT_CONN_CLOSE, .status = (uint8_t)reason, .fd = fd},
        address, strlen(address));
}

void event_conn_tls_error(const char *words, int fd) {
    event_write((struct event_record){.kind = EVENT_CONN_TLS_ERROR, .fd = fd}, words,
                strnlen(words, KEY_BYTES_MAX));
}

void event_slab_move(unsigned from_class, unsigned to_class, enum event_move move) {
    event_write((struct event_record){.kind = EVENT_SLAB_MOVE,
                                      .status = (uint8_t)move,
                                      .class_id = (uint8_t)from_class,
                                      .to_class_id = (uint8_t)to_class},
                "", 0);
}

void event_lru_crawler(const struct event_crawl *crawl) {
    event_write((struct event_record){.kind = EVENT_LRU_CRAWLER, .crawl = *crawl}, "", 0);
}

void event_change(const char *what, const char *was, const char *is, const char *who) {
    enum { PART_BYTES = 60 };
    const char *parts[] = {what, was, is, who};
    char text[EVENT_TEXT_MAX];
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t bytes = strnlen(parts[i], PART_BYTES);
        memcpy(text + used, parts[i], bytes);
        text[used + bytes] = '\0';
        used += bytes + 1;
    }
    event_write((struct event_record){.kind = EVENT_CHANGE}, text, used);
}

unsigned event_class_of(enum event_kind kind) {
    static const uint16_t classes[] = {
        [EVENT_ITEM_GET] = EVENT_FETCHERS,   [EVENT_ITEM_STORE] = EVENT_MUTATIONS,
        [EVENT_EVICTION] = EVENT_EVICTIONS,  [EVENT_DELETED] = EVENT_DELETIONS,
        [EVENT_CONN_NEW] = EVENT_CONNEVENTS, [EVENT_CONN_CLOSE] = EVENT_CONNEVENTS,
        [EVENT_CONN_TLS_ERROR] = EVENT_CONNEVENTS,
        [EVENT_SLAB_MOVE] = EVENT_SYSEVENTS, [EVENT_LRU_CRAWLER] = EVENT_SYSEVENTS,
        [EVENT_CHANGE] = EVENT_SYSEVENTS,
    };
    return classes[kind];
}

/* Not the index's hash: a sample must reveal nothing of that hash's secret. */
bool event_key_sampled(const char *key, size_t key_bytes, uint32_t one_in) {
    return one_in <= 1 || XXH3_64bits(key, key_bytes) % one_in == 0;
}

unsigned event_classes_for(unsigned watched, const char *key, size_t key_bytes) {
    uint32_t one_in = atomic_load_explicit(&event_mask.sample_one_in, memory_order_relaxed);
    return event_key_sampled(key, key_bytes, one_in) ? watched : watched & ~EVENT_OF_REQUESTS;
}

/* --- reading --- */

const struct event_record *event_oldest(void) {
    const struct event_record *oldest = NULL;
    unsigned count = atomic_load_explicit(&ring_count, memory_order_acquire);
    for (unsigned i = 0; i < count; i++) {
        struct ring *r = event_ring(i);
        const struct event_record *e = r != NULL ? ring_peek(r) : NULL;
        if (e != NULL && (oldest == NULL || e->gid < oldest->gid)) {
            oldest = e;
            oldest_ring = r;
        }
    }
    return oldest;
}

void event_take(void) { ring_pop(oldest_ring); }

void event_rings_count(uint64_t *written, uint64_t *dropped) {
    *written = *dropped = 0;
    for (unsigned i = 0; i < RINGS_MAX; i++) {
        const struct ring *r = event_ring(i);
        if (r != NULL) {
            *written += counter_get(&r->written);
            *dropped += counter_get(&r->dropped);
        }
    }
}
