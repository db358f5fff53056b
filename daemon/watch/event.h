/* Events for watchers: their classes, their records, and a function for each kind.
 *
 *     if (event_watched(EVENT_EVICTIONS)) { event_eviction(...); }
 *
 * event_watched is one relaxed load. The functions write a record into the calling thread's ring:
 * no lock, no allocation, no waiting, so they may be called with a project lock held. A thread
 * without a ring writes no events. Cost: some 100 ns. */
#ifndef SLATE_WATCH_EVENT_H
#define SLATE_WATCH_EVENT_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names are words of the watch command. rawcmds and the proxy's classes are accepted but have no
 * events, as in a memcached without a proxy. X(constant, word) */
#define EVENT_CLASSES_TABLE(X)         \
    X(EVENT_FETCHERS, fetchers)        \
    X(EVENT_MUTATIONS, mutations)      \
    X(EVENT_EVICTIONS, evictions)      \
    X(EVENT_CONNEVENTS, connevents)    \
    X(EVENT_PROXYREQS, proxyreqs)      \
    X(EVENT_PROXYEVENTS, proxyevents)  \
    X(EVENT_PROXYUSER, proxyuser)      \
    X(EVENT_DELETIONS, deletions)      \
    X(EVENT_SYSEVENTS, sysevents)      \
    X(EVENT_RAWCMDS, rawcmds)

#define EVENT_BIT_NUMBER(constant, word) constant##_NUMBER,
enum event_class_number { EVENT_CLASSES_TABLE(EVENT_BIT_NUMBER) EVENT_CLASS_COUNT };
#define EVENT_BIT(constant, word) constant = 1 << constant##_NUMBER,
enum event_class { EVENT_CLASSES_TABLE(EVENT_BIT) };

enum event_kind {
    EVENT_ITEM_GET, EVENT_ITEM_STORE, EVENT_EVICTION, EVENT_DELETED,
    EVENT_CONN_NEW, EVENT_CONN_CLOSE, EVENT_CONN_TLS_ERROR, EVENT_SLAB_MOVE, EVENT_LRU_CRAWLER,
    EVENT_CHANGE,
};

enum event_found { EVENT_NOT_FOUND, EVENT_FOUND, EVENT_FLUSHED, EVENT_EXPIRED };
enum event_stored {
    EVENT_NOT_STORED,
    EVENT_STORED,
    EVENT_EXISTS,
    EVENT_NO_ITEM,
    EVENT_TOO_LARGE,
    EVENT_NO_MEMORY
};
enum event_command {
    /* of EVENT_ITEM_STORE */
    EVENT_BY_ADD, EVENT_BY_SET, EVENT_BY_REPLACE, EVENT_BY_APPEND, EVENT_BY_PREPEND, EVENT_BY_CAS,
    /* of EVENT_DELETED */
    EVENT_BY_DELETE, EVENT_BY_META_DELETE,
};
enum event_reason { EVENT_ERROR, EVENT_NORMAL, EVENT_IDLE_TIMEOUT, EVENT_SHUTDOWN };
enum event_move { EVENT_MOVE_STARTED, EVENT_MOVE_DONE, EVENT_MOVE_GIVEN_UP };

struct event_crawl {
    uint64_t examined, reclaimed;
    uint32_t elapsed_s, next_run_s;
};

/* A record. `text` is the key, or a connection's address, or the four texts of a change with a zero
 * byte after each. */
struct event_record {
    uint64_t gid;     /* number among all events of the process */
    uint64_t unix_us;
    uint8_t  kind;    /* enum event_kind */
    uint8_t  status;  /* enum event_found, event_stored, event_reason or event_move */
    uint8_t  command; /* enum event_command */
    uint8_t  class_id, to_class_id; /* to_class_id: of a slab move */
    bool     fetched;
    uint8_t  text_bytes;
    int32_t  fd;
    /* ttl_s: of a store; unused_s: since an evicted item was last used */
    uint32_t value_bytes, ttl_s, unused_s;
    union {
        int64_t            left_s; /* time that an evicted item had left; -1: for ever */
        struct event_crawl crawl;
    };
    char text[];
};
enum { EVENT_TEXT_MAX = 255 };

/* Events of requests, which a watcher may restrict to some keys. */
enum { EVENT_OF_REQUESTS = EVENT_FETCHERS | EVENT_MUTATIONS | EVENT_DELETIONS };
enum { EVENT_SAMPLE_MAX = 1 << 20 }; /* most keys for each sampled key */

/* The watched classes, and the sample of keys for events of requests: one key in sample_one_in (1:
 * all). A cache line that only watcher.c writes. */
struct event_mask {
    _Atomic uint32_t classes, sample_one_in;
} __attribute__((aligned(64)));
extern struct event_mask event_mask;
static inline unsigned event_watched(unsigned classes) {
    return __builtin_expect(
        atomic_load_explicit(&event_mask.classes, memory_order_relaxed) & classes, 0);
}
unsigned event_class_of(enum event_kind); /* the class's bit */
/* True if the key is in the sample. The hash is the same in every process, so samples of several
 * servers, or before and after a restart, have the same keys. Cost: 10 ns. */
bool     event_key_sampled(const char *key, size_t key_bytes, uint32_t one_in);
/* The watched classes without those that do not sample this key. */
unsigned event_classes_for(unsigned watched, const char *key, size_t key_bytes);

/* --- threads --- */
/* Creates the thread's ring. False: out of memory or rings; then the thread's events are lost. */
bool event_thread_begin(void);
void event_thread_end(void); /* the ring stays until it is read, and then serves another thread */

/* --- events. Keys have at most KEY_BYTES_MAX bytes; fd: the client's connection, or -1 --- */
void event_item_get(const char *key, size_t key_bytes, enum event_found, unsigned class_id, int fd,
                    uint32_t value_bytes);
void event_item_store(const char *key, size_t key_bytes, enum event_stored, enum event_command,
                      uint32_t ttl_s, unsigned class_id, int fd, uint32_t value_bytes);
void event_eviction(const char *key, size_t key_bytes, bool fetched, int64_t left_s,
                    uint32_t unused_s, unsigned class_id, uint32_t value_bytes);
void event_deleted(const char *key, size_t key_bytes, enum event_command, unsigned class_id,
                   uint32_t value_bytes);
void event_conn_new(const char *address, int fd); /* tcp:1.2.3.4:5, tcp6:[..]:p, unix:path */
void event_conn_close(const char *address, enum event_reason, int fd);
void event_conn_tls_error(const char *words, int fd); /* cut at KEY_BYTES_MAX bytes */
void event_slab_move(unsigned from_class, unsigned to_class, enum event_move);
void event_lru_crawler(const struct event_crawl *);
/* A setting changed: name, old value, new value, and who changed it. Each text is cut at 60
 * bytes. */
void event_change(const char *what, const char *was, const char *is, const char *who);

/* --- for watcher.c: one reader at a time --- */
void                event_set_ring_bytes(size_t); /* size of rings made from now on */
uint64_t            event_next_gid(void);         /* takes a number */
uint64_t            event_last_gid(void);         /* the last number taken */
/* The oldest record of all rings, by gid, nearly in order (event.c); NULL: none. */
const struct event_record *event_oldest(void);
void                event_take(void);             /* removes the record of event_oldest */
void                event_rings_count(uint64_t *written, uint64_t *dropped);
void                event_rings_free(void); /* frees rings without a thread; nobody reads */
#endif
