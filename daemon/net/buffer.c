#include "net/buffer.h"

#include <assert.h>
#include <stdlib.h>

static void buffer_fact_add(_Atomic uint64_t *n, uint64_t by) {
    atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

bool buffers_init(struct buffers *b, struct server_conns *facts, size_t held_bytes_most) {
    *b = (struct buffers){.facts = facts,
                          .held_bytes_most = held_bytes_most,
                          .region = aligned_alloc(64, BUFFER_REGION_BYTES)};
    if (b->region == NULL) {
        return false;
    }
    buffer_fact_add(&facts->buffer_count, 1);
    buffer_fact_add(&facts->buffer_bytes, BUFFER_REGION_BYTES);
    buffer_fact_add(&facts->buffer_free_bytes, BUFFER_REGION_BYTES);
    return true;
}

static void buffer_free(struct buffers *b, struct leftover *leftover) {
    buffer_fact_add(&b->facts->buffer_count, (uint64_t)-1);
    buffer_fact_add(&b->facts->buffer_bytes, -(uint64_t)leftover->bytes_max);
    free(leftover);
}

void buffers_fini(struct buffers *b) {
    if (b->region == NULL) {
        return;
    }
    while (b->pool != NULL) {
        struct leftover *leftover = b->pool;
        b->pool = leftover->next;
        b->unreported_bytes += BUFFER_LEFTOVER_BYTES;
        buffer_free(b, leftover);
    }
    buffers_turn_end(b);
    buffer_fact_add(&b->facts->buffer_count, (uint64_t)-1);
    buffer_fact_add(&b->facts->buffer_bytes, -(uint64_t)BUFFER_REGION_BYTES);
    buffer_fact_add(&b->facts->buffer_free_bytes, -(uint64_t)BUFFER_REGION_BYTES);
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
    size_t all_bytes = (n + BUFFER_SLACK + 63) & ~(size_t)63;
    b->used -= BUFFER_SLICE_BYTES;
    b->used += all_bytes < BUFFER_SLICE_BYTES ? all_bytes : BUFFER_SLICE_BYTES;
}

void buffers_turn_end(struct buffers *b) {
    b->used = 0;
    if (b->unreported_bytes != 0) {
        buffer_fact_add(&b->facts->buffer_free_bytes, (uint64_t)-b->unreported_bytes);
        b->unreported_bytes = 0;
    }
}

void buffers_hold_replies(struct buffers *b, size_t bytes) {
    b->held_bytes += bytes;
    buffer_fact_add(&b->facts->reply_count, 1);
    buffer_fact_add(&b->facts->reply_bytes, bytes);
}

void buffers_drop_replies(struct buffers *b, size_t bytes) {
    b->held_bytes -= bytes;
    buffer_fact_add(&b->facts->reply_count, (uint64_t)-1);
    buffer_fact_add(&b->facts->reply_bytes, -(uint64_t)bytes);
}

struct leftover *buffers_take(struct buffers *b, size_t bytes) {
    struct leftover *leftover = b->pool;
    size_t room = bytes <= BUFFER_LEFTOVER_BYTES ? BUFFER_LEFTOVER_BYTES : bytes;
    if (!buffers_may_hold(b, room)) {
        return NULL;
    }
    if (bytes <= BUFFER_LEFTOVER_BYTES && leftover != NULL) {
        b->pool = leftover->next;
        b->pool_count--;
        b->unreported_bytes += BUFFER_LEFTOVER_BYTES;
        b->held_bytes += room;
        leftover->n = 0;
        return leftover;
    }
    leftover = malloc(sizeof *leftover + room + BUFFER_SLACK);
    if (leftover != NULL) {
        b->held_bytes += room;
        leftover->bytes_max = room;
        leftover->n = 0;
        buffer_fact_add(&b->facts->buffer_count, 1);
        buffer_fact_add(&b->facts->buffer_bytes, room);
    }
    return leftover;
}

void buffers_release(struct buffers *b, struct leftover *leftover) {
    b->held_bytes -= leftover->bytes_max;
    if (leftover->bytes_max == BUFFER_LEFTOVER_BYTES && b->pool_count < BUFFER_POOL_MAX) {
        leftover->next = b->pool;
        b->pool = leftover;
        b->pool_count++;
        b->unreported_bytes -= BUFFER_LEFTOVER_BYTES;
    } else {
        buffer_free(b, leftover);
    }
}
