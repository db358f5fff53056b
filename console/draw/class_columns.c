#include "draw/class_columns.h"

#include "brain/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct class_column_row class_columns[COLUMN_COUNT] = {
    [COLUMN_ID] = {"CL", "class", 3, 0, CELL_EXACT, false, "slab class id"},
    [COLUMN_SIZE] = {"SIZE", "size", 6, 4, CELL_EXACT, false,
                     "chunk size in bytes: the largest item of the class with its header"},
    [COLUMN_PAGES] = {"PAGES", "pages", 5, 1, CELL_COUNT, true,
                      "pages (usually 1 MiB) that the class owns"},
    [COLUMN_CHANGE] = {"Δ1m", "change", 4, 5, CELL_DELTA, true,
                       "change of PAGES within the last minute"},
    [COLUMN_USED] = {"USED", "used", 5, 7, CELL_COUNT, false, "chunks in use"},
    [COLUMN_FREE] = {"FREE", "free", 5, 6, CELL_COUNT, false, "free chunks"},
    [COLUMN_ITEMS] = {"ITEMS", "items", 5, 9, CELL_COUNT, true,
                      "items in the class; a large item may take chunks of several"},
    [COLUMN_AGE] = {"AGE", "age", 6, 3, CELL_AGE, false,
                    "age of the oldest item that eviction could take: small means starved"},
    [COLUMN_HITS] = {"HIT/s", "hits", 6, 2, CELL_COUNT, true, "keys found in this class a second"},
    [COLUMN_SETS] = {"SET/s", "sets", 6, 8, CELL_COUNT, true,
                     "store commands for this class a second"},
    [COLUMN_EVICTIONS] = {"EV/s", "ev", 6, 1, CELL_COUNT, true,
                          "live items thrown out of this class a second"},
    [COLUMN_USED_PCT] = {"USED%", "usedpct", 5, 11, CELL_SHARE, false,
                         "share of the chunks in use"},
    [COLUMN_UNREAD_PCT] = {"UNRD%", "unread", 5, 12, CELL_SHARE, false,
                           "share of the evicted items that were never read"},
    [COLUMN_AGE_RATIO] = {"xMED", "agex", 5, 10, CELL_COUNT, false,
                          "AGE over the median AGE of all classes"},
    [COLUMN_WASTE_PCT] = {"WST%", "waste", 5, 13, CELL_SHARE, false,
                          "share of the used chunks' bytes that items do not fill"},
    [COLUMN_NO_MEMORY] = {"OOM/s", "oom", 5, 14, CELL_COUNT, true,
                          "sets refused for want of memory a second"},
    [COLUMN_HOT_PCT] = {"HOT%", "hot", 5, 15, CELL_SHARE, false,
                        "share of the items in the hot segment of the LRU"},
    [COLUMN_WARM_PCT] = {"WARM%", "warm", 5, 16, CELL_SHARE, false,
                         "share of the items in the warm segment"},
    [COLUMN_COLD_PCT] = {"COLD%", "cold", 5, 17, CELL_SHARE, false,
                         "share of the items in the cold segment, where eviction takes from"},
    [COLUMN_EVICTED] = {"EVICTED", "evicted", 7, 18, CELL_COUNT, true,
                        "live items thrown out since the counters began"},
};

unsigned class_column_named(const char *name, size_t n) {
    unsigned column = 0;
    while (column < COLUMN_COUNT && (strlen(class_columns[column].name) != n ||
                                     memcmp(class_columns[column].name, name, n) != 0)) {
        column++;
    }
    return column;
}

static double column_rate(const struct model *model, unsigned id, enum class_metric metric,
                          uint64_t window_ms) {
    return window_ms <= 1000 ? model_class_metric(model, id, metric)
                             : model_class_mean(model, id, metric, window_ms);
}

static int column_compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double column_median_age(const struct model *model) {
    const struct snapshot *now = model_now(model);
    double ages[CLASS_LIMIT];
    size_t count = 0;
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        uint64_t age = snapshot_tail_age(snapshot_class(now, id));
        if (age != STAT_ABSENT) {
            ages[count++] = (double)age;
        }
    }
    qsort(ages, count, sizeof *ages, column_compare_doubles);
    return count > 0 ? ages[count / 2] : NAN;
}

