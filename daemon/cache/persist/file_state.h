/* The cache's state in its memory file beside pages and items: last CAS values, clocks, policies.
 * After a crash the state is as of the last reply to a command. Without a file each call is a
 * branch. */
#ifndef SLATE_CACHE_PERSIST_FILE_STATE_H
#define SLATE_CACHE_PERSIST_FILE_STATE_H
#include "cache/partition.h"

/* Creates the arena in c->config.memory_file, and takes the file. Continues the file's clock;
 * nobody may have read the clock before. False: `config.why` has the reason. */
bool file_state_open(struct cache *, size_t reserve_bytes, unsigned partitions);
/* True if file_state_open would take a file that another process serves from. False: `config.why`
 * has the reason. */
bool file_state_fits(const struct cache_config *, unsigned partitions);
/* Loads the classes and their policies from an old file. False: as above. */
bool file_state_load_classes(struct cache *);
/* Allocates zeroed partitions: in the file's front, where the next start finds their CAS. NULL: out
 * of memory. */
struct partition *file_state_make_partitions(struct cache *, unsigned count);
void file_state_free_partitions(struct cache *);
/* Each partition continues its CAS from the highest of all. Call before any store. */
void file_state_begin_cas(struct cache *);
/* Everything loaded and recovered is in use now. A crash from here on leaves the file as it is
 * then. */
void file_state_serve(struct cache *);
/* Everything is stored and no thread is left: the next start finds a complete file. */
void file_state_stop(struct cache *);

/* True if the file holds items to recover. */
static inline bool file_state_is_old(const struct cache *c) {
    return c->arena->file != NULL && !c->arena->file->is_new;
}
/* The class's policy in the file; NULL: unknown. */
const struct evict_policy *file_state_policy(const struct cache *, unsigned class_id);
/* Call after a change of a class's policy; class 0 stands for the cache. */
void file_state_save_policy(struct cache *, unsigned class_id);
/* Call after the items' clock was set forward, before the reply to the flush. */
void file_state_save_flush(struct cache *);
#endif
