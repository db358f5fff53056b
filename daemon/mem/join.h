/* Joins the small pages of a memory file into huge ones, in the background. tmpfs gives small pages
 * unless it was mounted or set otherwise (huge=within_size, shmem_enabled). With small pages a read
 * of many keys takes some 5 % longer, a store 7 %. Since Linux 6.1 madvise can join them
 * (MADV_COLLAPSE), two pages of the arena at a time, whatever these settings say.
 *
 * Joining holds up every thread that touches the two pages for about two milliseconds. So a thread
 * of its own does it, at a low priority, in at most a fifth of the time, once for each page that a
 * class gets. If pages cannot be joined now, because memory is short or they are in use, the thread
 * tries again later, more and more rarely. On an older system there is no such thread, and nothing
 * is said.
 *
 * Threading: the arena's owner starts and stops it; all other threads go on meanwhile. */
#ifndef SLATE_MEM_JOIN_H
#define SLATE_MEM_JOIN_H
#include "mem/arena.h"

struct joiner;

/* NULL: there is nothing to join, or no means; all works without it. */
struct joiner *joiner_start(struct arena *);
void           joiner_stop(struct joiner **); /* before the arena ends; does nothing for NULL */
/* Pairs of pages that were joined, and tries that failed. Any thread may ask; all 0 for NULL. */
struct join_facts {
    uint64_t joined, failed;
};
struct join_facts joiner_facts(const struct joiner *);
#endif
