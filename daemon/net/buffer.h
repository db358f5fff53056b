/* A worker's receive buffers.
 *
 * A turn receives bytes into slices of one region, one behind the other, so that many small
 * requests share few cache lines. Bytes that a turn leaves unfinished are copied into a leftover
 * buffer, which the connection holds until its next turn. Leftover buffers of the usual size come
 * from a pool; a few larger ones hold long lines. A worker's share of read_buf_mem_limit bounds the
 * memory of leftover buffers and of replies that clients do not take.
 *
 * Threading: the worker's thread. Every buffer has BUFFER_SLACK readable bytes behind its end. */
#ifndef SLATE_NET_BUFFER_H
#define SLATE_NET_BUFFER_H
#include <stdbool.h>
#include <stddef.h>

#include "server/server.h"

enum {
    BUFFER_SLACK = 64,
    BUFFER_RECEIVE_BYTES = 16 * 1024, /* most bytes of one receive */
    /* a request line, a value of ITEM_COPY_MAX bytes and its line end fit */
    BUFFER_LEFTOVER_BYTES = 4480,
    BUFFER_REGION_BYTES = 512 * 1024,
    BUFFER_SLICE_BYTES = BUFFER_LEFTOVER_BYTES + BUFFER_RECEIVE_BYTES + BUFFER_SLACK,
    BUFFER_POOL_MAX = 64,
    BUFFER_FINAL_SHARE = 8, /* one in so many bytes is reserved for final replies */
};

struct leftover {
    struct leftover *next;      /* in the pool */
    size_t       bytes_max; /* without slack */
    size_t       n;
    char         bytes[];
};

struct buffers {
    struct server_conns *facts;
    char        *region;
    size_t       used;       /* bytes of the region that this turn has used */
    struct leftover *pool;
    unsigned     pool_count;
    /* bytes that have left the pool and are not in `facts` yet: within a turn most come back */
    int64_t      unreported_bytes;
    /* bytes of leftover buffers and unsent replies that connections hold */
    size_t       held_bytes;
    size_t       held_bytes_most; /* the limit of held_bytes; 0: none */
};

/* false: out of memory */
bool buffers_init(struct buffers *, struct server_conns *, size_t held_bytes_most);
void buffers_fini(struct buffers *);

/* True: the region has a slice left in this turn. */
static inline bool buffers_have_slice(const struct buffers *b) {
    return b->used + BUFFER_SLICE_BYTES <= BUFFER_REGION_BYTES;
}
static inline bool buffers_half_free(const struct buffers *b) {
    return b->used + BUFFER_SLICE_BYTES <= BUFFER_REGION_BYTES / 2;
}
/* Returns a slice of BUFFER_SLICE_BYTES; buffers_have_slice must be true. buffers_trim gives back
 * all but `n` bytes of the latest slice. */
char *buffers_slice(struct buffers *);
void  buffers_trim(struct buffers *, size_t n);
void  buffers_turn_end(struct buffers *); /* every slice is given back */

/* True: connections may hold so many more bytes. */
static inline bool buffers_may_hold(const struct buffers *b, size_t bytes) {
    return b->held_bytes_most == 0 ||
           b->held_bytes + bytes <= b->held_bytes_most - b->held_bytes_most / BUFFER_FINAL_SHARE;
}
/* The same for a client's final reply, after which its connection holds nothing more. */
static inline bool buffers_may_hold_final(const struct buffers *b, size_t bytes) {
    return b->held_bytes_most == 0 || b->held_bytes + bytes <= b->held_bytes_most;
}
/* Counts a connection's unsent replies as one object of so many bytes. The connection owns the
 * memory. */
void buffers_hold_replies(struct buffers *, size_t bytes);
void buffers_drop_replies(struct buffers *, size_t bytes);

/* Returns a buffer with room for at least so many bytes. NULL: out of memory, or more bytes than
 * connections may hold. */
struct leftover *buffers_take(struct buffers *, size_t bytes);
void         buffers_release(struct buffers *, struct leftover *taken);
#endif