static double class_ratio(double part, double whole) {
    return whole > 0 ? part / whole : NAN;
}

static double column_segment_share(const struct class_stats *stats, enum class_stat segment) {
    return class_ratio(stat_number(stats->value[segment]), stat_number(stats->value[CLASS_number]));
}

double class_column_value(const struct model *model, unsigned id, enum class_column column,
                         uint64_t window_ms) {
    const struct snapshot *now = model_now(model);
    const struct class_stats *stats = snapshot_class(now, id);
    double used = stat_number(stats->value[CLASS_used_chunks]);
    switch (column) {
    case COLUMN_ID:
        return id;
    case COLUMN_SIZE:
        return stat_number(stats->value[CLASS_chunk_size]);
    case COLUMN_PAGES:
        return stat_number(stats->value[CLASS_total_pages]);
    case COLUMN_CHANGE:
        return model_page_change(model, id, PAGE_CHANGE_WINDOW_MS);
    case COLUMN_USED:
        return used;
    case COLUMN_FREE:
        return stat_number(snapshot_free_chunks(stats));
    case COLUMN_ITEMS:
        return stat_number(stats->value[CLASS_number]);
    case COLUMN_AGE:
        return stat_number(snapshot_tail_age(stats));
    case COLUMN_HITS:
        return column_rate(model, id, CLASS_METRIC_HITS, window_ms);
    case COLUMN_SETS:
        return column_rate(model, id, CLASS_METRIC_SETS, window_ms);
    case COLUMN_EVICTIONS:
        return column_rate(model, id, CLASS_METRIC_EVICTIONS, window_ms);
    case COLUMN_USED_PCT:
        return class_ratio(used, stat_number(stats->value[CLASS_total_chunks]));
    case COLUMN_UNREAD_PCT:
        return class_ratio(column_rate(model, id, CLASS_METRIC_UNREAD, window_ms),
                           column_rate(model, id, CLASS_METRIC_EVICTIONS, window_ms));
    case COLUMN_AGE_RATIO:
        return class_ratio(stat_number(snapshot_tail_age(stats)), column_median_age(model));
    case COLUMN_WASTE_PCT: {
        double bytes = used * stat_number(stats->value[CLASS_chunk_size]);
        double waste = class_ratio(bytes - stat_number(stats->value[CLASS_mem_requested]), bytes);
        return waste < 0 ? NAN
                         : waste; /* chunked items are booked in one class and stored in several */
    }
    case COLUMN_NO_MEMORY:
        return column_rate(model, id, CLASS_METRIC_NO_MEMORY, window_ms);
    case COLUMN_HOT_PCT:
        return column_segment_share(stats, CLASS_number_hot);
    case COLUMN_WARM_PCT:
        return column_segment_share(stats, CLASS_number_warm);
    case COLUMN_COLD_PCT:
        return column_segment_share(stats, CLASS_number_cold);
    case COLUMN_EVICTED:
        return stat_number(stats->value[CLASS_evicted]);
    case COLUMN_COUNT:
        break;
    }
    return NAN;
}

double class_column_shown_value(const struct model *model, unsigned id, enum class_column column,
                               uint64_t window_ms) {
    double value = class_column_value(model, id, column, window_ms);
    return class_columns[column].form == CELL_SHARE && value > 0 ? value * 100 : value;
}

const char *class_column_text(const struct model *model, unsigned id, enum class_column column,
                             uint64_t window_ms, char out[CELL_BYTES]) {
    double value = class_column_value(model, id, column, window_ms);
    switch (class_columns[column].form) {
    case CELL_EXACT:
        return value < 1e6 ? format_exact(out, isnan(value) ? STAT_ABSENT : (uint64_t)value)
                           : format_bytes(out, value);
    case CELL_DELTA:
        return format_delta(out, value);
    case CELL_AGE:
        return format_age(out, value);
    case CELL_SHARE:
        return format_percent(out, value);
    case CELL_COUNT:
        break;
    }
    return format_count(out, value);
}
