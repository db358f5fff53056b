#include "serve/published.h"

#include <stdlib.h>
#include <string.h>

struct published_version {
    struct published_version *next; /* of those that were replaced */
    _Alignas(max_align_t) char value[];
};

/* A reader counts itself before it loads the version; the owner stores a version before it looks at
 * the count. So where the owner sees no reader, each reader to come finds the new version. */
static void published_free_unread(struct published *p) {
    if (atomic_load(&p->readers) == 0) {
        for (struct published_version *v = p->replaced, *next; v != NULL; v = next) {
            next = v->next;
            free(v);
        }
        p->replaced = NULL;
    }
}

bool published_set(struct published *p, const void *value, size_t bytes) {
    struct published_version *v = malloc(sizeof *v + bytes);
    if (v == NULL) {
        return false;
    }
    memcpy(v->value, value, bytes);
    struct published_version *before = atomic_exchange(&p->now, v);
    if (before != NULL) {
        before->next = p->replaced;
        p->replaced = before;
    }
    published_free_unread(p);
    return true;
}

void published_fini(struct published *p) {
    published_free_unread(p);
    free(atomic_load_explicit(&p->now, memory_order_relaxed));
    atomic_store_explicit(&p->now, NULL, memory_order_relaxed);
}

const void *published_now(const struct published *p) {
    return atomic_load_explicit(&p->now, memory_order_relaxed)->value;
}

void published_copy(struct published *p, void *to, size_t bytes) {
    atomic_fetch_add(&p->readers, 1);
    memcpy(to, atomic_load(&p->now)->value, bytes);
    atomic_fetch_sub(&p->readers, 1);
}
