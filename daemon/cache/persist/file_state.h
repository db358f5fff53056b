/* What a cache keeps in its memory file beside pages and items: where CAS values have come to, the
 * clocks, whose policy is whose. All of it is found again after a crash as it was when a command
 * was last answered. Without a file each call is a branch. */
#ifndef SLATE_CACHE_PERSIST_FILE_STATE_H
#define SLATE_CACHE_PERSIST_FILE_STATE_H
#include "cache/partition.h"

/* Makes the arena of c->config.memory_file, and takes the file. Goes on with the file's clock;
 * nobody may have read the clock before. False: `config.why` says why. */
bool file_state_open(struct cache *, size_t reserve_bytes, unsigned partitions);
/* True if file_state_open would take a file that another process serves from. False: `config.why`
 * has the reason. */
bool file_state_fits(const struct cache_config *, unsigned partitions);
/* Brings back the classes and their policies from an old file. False: as above. */
bool file_state_load_classes(struct cache *);
/* Makes memory for so many zeroed partitions: in the file's front, where a later start finds their
 * CAS counts again. NULL: out of memory. */
struct partition *file_state_make_partitions(struct cache *, unsigned count);
void file_state_free_partitions(struct cache *);
/* Each partition counts its CAS on from the highest of all. To be called before anybody stores. */
void file_state_begin_cas(struct cache *);
/* Everything that was recalled and adopted is in use now. A crash from here on leaves the file as
 * it is then. */
void file_state_serve(struct cache *);
/* Everything is settled and no thread is left: the next start finds all of it. */
void file_state_stop(struct cache *);

/* Whether the file holds items to be adopted. */
static inline bool file_state_is_old(const struct cache *c) {
    return c->arena->file != NULL && !c->arena->file->is_new;
}
/* The policy that the class had in the file; NULL: not known. */
const struct evict_policy *file_state_policy(const struct cache *, unsigned class_id);
/* To be called after a change of a class's policy; class 0 stands for the whole. */
void file_state_save_policy(struct cache *, unsigned class_id);
/* To be called after the items' clock was set forward, before the flush is answered. */
void file_state_save_flush(struct cache *);
#endif
