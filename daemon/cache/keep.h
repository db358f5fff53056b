/* What a cache keeps in its memory file beside pages and items: where CAS values have come to, the
 * clocks, whose policy is whose. All of it is found again after a crash as it was when a command
 * was last answered. Without a file each call is a branch. */
#ifndef SLATE_CACHE_KEEP_H
#define SLATE_CACHE_KEEP_H
#include "cache/partition.h"

/* Makes the arena of c->config.memory_file, which is taken; goes on with its clock, which nobody
 * has looked at yet. False: `config.why` says why. */
bool keep_open(struct cache *, size_t reserve_bytes, unsigned partitions);
/* Brings back the classes of a file that is old, and whose policy is whose. False: as above. */
bool keep_recall_classes(struct cache *);
/* Memory for so many partitions: of the file's front, where their CAS counts are found again. They
 * are zeroes. NULL: out of memory */
struct partition *keep_partitions(struct cache *, unsigned count);
/* Copies the partitions out of the file's front, and its head, for when that is another process's:
 * keep_leave puts the copy in their place, keep_take_up_again takes back what the other has
 * written there. False: out of memory. */
bool keep_set_apart(struct cache *);
bool keep_leave(struct cache *);
void keep_take_up_again(struct cache *);
/* The file is no other process's any more: partitions go to its front. */
void keep_own(struct cache *);
/* The same where that process has ended without a word: what a start finds in a file is looked at
 * now. False: `config.why` says why. */
bool keep_inherit(struct cache *);
void keep_free_partitions(struct cache *);
/* Each partition counts on from where all of them had come to. Before anybody stores. */
void keep_count_cas(struct cache *);
/* What was recalled and adopted is all in use now: from here on a crash leaves what there is. */
void keep_serve(struct cache *);
/* All is settled and no thread is left: the next start finds all of it. */
void keep_stop(struct cache *);

/* whether the file holds something to be adopted */
static inline bool keep_is_old(const struct cache *c) {
    return c->arena->file != NULL && !c->arena->file->is_new;
}
/* The policy whose items the class held; NULL: not known. */
const struct evict_policy *keep_policy_of(const struct cache *, unsigned class_id);
/* after a change of a class's policy; of the whole's, and all classes' */
void keep_policy(struct cache *, unsigned class_id);
void keep_policies(struct cache *);
/* after the items' clock was set forward, before the flush is answered */
void keep_flush(struct cache *);
#endif
