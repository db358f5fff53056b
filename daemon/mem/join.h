/* Joins the small pages of a memory file into huge ones, in the background. tmpfs gives small pages
 * unless it was mounted or set otherwise (huge=within_size, shmem_enabled), and with them a read of
 * many keys takes some 5 % longer, a store 7 %. Since Linux 6.1 madvise can have them joined
 * (MADV_COLLAPSE), two pages of the arena at a time, whatever these settings say.
 *
 * Joining holds up whoever touches the two pages for about two milliseconds. So it is done by a
 * thread of its own, at a low priority, in at most a fifth of the time, once for each page that a
 * class gets. What cannot be joined now, for want of memory or because it is in use, is tried again
 * later, more and more rarely; an older system does without, silently.
 *
 * Threading: started and stopped by the arena's owner; anything else may go on meanwhile. */
#ifndef SLATE_MEM_JOIN_H
#define SLATE_MEM_JOIN_H
#include "mem/arena.h"

struct joiner;

/* NULL: there is nothing to be joined, or no means; all works without. */
struct joiner *joiner_start(struct arena *);
void           joiner_stop(struct joiner **); /* before the arena ends; of NULL nothing */
/* Pairs of pages that were joined, and tries that failed. Any thread; zeroes of NULL. */
struct join_facts {
    uint64_t joined, failed;
};
struct join_facts joiner_facts(const struct joiner *);
#endif
