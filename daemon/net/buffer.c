#include "net/buffer.h"

#include <assert.h>
#include <stdlib.h>

static void add(_Atomic uint64_t *n, uint64_t by) {
    atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

bool buffers_init(struct buffers *b, struct server_conns *facts, size_t held_most) {
    *b = (struct buffers){.facts = facts,
                          .held_most = held_most,
                          .region = aligned_alloc(64, BUFFER_REGION_BYTES)};
    if (b->region == NULL) {
        return false;
    }
    add(&facts->buffer_count, 1);
    add(&facts->buffer_bytes, BUFFER_REGION_BYTES);
    add(&facts->buffer_free_bytes, BUFFER_REGION_BYTES);
    return true;
}

static void release(struct buffers *b, struct kept *k) {
    add(&b->facts->buffer_count, (uint64_t)-1);
    add(&b->facts->buffer_bytes, -(uint64_t)k->bytes_max);
    free(k);
}

void buffers_fini(struct buffers *b) {
    if (b->region == NULL) {
        return;
    }
    while (b->pool != NULL) {
        struct kept *k = b->pool;
        b->pool = k->next;
        b->lent_bytes += BUFFER_KEPT_BYTES;
        release(b, k);
    }
    buffers_turn_end(b);
    add(&b->facts->buffer_count, (uint64_t)-1);
    add(&b->facts->buffer_bytes, -(uint64_t)BUFFER_REGION_BYTES);
    add(&b->facts->buffer_free_bytes, -(uint64_t)BUFFER_REGION_BYTES);
    free(b->region);
    b->region = NULL;
}

char *buffers_slice(struct buffers *b) {
    assert(buffers_have_slice(b));
    char *slice = b->region + b->used;
    b->used += BUFFER_SLICE_BYTES;
    return slice;
}

void buffers_trim(struct buffers *b, size_t n) {
    size_t whole = (n + BUFFER_SLACK + 63) & ~(size_t)63;
    b->used -= BUFFER_SLICE_BYTES;
    b->used += whole < BUFFER_SLICE_BYTES ? whole : BUFFER_SLICE_BYTES;
}

void buffers_turn_end(struct buffers *b) {
    b->used = 0;
    if (b->lent_bytes != 0) {
        add(&b->facts->buffer_free_bytes, (uint64_t)-b->lent_bytes);
        b->lent_bytes = 0;
    }
}

void buffers_hold_replies(struct buffers *b, size_t bytes) {
    b->held_bytes += bytes;
    add(&b->facts->reply_count, 1);
    add(&b->facts->reply_bytes, bytes);
}

void buffers_lose_replies(struct buffers *b, size_t bytes) {
    b->held_bytes -= bytes;
    add(&b->facts->reply_count, (uint64_t)-1);
    add(&b->facts->reply_bytes, -(uint64_t)bytes);
}

struct kept *buffers_take(struct buffers *b, size_t bytes) {
    struct kept *k = b->pool;
    size_t room = bytes <= BUFFER_KEPT_BYTES ? BUFFER_KEPT_BYTES : bytes;
    if (!buffers_may_hold(b, room)) {
        return NULL;
    }
    if (bytes <= BUFFER_KEPT_BYTES && k != NULL) {
        b->pool = k->next;
        b->pool_count--;
        b->lent_bytes += BUFFER_KEPT_BYTES;
        b->held_bytes += room;
        k->n = 0;
        return k;
    }
    k = malloc(sizeof *k + room + BUFFER_SLACK);
    if (k != NULL) {
        b->held_bytes += room;
        k->bytes_max = room;
        k->n = 0;
        add(&b->facts->buffer_count, 1);
        add(&b->facts->buffer_bytes, room);
    }
    return k;
}

void buffers_give(struct buffers *b, struct kept *k) {
    b->held_bytes -= k->bytes_max;
    if (k->bytes_max == BUFFER_KEPT_BYTES && b->pool_count < BUFFER_POOL_MAX) {
        k->next = b->pool;
        b->pool = k;
        b->pool_count++;
        b->lent_bytes -= BUFFER_KEPT_BYTES;
    } else {
        release(b, k);
    }
}
