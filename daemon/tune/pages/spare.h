/* Which class gives pages when any will do. Threading: as of pace_run, a class a step. Cost: a look
 * at up to 64 pages of each class that has two. */
#ifndef SLATE_TUNE_PAGES_SPARE_H
#define SLATE_TUNE_PAGES_SPARE_H
#include <stdbool.h>

#include "cache/cache.h"
#include "tune/decision.h"
#include "tune/pages/pace.h"

/* Sets the class that gives, and lowers the number of pages to what it gives before the next look.
 * Classes with free chunks for what lives in their pages come first, then the class with the pages
 * of least value. False: no class but those of `except` has two pages (one, if the move takes last
 * pages too). */
bool spare_choose(struct cache *, struct cache_thread *, struct pace *,
                  const struct class_set *except, struct page_move *);
#endif
