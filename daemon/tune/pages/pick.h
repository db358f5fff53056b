/* Looks for the pages of a class that are to leave it, at the mover's pace, and tells whether a
 * page can be had at all. Threading: as of pace_run. */
#ifndef SLATE_TUNE_PAGES_PICK_H
#define SLATE_TUNE_PAGES_PICK_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/pages.h"
#include "tune/pages/pace.h"

/* As cache_spare_pages, in one step. */
unsigned pick_pages(struct pace *, struct cache_thread *, unsigned class_id, enum page_pick,
                    uint32_t pages[CACHE_SPARE_MAX]);
/* Whether something in a page is being stored or sent, and may be so for long. Small values are in
 * use only for a moment, so pages of small chunks are not looked at. */
bool page_is_held(struct cache *, uint32_t page);
#endif
