#include "index/index.h"

#include <assert.h>
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
    ix->pool = pool;
    ix->space = space;
    return kind->init(ix);
}

void index_fini(struct index *ix) {
    if (ix->kind != NULL) {
        ix->kind->fini(ix);
        ix->kind = NULL;
    }
}

void index_expect(struct index *ix, uint64_t items) {
    if (ix->kind->expect != NULL) {
        ix->kind->expect(ix, items);
    }
}

bool index_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    bool put = ix->kind->insert(ix, hash, ref);
    ix->item_count += put;
    return put;
}

void index_replace(struct index *ix, uint64_t hash, uint32_t old_ref, uint32_t new_ref) {
    bool there = ix->kind->replace(ix, hash, old_ref, new_ref);
    assert(there);
    (void)there;
}

void index_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    bool there = ix->kind->remove(ix, hash, ref);
    assert(there);
    ix->item_count -= there;
}
