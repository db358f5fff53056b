/* A worker's receive buffers.
 *
 * Bytes of a turn are received into slices of one region, one behind the other, so that many small
 * requests share few cache lines. Only what a turn leaves unfinished is copied into a buffer that
 * the connection keeps until its next turn; these come from a pool of equal ones, except the few
 * that hold a line longer than that. What connections hold, these buffers and replies that their
 * clients do not take, is bounded by a worker's share of read_buf_mem_limit.
 *
 * Threading: the worker's. Every buffer has BUFFER_SLACK readable bytes behind its end. */
#ifndef SLATE_NET_BUFFER_H
#define SLATE_NET_BUFFER_H
#include <stdbool.h>
#include <stddef.h>

#include "server/server.h"

enum {
    BUFFER_SLACK = 64,
    BUFFER_RECEIVE_BYTES = 16 * 1024, /* of one receive */
    /* room for a request line, a value of ITEM_COPY_MAX and its line end */
    BUFFER_KEPT_BYTES = 4480,
    BUFFER_REGION_BYTES = 512 * 1024,
    BUFFER_SLICE_BYTES = BUFFER_KEPT_BYTES + BUFFER_RECEIVE_BYTES + BUFFER_SLACK,
    BUFFER_POOL_MAX = 64,
    BUFFER_LAST_SHARE = 8, /* this share of what may be held is kept for last words */
};

struct kept {
    struct kept *next;      /* in the pool */
    size_t       bytes_max; /* without slack */
    size_t       n;
    char         bytes[];
};

struct buffers {
    struct server_conns *facts;
    char        *region;
    size_t       used;       /* bytes of the region that this turn has used */
    struct kept *pool;
    unsigned     pool_count;
    /* growth and shrinking of the pool that facts were not told yet; in a turn they mostly cancel
     * out */
    int64_t      lent_bytes;
    /* what connections hold: buffers lent to them, and what buffers_hold was told … */
    size_t       held_bytes;
    size_t       held_most;  /* … and how much that may be; 0: no limit */
};

/* false: out of memory */
bool buffers_init(struct buffers *, struct server_conns *, size_t held_most);
void buffers_fini(struct buffers *);

/* Whether the region has a slice left in this turn. */
static inline bool buffers_have_slice(const struct buffers *b) {
    return b->used + BUFFER_SLICE_BYTES <= BUFFER_REGION_BYTES;
}
static inline bool buffers_half_free(const struct buffers *b) {
    return b->used + BUFFER_SLICE_BYTES <= BUFFER_REGION_BYTES / 2;
}
/* A slice of BUFFER_SLICE_BYTES, when there is one. buffers_trim gives back all but `n` bytes of
 * the latest. */
char *buffers_slice(struct buffers *);
void  buffers_trim(struct buffers *, size_t n);
void  buffers_turn_end(struct buffers *); /* every slice is given back */

/* Whether connections may hold so many bytes more … */
static inline bool buffers_may_hold(const struct buffers *b, size_t bytes) {
    return b->held_most == 0 ||
           b->held_bytes + bytes <= b->held_most - b->held_most / BUFFER_LAST_SHARE;
}
/* … and the same for a client's last words, after which it holds nothing more. */
static inline bool buffers_may_hold_last(const struct buffers *b, size_t bytes) {
    return b->held_most == 0 || b->held_bytes + bytes <= b->held_most;
}
/* Notes a connection's unsent replies, as one object of so many bytes. Their memory is the
 * connection's. */
void buffers_hold_replies(struct buffers *, size_t bytes);
void buffers_lose_replies(struct buffers *, size_t bytes);

/* A buffer with room for at least so many bytes; NULL: out of memory, or more than connections may
 * hold. */
struct kept *buffers_take(struct buffers *, size_t bytes);
void         buffers_give(struct buffers *, struct kept *taken);
#endif
