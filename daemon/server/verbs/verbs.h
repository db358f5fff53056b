/* The verbs: a request of one protocol against the cache, its reply into the turn's bytes. Sessions
 * and sockets are above; nothing here knows them.
 *
 * A verb writes its reply at p, where there is room for VERB_REPLY_BYTES, and returns the reply's
 * end. A value may be borrowed from the cache in place of being copied: serving_put_fetched notes
 * the place at which the value is sent. NULL: no memory for that note. Threading: the worker's
 * thread. Cost: no allocation, lock or system call, except to grow the list of borrowed values. */
#ifndef SLATE_SERVER_VERBS_VERBS_H
#define SLATE_SERVER_VERBS_VERBS_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cache/cache.h"
#include "mem/item.h"
#include "protocol/meta.h"
#include "protocol/parse.h"
#include "protocol/request.h"
#include "server/prefix_stats.h"
#include "server/server.h"

enum {
    /* most bytes of a reply, without borrowed values and commands' texts */
    VERB_REPLY_BYTES = 4096,
};
_Static_assert(VERB_REPLY_BYTES > ITEM_COPY_MAX + 8 + 1024, "a reply's head and a copied value");

/* A borrowed value among the bytes of an output. */
struct output_value {
    size_t       at; /* the value is sent before the byte at this place */
    struct item *item;
    uint32_t     value_bytes;
};

/* The state that verbs share in a worker's turn. */
struct serving {
    struct cache          *cache;
    struct cache_thread   *ct;
    struct serve_counters *counters;
    const struct index_hint *hint;   /* for the key of the current request */
    struct prefix_stats   *prefixes; /* of `stats detail`; NULL: off */
    unsigned          watched; /* watched classes of events, while requests run */
    struct cache_view found;  /* while watched: the item that observe_lookup found */
    int               fd;      /* while watched: the connection of the request */
    char  *bytes; /* the turn's replies, one behind the other */
    size_t used, room;
    struct output_value *values;
    size_t   value_count, value_room;
    uint64_t value_bytes; /* borrowed bytes since the last reset */
    char     scratch[ITEM_COPY_MAX + 16];
};

/* --- serving.c --- */
/* Writes the value that cache_fetch copied to `scratch`, or notes that the borrowed value is sent
 * at p. Returns the end of what was written. NULL: no memory; a borrowed value has been
 * returned. */
char *serving_put_fetched(struct serving *, char *p, const struct cache_view *);
/* Makes room for n more bytes of replies; false: no memory, and nothing has changed. */
bool serving_grow(struct serving *, size_t n);

/* --- verbs_classic.c, verbs_meta.c, verbs_binary.c: run a request, write its reply at p, return
 * the end --- */
char *classic_run(struct serving *, const struct request *, char *p);
char *meta_run(struct serving *, const struct request *, char *p);
char *binary_run(struct serving *, const struct request *, char *p);
/* runs VERB_BINARY_ANSWER */
char *binary_answer(const struct request *, char *p);
/* *_store_of fills in the arguments of a store; *_stored writes the reply after the store. */
void  classic_store_of(const struct serving *, const struct request *, struct cache_store *);
char *classic_stored(struct serving *, const struct request *, enum cache_status,
                     const struct cache_view *, char *p);
const char *meta_store_of(const struct serving *, const struct request *, struct meta_flags *,
                          struct cache_store *);
char *meta_stored(struct serving *, const struct request *, const struct meta_flags *,
                  enum cache_status, const struct cache_view *, char *p);
void  binary_store_of(const struct serving *, const struct request *, struct cache_store *);
char *binary_stored(struct serving *, const struct request *, enum cache_status,
                    const struct cache_view *, char *p);

/* Deletes the item of a failed ms: in any mode a failed ms leaves no item. */
void meta_drop(struct serving *, const struct key *);

/* Counts an operation by its key's prefix. */
static inline void serving_note(const struct serving *sv, const struct key *key,
                                enum prefix_event event) {
    if (sv->prefixes) {
        prefix_stats_count(sv->prefixes, key, event);
    }
}

/* --- text into a reply --- */
static inline char *put_bytes(char *p, const char *text, size_t n) {
    memcpy(p, text, n);
    return p + n;
}
#define PUT(p, text) put_bytes((p), (text), sizeof(text) - 1)
static inline char *put_text(char *p, const char *text) { return put_bytes(p, text, strlen(text)); }
/* Copies a key, 32 bytes at a time: keys lie in buffers with slack, and replies have room. */
static inline char *put_key(char *p, const struct key *key) {
    memcpy(p, key->ptr, 32);
    for (size_t i = 32; i < key->len; i += 32) {
        memcpy(p + i, key->ptr + i, 32);
    }
    return p + key->len;
}

static const char reply_too_large[] = "SERVER_ERROR object too large for cache\r\n";
static const char reply_no_memory[] = "SERVER_ERROR out of memory storing object\r\n";
static const char reply_bad_data[] = "CLIENT_ERROR bad data chunk\r\n";
#endif
