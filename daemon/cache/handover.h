/* A cache goes over from one process to another, with the memory file in which its items lie.
 *
 *     the process that has it        the next process
 *                                    cache_create, with the file, borrowed, and `taken`
 *     every thread rests between two turns
 *     cache_image_put                cache_image_get: nothing in the file is changed
 *                                    cache_may_own
 *     … the cache is the next one's now …
 *     cache_leave, cache_destroy     cache_own, cache_settle_in; turns may begin
 *
 * Until cache_own either process may end, and the first one goes on as if nothing had happened. If
 * the next one ends between cache_own and cache_settle_in, the first one goes on with
 * cache_take_up_again. If the first one is killed before there is an image, the next one adopts the
 * items with cache_inherit, as a start would. */
#ifndef SLATE_CACHE_HANDOVER_H
#define SLATE_CACHE_HANDOVER_H
#include "cache/cache.h"

struct image;

/* A cache of another process, which goes on using it until this process calls cache_own. */
struct cache_taken {
    unsigned partitions;
    size_t   index_bytes; /* roughly what its index takes; that much memory is needed at once */
};

/* The descriptor of the memory file; the cache keeps it. -1: there is no file, and the cache cannot
 * be handed over. */
int      cache_file(const struct cache *);
unsigned cache_partitions(const struct cache *);
/* A hash of what both builds must have alike: the layout of an image and of everything in it. */
uint64_t cache_image_layout(void);
/* Roughly how many bytes an image would have; *index_bytes: the index's part of them. */
size_t   cache_image_bytes(const struct cache *, size_t *index_bytes);
/* Writes everything that is not in the file. False: a page is on its way from one class to another,
 * or memory is out. */
bool     cache_image_put(struct image *, struct cache *);
/* Takes an image in. NULL: it is done. Otherwise the reason: the image is not whole or comes from a
 * cache with other options, or memory is out. The cache can only be destroyed then. */
const char *cache_image_get(struct image *, struct cache *);
/* Asks the system for leave to write to the file. False: the system refuses. */
bool     cache_may_own(struct cache *);
/* To be called before anything else that changes the file. */
void     cache_own(struct cache *);
/* To be called after cache_own and before the first turn. From here on the cache cannot go back to
 * the other process. */
void     cache_settle_in(struct cache *);
/* Instead of an image, when the other process has ended: adopts the items from the file, which
 * takes as long as cache_create does. False: `why` says why; the cache can only be destroyed
 * then. */
bool     cache_inherit(struct cache *, char why[CACHE_WHY_BYTES]);
/* To be called after cache_image_put, when the process that took the cache has ended: the cache is
 * this process's again, as before. */
void     cache_take_up_again(struct cache *);
/* To be called after cache_image_put. From now on nothing that this process does changes the items,
 * and the process can only end. False: the system refuses, and the process must end at once. */
bool     cache_leave(struct cache *);
/* What clients hold that do not go over: values that are still coming, and borrowed ones. The next
 * process frees that memory in its first turn, and skips references that are no such item. */
enum cache_held_kind { CACHE_HELD_DRAFT, CACHE_HELD_BORROWED };
struct cache_held {
    uint32_t ref, kind;
};
struct cache_held cache_held(const struct cache *, enum cache_held_kind, const struct item *);
void     cache_held_give_back(struct cache_thread *, const struct cache_held *, unsigned count);
#endif
