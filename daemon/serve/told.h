/* What the cache and the tuner are told of the settings. */
#ifndef SLATE_SERVE_TOLD_H
#define SLATE_SERVE_TOLD_H
#include "cache/cache.h"
#include "serve/config/settings.h"
#include "serve/config/slab_sizes.h"
#include "tune/tune.h"

/* Borrows texts of the settings, and `sizes`, which it fills. A file of items, and what comes of
 * another process, is left out. */
void told_cache(const struct settings *, struct cache_config *, struct slab_sizes *sizes);

/* Likewise; the folder of policies, and who hears of a policy's failure, are left out. */
void told_tuner(const struct settings *, struct tune_config *);
#endif
