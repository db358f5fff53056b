/* The third pass: in each page, the chunks that no item has claimed become free. */
#include "cache/adopt/adoption.h"

static void count_freed(struct adopter *t, const struct item *it) {
    t->n.drafts += item_state(it) == CHUNK_DRAFT && item_key_len(it) != 0;
    t->n.pieces += item_state(it) == CHUNK_LINKED && item_key_len(it) == 0;
}

static void free_in_page(struct adopter *t, uint32_t page) {
    struct cache *c = t->a->c;
    uint32_t free_head = 0, free_count = 0;
    for (uint32_t chunk = slab_page(c->slab, page)->chunk_count; chunk-- > 0;) {
        if (claim_is(&t->a->claims, page, chunk)) {
            continue;
        }
        struct item *it = slab_page_chunk(c->slab, page, chunk);
        count_freed(t, it);
        item_set_flags(it, CHUNK_FREE);
        node_set_next(&it->node, free_head);
        free_head = ref_of_item(c, it);
        free_count++;
        crash_point("chunk_freed");
    }
    recall_free_chunks(c->slab, page, free_head, free_count);
}

void adopt_free(struct adopter *t) {
    struct adoption *a = t->a;
    uint32_t i;
    while (adoption_next(&a->next_free, a->recall.pages, &i)) {
        free_in_page(t, a->recall.list[i]);
    }
}
