/* What every store obeys. */
#ifndef SLATE_CACHE_RULES_H
#define SLATE_CACHE_RULES_H
#include "cache/partition.h"

uint8_t item_flags_for(const struct cache *, uint32_t client_flags, bool binary_key);
/* The condition of a store against the item that is there (or NULL). */
enum cache_status store_condition_of(const struct cache_store *, const struct item *old);
static inline enum cache_status store_condition(const struct cache_store *s,
                                                const struct item *old) {
    return s->mode == CACHE_SET && !s->compare ? CACHE_OK : store_condition_of(s, old);
}
/* Meta I with a CAS lower than that of the item that it replaces: the value of a client that was
 * overtaken. */
bool store_is_late(const struct cache_store *, const struct item *old);
/* The marks that a compared store leaves: one that is late makes the new item stale. */
uint8_t store_marks(const struct cache_store *, const struct item *old);
/* A set that failed must not leave the old value behind. */
void store_removes_old(struct cache_thread *, const struct key *, const struct cache_store *);
/* The same for a store that failed for its size or for memory, which is counted. Returns `why`. */
enum cache_status store_refused(struct cache_thread *, const struct key *,
                                const struct cache_store *, enum cache_status why);
/* `class_id`: of the item that was stored, or of the old one that refused it. */
void store_counted(struct cache_thread *, const struct key *, const struct cache_store *,
                   enum cache_status, unsigned class_id);
#endif
