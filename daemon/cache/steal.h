/* A page of another class for one that has nothing left, or what there is in place of one. */
#ifndef SLATE_CACHE_STEAL_H
#define SLATE_CACHE_STEAL_H
#include "cache/partition.h"

/* Empties a page for the class, dropping what lives in it; without slab_reassign, lets the class's
 * first page go over the limit, or frees a chunk of its own. False: none was to be had, or another
 * thread is at it, which would only want the same memory. The caller holds no lock and no
 * reference: the call may wait outside the turn. */
bool steal_page_for(struct cache_thread *, unsigned class_id);
#endif
