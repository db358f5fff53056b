/* The verbs: a request of one protocol against the cache, its reply into the turn's bytes. Sessions
 * and sockets are above; nothing here knows them.
 *
 * A verb writes at p, where there is room for VERB_REPLY_BYTES, and returns where its reply ends. A
 * value that is borrowed from the cache rather than copied is noted by serving_put_fetched, and
 * sent before the byte at that place. NULL: no memory for that. Threading: the worker's. Cost: no
 * allocation, lock or system call of their own but for growing the list of borrowed values. */
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
    /* bytes that any one reply needs at most, but for borrowed values and commands' texts */
    VERB_REPLY_BYTES = 4096,
};
_Static_assert(VERB_REPLY_BYTES > ITEM_COPY_MAX + 8 + 1024, "a reply's head and a copied value");

/* A borrowed value among the bytes of an output. */
struct output_value {
    size_t       at; /* it comes before the byte at this place */
    struct item *item;
    uint32_t     value_bytes;
};

/* What the verbs of a worker's turn work on. */
struct serving {
    struct cache          *cache;
    struct cache_thread   *ct;
    struct serve_counters *counters;
    const struct index_hint *spot;   /* of the key of the request at hand */
    struct prefix_stats   *prefixes; /* of `stats detail`, NULL while that is off */
    unsigned          watched; /* classes of events somebody watches, while requests run */
    struct cache_view looked;  /* then: what the request at hand finds (observe.c) … */
    int               fd;      /* … and the connection it came by */
    char  *bytes; /* the turn's replies, one behind the other */
    size_t used, room;
    struct output_value *values;
    size_t   value_count, value_room;
    uint64_t value_bytes; /* borrowed since it was set to 0 */
    char     scratch[ITEM_COPY_MAX + 16];
};

/* --- reply.c --- */
/* Writes the value that cache_fetch copied to `scratch`, or has the one that it borrowed sent at p.
 * Returns where the reply goes on; NULL: no memory, and what was borrowed is returned. */
char *serving_put_fetched(struct serving *, char *p, const struct cache_view *);
/* Makes room for n more bytes of replies; false: no memory, and nothing has changed. */
bool serving_grow(struct serving *, size_t n);

/* --- verbs_classic.c, verbs_meta.c, verbs_binary.c: run a request, write its reply at p, return
 * the end --- */
char *classic_run(struct serving *, const struct request *, char *p);
char *meta_run(struct serving *, const struct request *, char *p);
char *binary_run(struct serving *, const struct request *, char *p);
/* of VERB_BINARY_ANSWER */
char *binary_answer(const struct request *, char *p);
/* What to store, and the reply once it was tried. */
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

/* Every failed ms leaves nothing behind, whatever its mode. */
void meta_drop(struct serving *, const struct key *);

/* Counts an operation by its key's prefix. */
static inline void serving_note(const struct serving *sv, const struct key *key,
                                enum prefix_event event) {
    if (sv->prefixes) {
        prefix_stats_note(sv->prefixes, key, event);
    }
}

/* --- text into a reply --- */
static inline char *put_bytes(char *p, const char *text, size_t n) {
    memcpy(p, text, n);
    return p + n;
}
#define PUT(p, text) put_bytes((p), (text), sizeof(text) - 1)
static inline char *put_text(char *p, const char *text) { return put_bytes(p, text, strlen(text)); }
/* A key, 32 bytes at a time: keys lie in buffers with slack behind, replies have room. */
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
