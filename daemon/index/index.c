#include "index/index_line.h"

#include <string.h>

const struct index_kind *const index_kinds[] = {&index_bucket, &index_chained, &index_cuckoo,
                                                &index_hopscotch, NULL};

const struct index_kind *index_kind_find(const char *name) {
    for (const struct index_kind *const *kind = index_kinds; *kind != NULL; kind++) {
        if (strcmp((*kind)->name, name) == 0) {
            return *kind;
        }
    }
    return NULL;
}

bool index_init(struct index *ix, const struct index_kind *kind, struct index_pool *pool,
                const struct node_space *space) {
    memset(ix, 0, sizeof *ix);
    ix->kind = kind;
    ix->own_tags = kind->own_tags;
    ix->pool = pool;
    ix->space = space;
    ix->more_count = 1;
    atomic_init(&ix->count, INDEX_SEGMENT);
    return index_array_add(&ix->table, 0, pool, LINE_SEGMENT_BYTES);
}

void index_fini(struct index *ix) {
    index_array_free(&ix->table);
    index_array_free(&ix->more);
}

static bool index_wants_split(const struct index *ix, uint64_t items) {
    return items * 10 > (uint64_t)index_count(ix) * ix->kind->load_x10;
}

/* Splits empty lines, which moves nothing. */
void index_expect(struct index *ix, uint64_t items) {
    while (index_wants_split(ix, items) && ix->kind->split(ix)) {
    }
}

bool index_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    if (!ix->kind->insert(ix, hash, ref)) {
        return false;
    }
    if (index_wants_split(ix, ++ix->item_count)) {
        ix->kind->split(ix);
    }
    return true;
}

void index_replace(struct index *ix, uint64_t hash, uint32_t old_ref, uint32_t new_ref) {
    struct index_place at = ix->kind->seek(ix, hash, old_ref);
    assert(at.ref != NULL);
    line_change_begin(at.own, at.line);
    atomic_store_explicit(at.ref, new_ref, memory_order_relaxed);
    line_change_end(at.own, at.line);
}

void index_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    ix->kind->remove(ix, hash, ref);
    ix->item_count--;
}

uint64_t index_bytes(const struct index *ix) {
    return (uint64_t)index_count(ix) * sizeof(struct index_line) +
           (uint64_t)ix->more_count * ix->kind->more_bytes;
}
