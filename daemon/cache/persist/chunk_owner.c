#include "cache/persist/chunk_owner.h"

#include <stdlib.h>

#include "cache/items/item_value.h"

size_t chunk_owners_bytes(const struct cache *c, uint32_t chunks) {
    return chunks / 8 + (size_t)c->arena->page_max * sizeof(uint32_t);
}

bool chunk_owners_init(struct chunk_owners *cl, struct cache *c, const struct load_result *recall) {
    *cl = (struct chunk_owners){.c = c,
                               .bit_at = calloc(c->arena->page_max + 1, sizeof *cl->bit_at)};
    for (uint32_t i = 0; cl->bit_at != NULL && i < recall->pages; i++) {
        cl->bit_at[recall->list[i]] = cl->count;
        cl->count += slab_page(c->slab, recall->list[i])->chunk_count;
    }
    cl->bits = calloc(cl->count / 64 + 1, sizeof *cl->bits);
    return cl->bit_at != NULL && cl->bits != NULL;
}

void chunk_owners_fini(struct chunk_owners *cl) {
    free(cl->bit_at);
    free((void *)cl->bits);
}

static uint32_t owner_bit(const struct chunk_owners *cl, const void *chunk) {
    uint32_t page = arena_page_of(cl->c->arena, chunk);
    size_t at = (size_t)((const char *)chunk - arena_page_start(cl->c->arena, page));
    return cl->bit_at[page] + (uint32_t)(at / slab_page(cl->c->slab, page)->chunk_bytes);
}
/* False: the chunk has an owner already. */
static bool owner_claim(struct chunk_owners *cl, const void *chunk) {
    uint32_t bit = owner_bit(cl, chunk);
    uint64_t mask = UINT64_C(1) << bit % 64;
    return !(atomic_fetch_or_explicit(&cl->bits[bit / 64], mask, memory_order_relaxed) & mask);
}
static void owner_release(struct chunk_owners *cl, const void *chunk) {
    uint32_t bit = owner_bit(cl, chunk);
    atomic_fetch_and_explicit(&cl->bits[bit / 64], ~(UINT64_C(1) << bit % 64),
                              memory_order_relaxed);
}
/* Releases the first `most` pieces of an item's chain. */
static void owner_release_pieces(struct chunk_owners *cl, struct item *it, uint64_t most) {
    uint32_t ref = item_chained(it) ? item_load32(item_chain(it)) : 0;
    for (; ref != 0 && most > 0; most--) {
        const struct item_tail *t = (const void *)item_at(cl->c, ref);
        owner_release(cl, t);
        ref = item_tail_next(t);
    }
}

/* True if the head is a copy of this item: a move was under way at the crash. A move updates the
 * pieces' heads one by one. */
static bool owner_is_copy(const struct cache *c, uint32_t head_ref, struct item *it) {
    char key[KEY_BYTES_MAX + 14];
    struct item *other = item_at(c, head_ref);
    if (!item_chunk_is_at(c, head_ref) || item_state(other) != CHUNK_LINKED ||
        !item_chained(other) || item_key_len(other) == 0) {
        return false;
    }
    struct key of = {.ptr = key, .len = item_copy_key(it, key)};
    return item_has_key(other, &of) &&
           item_load32(item_chain(other)) == item_load32(item_chain(it));
}

/* Bytes of a piece, if the piece can belong to this item's chain, of which `left` bytes are
 * missing; 0: the piece cannot. */
static uint32_t owner_piece_bytes(const struct chunk_owners *cl, uint32_t ref, struct item *it,
                                  uint64_t left) {
    const struct cache *c = cl->c;
    if (!item_chunk_is_at(c, ref) || slab_ref_class(c->slab, ref) == SLAB_CLASS_NONE) {
        return 0;
    }
    const struct item_tail *t = (const void *)item_at(c, ref);
    uint32_t used_bytes = item_load32(&t->used_bytes),
             room = slab_chunk_bytes(c->slab, slab_ref_class(c->slab, ref)) - ITEM_TAIL_HEADER;
    bool is = item_key_len((const void *)t) == 0 && item_state((const void *)t) == CHUNK_LINKED &&
              used_bytes <= room && used_bytes <= left &&
              (item_load32(&t->head) == ref_of_item(c, it) ||
               owner_is_copy(c, item_load32(&t->head), it));
    return is ? used_bytes : 0;
}

/* Claims the pieces of an item if they are its complete value. */
static bool owner_claim_chain(struct chunk_owners *cl, struct item *it) {
    const struct cache *c = cl->c;
    uint32_t ref = item_load32(item_chain(it));
    uint64_t left = item_value_bytes(it) - value_bytes_in_head(c, it), claimed = 0;
    while (left > 0) {
        uint32_t used_bytes = owner_piece_bytes(cl, ref, it, left);
        if (used_bytes == 0 || !owner_claim(cl, item_at(c, ref))) {
            break;
        }
        item_store32(&((struct item_tail *)(void *)item_at(c, ref))->head, ref_of_item(c, it));
        claimed++;
        left -= used_bytes;
        ref = item_tail_next((const void *)item_at(c, ref));
    }
    /* a chain has at least one piece, whose class is the item's */
    if (left > 0 || ref != 0 || claimed == 0) {
        owner_release_pieces(cl, it, claimed);
        return false;
    }
    return true;
}

bool chunk_owner_is_claimed(const struct chunk_owners *cl, uint32_t page, uint32_t chunk) {
    uint32_t bit = cl->bit_at[page] + chunk;
    return atomic_load_explicit(&cl->bits[bit / 64], memory_order_relaxed) >> bit % 64 & 1;
}

bool chunk_owner_claim_item(struct chunk_owners *cl, struct item *it) {
    return (!item_chained(it) || owner_claim_chain(cl, it)) && (owner_claim(cl, it), true);
}

void chunk_owner_release_item(struct chunk_owners *cl, struct item *it) {
    owner_release_pieces(cl, it, UINT64_MAX);
    owner_release(cl, it);
}
