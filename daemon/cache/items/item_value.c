/* An item's class, bytes, view and value. */
#include "cache/items/item_value.h"

unsigned chained_item_class(const struct cache *c, const struct item *it) {
    return slab_ref_class(c->slab, item_first_tail(it));
}

/* Not inlined, so that callers save no registers for this call. */
__attribute__((noinline)) static uint64_t
item_bytes_with_tails(const struct cache *c, const struct item *it, uint64_t head_bytes) {
    return head_bytes + item_value_bytes(it) + c->store->tail_count(c, it) * ITEM_TAIL_HEADER;
}

uint64_t cache_item_requested_bytes(const struct cache *c, const struct item *it) {
    uint8_t  flags = item_flags(it);
    uint64_t bytes = item_total_bytes(flags, item_key_len(it), item_value_bytes(it));
    return flags & ITEM_CHAINED ? item_bytes_with_tails(c, it, bytes) : bytes;
}

void cache_view_item(const struct cache *c, const struct item *it, struct cache_view *v) {
    uint8_t flags = item_flags(it);
    *v = (struct cache_view){
        .cas = item_cas(it),
        .value_bytes = item_value_bytes(it),
        .client_flags = item_client_flags(it),
        .exptime_s = item_exptime_s(it),
        .exptime_before_s = item_exptime_s(it),
        .last_access_s = node_used_s(&it->node) - cache_item_clock(c).ahead_s,
        .class_id = (uint8_t)cache_item_class(c, it),
        .fetched = node_fetched(&it->node),
        .stale = flags & ITEM_STALE,
        .lost = flags & ITEM_WON,
        .total_bytes = (uint32_t)item_total_bytes(flags & (unsigned)~ITEM_CHAINED, item_key_len(it),
                                                  item_value_bytes(it)),
        .binary_key = flags & ITEM_BINKEY,
    };
}

/* --- the value --- */

/* The part of the value in the item's own chunk. */
static struct iovec item_own_piece(const struct cache *c, const struct item *it) {
    uint8_t flags = item_flags(it);
    uint32_t value_bytes = item_value_bytes(it);
    return (struct iovec){
        .iov_base = (char *)(uintptr_t)it + item_value_offset(flags, item_key_len(it), value_bytes),
        .iov_len = flags & ITEM_CHAINED ? value_bytes_in_head(c, it) : value_bytes};
}

void item_value_copy_locked(const struct cache *c, const struct item *it, char *to) {
    struct iovec own = item_own_piece(c, it);
    bytes_load(to, own.iov_base, own.iov_len);
    if (!item_chained(it)) {
        return;
    }
    to += own.iov_len;
    for (uint32_t ref = item_first_tail(it); ref != 0;) {
        const struct item_tail *t = (const void *)item_at(c, ref);
        uint32_t used_bytes = item_load32(&t->used_bytes);
        bytes_load(to, item_tail_data(t), used_bytes);
        to += used_bytes;
        ref = item_tail_next(t);
    }
}

int cache_value_iov(const struct cache_thread *ct, const struct item *it, size_t skip,
                    struct cache_place *place, struct iovec *iov, int max) {
    const struct cache *c = ct->cache;
    struct iovec own = item_own_piece(c, it);
    struct cache_place at = {.before = own.iov_len};
    int n = 0;
    if (skip < own.iov_len && n < max) {
        iov[n++] = (struct iovec){(char *)own.iov_base + skip, own.iov_len - skip};
        skip = own.iov_len;
    }
    if (!item_chained(it)) {
        return n;
    }
    at.tail = item_first_tail(it);
    if (place != NULL && place->tail != 0 && place->before <= skip) {
        at = *place;
    }
    while (at.tail != 0 && n < max) {
        const struct item_tail *t = (const void *)item_at(c, at.tail);
        uint32_t used_bytes = item_load32(&t->used_bytes);
        if (skip < at.before + used_bytes) {
            if (place != NULL && n == 0) {
                *place = at;
            }
            iov[n++] = (struct iovec){item_tail_data(t) + (skip - at.before),
                                      at.before + used_bytes - skip};
            skip = at.before + used_bytes;
        }
        at = (struct cache_place){.tail = item_tail_next(t), .before = at.before + used_bytes};
    }
    return n;
}

/* --- chunks with unknown contents --- */

bool item_chunk_is_at(const struct cache *c, uint32_t ref) {
    const char *at = node_at(&c->arena->space, ref);
    if (ref == 0 || at < c->arena->pages ||
        at >= c->arena->pages + ((size_t)c->arena->page_max << PAGE_SHIFT)) {
        return false;
    }
    uint32_t page = arena_page_of(c->arena, at);
    uint32_t chunk_bytes =
        atomic_load_explicit(&slab_page(c->slab, page)->chunk_bytes, memory_order_relaxed);
    return chunk_bytes != 0 && (size_t)(at - arena_page_start(c->arena, page)) % chunk_bytes == 0;
}

bool item_copy_key_guarded(const struct item *it, char *bytes, struct key *key) {
    uint8_t len = item_key_len(it);
    if (len == 0 || len > KEY_BYTES_MAX || item_state(it) != CHUNK_LINKED) {
        return false;
    }
    bytes_load(bytes, (const char *)it + item_key_offset(item_flags(it), item_value_bytes(it)),
               len);
    *key = key_make(bytes, len);
    return true;
}
