#include "serve/told.h"

#include "base/resident.h"
#include "tune/whatif/auto.h"

void told_cache(const struct settings *s, struct cache_config *config, struct slab_sizes *sizes) {
    char why[SETTING_WHY_BYTES];
    /* Values that are copied are never chained, however small the chunks asked for. */
    uint32_t chunk_bytes_max =
        s->slab_chunk_max < SLAB_CHUNK_MAX_CALM ? SLAB_CHUNK_MAX_CALM : (uint32_t)s->slab_chunk_max;
    *sizes = (struct slab_sizes){.count = 0};
    bool listed = s->slab_sizes && slab_sizes_parse(s->slab_sizes, chunk_bytes_max,
                                                    (unsigned)s->slab_classes, sizes, why);
    *config = (struct cache_config){
        .limit_bytes = s->maxbytes,
        .limit_bytes_most = resident_machine(),
        .store = cache_store_find(s->store),
        .block_bytes = (uint32_t)s->block_size,
        .index = index_kind_find(s->index),
        .partitions = (unsigned)s->partitions,
        .threads = (unsigned)s->threads,
        .slab = {.chunk_bytes_min = (uint32_t)s->chunk_size + SLAB_HEADER_ROOM,
                 .growth_factor = s->factor,
                 .sizes = listed ? sizes->bytes : NULL,
                 .size_count = sizes->count,
                 .chunk_bytes_max = chunk_bytes_max,
                 .class_most = (unsigned)s->slab_classes},
        .item_bytes_max = (uint32_t)s->item_size_max,
        .cas = s->cas,
        .evict = s->evict_to_free,
        .steal_pages = s->slab_reassign,
        .huge_pages = true,
        .patience_us = CACHE_PATIENCE_US,
        .policy = auto_policy(settings_policy(s), NULL),
        .hot_pct = (uint32_t)s->hot_lru_pct,
        .warm_pct = (uint32_t)s->warm_lru_pct,
        .hot_factor_pct = (uint32_t)(s->hot_max_factor * 100 + 0.5),
        .warm_factor_pct = (uint32_t)(s->warm_max_factor * 100 + 0.5),
        .s3fifo = {(uint32_t)s->s3fifo_small_percent, (uint32_t)s->s3fifo_ghost_percent,
                   (uint32_t)s->s3fifo_promote_hits, (uint32_t)s->s3fifo_skip_percent},
        .temporary_ttl_s = s->temp_lru ? s->temporary_ttl : -1,
        .policy_of_file = !evict_find(settings_policy(s)), /* auto goes on from where it was */
        .process_bytes = s->process_memory,
    };
}

void told_tuner(const struct settings *s, struct tune_config *config) {
    *config = (struct tune_config){
        .automove = s->slab_automove,
        .record = s->automove_record,
        .ratio = s->slab_automove_ratio,
        .window_s = (unsigned)s->slab_automove_window,
        .geometry_rate_pct = s->slab_geometry_rate,
        .geometry_auto = s->slab_geometry_auto,
        .sample_rate = s->sample_rate,
        .sample_follow = auto_scope(settings_policy(s)),
        .worker_count = (unsigned)s->threads,
        .reassign = s->slab_reassign,
        .sweeps = s->lru_maintainer,
        .crawler = s->lru_crawler,
        .crawler_sleep_us = (uint32_t)s->lru_crawler_sleep,
        .crawler_tocrawl = (uint32_t)s->lru_crawler_tocrawl,
    };
}
