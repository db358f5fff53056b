/* A page of another class for one that has nothing left. */
#ifndef SLATE_CACHE_STEAL_H
#define SLATE_CACHE_STEAL_H
#include "cache/partition.h"

/* One thread at a time empties a page, dropping what lives in it; the others wait, for they would
 * only want the same page. False: none was to be had. No lock held, and no reference: it may rest
 * outside the turn. */
bool steal_page_for(struct cache_thread *, unsigned class_id);
#endif
