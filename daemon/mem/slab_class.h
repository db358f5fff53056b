/* The types that the files of the slab store share, and the fields of a class that any thread may
 * read without a lock. slab.h has the functions. */
#ifndef SLATE_MEM_SLAB_CLASS_H
#define SLATE_MEM_SLAB_CLASS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "mem/arena.h"
#include "mem/class_set.h"
#include "mem/class_sizes.h"
#include "mem/item.h"

enum { SLAB_CLASSES_MAX = CLASS_SET_IDS, SLAB_CLASS_NONE = 0 }; /* ids 1 to 255 */
/* as many as memcached has, so that a growth factor gives the same classes */
enum { SLAB_CLASSES_AT_START = 63 };

/* Room in the smallest chunk beyond -n's bytes: the size of memcached's header. Classes then have
 * memcached's sizes, and no item needs a larger chunk than in memcached. */
enum { SLAB_HEADER_ROOM = 48 };

/* The least size of the largest chunk: room for the head of a chained item with the longest key,
 * and for a number behind the key. */
enum { SLAB_CHUNK_MAX_LEAST = 320 };
_Static_assert(SLAB_CHUNK_MAX_LEAST >= sizeof(struct item) + 8 + 12 + KEY_BYTES_MAX + 20,
               "any head fits");
/* With a largest chunk of at least this size, a value that is copied is never chained, and so is
 * always read without a lock. */
enum { SLAB_CHUNK_MAX_LOCKFREE = 4096 };
_Static_assert(SLAB_CHUNK_MAX_LOCKFREE >=
                   sizeof(struct item) + 8 + 12 + KEY_BYTES_MAX + ITEM_COPY_MAX,
               "chained implies large");

enum slab_class_state {
    SLAB_CLASS_UNUSED,  /* the id is free */
    SLAB_CLASS_ACTIVE,
    SLAB_CLASS_RETIRED, /* the geometry does not have its size */
};

struct slab_class {
    struct lock      lock;
    _Atomic uint8_t  state; /* enum slab_class_state; changes under the lock */
    /* these change only while the class has no page and no item */
    _Atomic uint32_t chunk_bytes, chunks_per_page;
    uint32_t         partial; /* first page with free chunks */
    /* the first and the last of all its pages, in the order of their arrival */
    uint32_t         owned, owned_last;
    uint32_t         round_at; /* the page where slab_next_pages continues; PAGE_NONE: the first */
    _Atomic uint32_t page_count;
    _Atomic uint32_t free_count; /* free chunks in pages that are not draining */
    _Atomic uint32_t moving;     /* pages that are draining */
} __attribute__((aligned(64)));

struct slab {
    struct arena     *arena;
    /* from the configuration, as class_most is */
    uint32_t          chunk_bytes_first, chunk_bytes_max;
    struct size_list  configured_sizes; /* the sizes that the configuration gives */
    unsigned          class_most;
    _Atomic unsigned  class_count; /* the highest id */
    _Atomic uint32_t  pages_acquired;      /* pages that all classes together ever got */
    _Atomic uint32_t  withdrawn;   /* pages that were withdrawn from a class and not placed yet */
    _Atomic(const struct class_sizes *) geometry; /* the current geometry: one of the two below */
    struct class_sizes   tables[2];
    struct slab_class classes[SLAB_CLASSES_MAX];
};

/* The current geometry, valid until the end of the turn (cache/cache.h): the second change after
 * this one overwrites it. */
static inline const struct class_sizes *slab_geometry(const struct slab *s) {
    return atomic_load_explicit(&s->geometry, memory_order_acquire);
}
/* The smallest class whose chunks hold `bytes`. SLAB_CLASS_NONE: no chunk does, so the value must
 * be chained. */
static inline unsigned slab_class_of(const struct slab *s, size_t bytes) {
    return class_sizes_class_of(slab_geometry(s), bytes);
}

static inline struct page *slab_page(const struct slab *s, uint32_t page) {
    return &s->arena->table[page];
}
static inline unsigned slab_page_class(const struct slab *s, uint32_t page) {
    return atomic_load_explicit(&s->arena->table[page].class_id, memory_order_relaxed);
}
static inline enum slab_class_state slab_class_state(const struct slab *s, unsigned class_id) {
    return (enum slab_class_state)atomic_load_explicit(&s->classes[class_id].state,
                                                       memory_order_relaxed);
}
static inline uint32_t slab_chunk_bytes(const struct slab *s, unsigned class_id) {
    return atomic_load_explicit(&s->classes[class_id].chunk_bytes, memory_order_relaxed);
}
static inline unsigned slab_ref_class(const struct slab *s, uint32_t ref) {
    return slab_page_class(s, arena_page_of_ref(s->arena, ref));
}
static inline bool slab_page_draining(const struct slab *s, uint32_t page) {
    return atomic_load_explicit(&s->arena->table[page].state, memory_order_relaxed) ==
           PAGE_DRAINING;
}
static inline bool slab_has_free_chunk(const struct slab *s, unsigned class_id) {
    return atomic_load_explicit(&s->classes[class_id].free_count, memory_order_relaxed) > 0;
}
/* How many pages a class could lose if it retained `retained`; draining pages count as gone. */
static inline uint32_t slab_pages_beyond(const struct slab *s, unsigned class_id,
                                         uint32_t retained) {
    const struct slab_class *c = &s->classes[class_id];
    uint32_t pages = atomic_load_explicit(&c->page_count, memory_order_relaxed);
    retained += atomic_load_explicit(&c->moving, memory_order_relaxed);
    return pages > retained ? pages - retained : 0;
}
/* Whether a chunk can be taken without an eviction, as seen without the lock. */
static inline bool slab_has_free(const struct slab *s, unsigned class_id) {
    return slab_has_free_chunk(s, class_id) || arena_pages_free(s->arena) > 0;
}
#endif
