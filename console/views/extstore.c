/* Extstore: memcached's storage on flash. What is there and what goes in and out of it, its pages
 * by what is written to them, the classes whose items are written, and the settings. */
#include "views/view.h"

#include "brain/format.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    FIGURES_WIDTH = 51,
    FIGURES_ROWS = 8,
    CLASSES_WIDTH = 28,
    BUCKET_WIDTH = 39,
    SETTINGS_ROWS = 10,
    LOW_HEIGHT = 18 /* from here on there is room for all figures over the settings */
};

/* ---- figures ---- */

static double gauge(const struct frame *frame, enum general_stat stat) {
    return stat_number(model_now(frame->model)->general[stat]);
}

static double rate(const struct frame *frame, enum general_stat stat) {
    return model_rate(frame->model, stat);
}

static double pages_of(const struct frame *frame) {
    return gauge(frame, GENERAL_extstore_pages_free) + gauge(frame, GENERAL_extstore_pages_used);
}

static double page_bytes_of(const struct frame *frame) {
    return gauge(frame, GENERAL_extstore_limit_maxbytes) / pages_of(frame);
}

/* Sparse pages are those that compaction may take; NAN where pages are not told. */
static double sparse_of(const struct frame *frame) {
    const struct details *details = model_details(frame->model);
    uint64_t share = model_now(frame->model)->setting[SETTING_ext_max_frag];
    if (!detail_is_known(details, INQUIRY_EXTSTORE) || share == STAT_ABSENT) {
        return NAN;
    }
    return extstore_sparse_pages(&details->extstore, page_bytes_of(frame), (double)share / 1000);
}

static void draw_table(const struct frame *frame, struct cells *cells, int y, struct rect area) {
    static const struct {
        const char *label;
        enum general_stat now, written, read, evicted; /* GENERAL_COUNT: none */
        bool is_bytes;
    } rows[] = {
        {"objects", GENERAL_extstore_objects_used, GENERAL_extstore_objects_written,
         GENERAL_extstore_objects_read, GENERAL_extstore_objects_evicted, false},
        {"bytes", GENERAL_extstore_bytes_used, GENERAL_extstore_bytes_written,
         GENERAL_extstore_bytes_read, GENERAL_extstore_bytes_evicted, true},
        {"pages", GENERAL_extstore_pages_used, GENERAL_extstore_page_allocs, GENERAL_COUNT,
         GENERAL_extstore_page_evictions, false},
    };
    char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], d[FORMAT_BYTES], text[80];
    cells_fill(cells, (struct rect){y, area.x, 1, area.width}, ' ', STYLE_HEADER);
    cells_text_fit(cells, y, area.x, area.width, STYLE_HEADER,
                   " ON FLASH       NOW WRITTEN/s  READ/s EVICTED/s");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *(*format)(char *, double) = rows[i].is_bytes ? format_bytes : format_count;
        bool is_read = rows[i].read != GENERAL_COUNT;
        double evicted = rate(frame, rows[i].evicted);
        snprintf(text, sizeof text, " %-8s %9s %9s %7s %9s", rows[i].label,
                 format(a, gauge(frame, rows[i].now)), format(b, rate(frame, rows[i].written)),
                 is_read ? format(c, rate(frame, rows[i].read)) : "",
                 format(d, evicted));
        cells_text_fit(cells, y + 1 + (int)i, area.x, area.width,
                       evicted > 0 ? STYLE_WARN : STYLE_PLAIN, text);
    }
}

static void draw_lines(const struct frame *frame, struct cells *cells, int y, struct rect area) {
    char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], d[FORMAT_BYTES], text[160];
    double used = gauge(frame, GENERAL_extstore_pages_used) * page_bytes_of(frame);
    double holes = gauge(frame, GENERAL_extstore_bytes_fragmented);
    snprintf(text, sizeof text, " holes %s, %s%% of pages in use; %s sparse",
             format_bytes(a, holes), format_percent(b, used > 0 ? holes / used : NAN),
             format_count(c, sparse_of(frame)));
    cells_text_fit(cells, y++, area.x, area.width, STYLE_PLAIN, text);
    double failed = rate(frame, GENERAL_get_oom_extstore) +
                    rate(frame, GENERAL_badcrc_from_extstore) +
                    rate(frame, GENERAL_get_aborted_extstore);
    snprintf(text, sizeof text, " gets %s/s: missed %s, failed %s; recached %s/s",
             format_count(a, rate(frame, GENERAL_get_extstore)),
             format_count(b, rate(frame, GENERAL_miss_from_extstore)), format_count(c, failed),
             format_count(d, rate(frame, GENERAL_recache_from_extstore)));
    cells_text_fit(cells, y++, area.x, area.width, failed > 0 ? STYLE_BAD : STYLE_PLAIN, text);
    double lost = rate(frame, GENERAL_extstore_compact_lost);
    snprintf(text, sizeof text, " compaction/s kept %s lost %s dropped %s pages %s",
             format_count(a, rate(frame, GENERAL_extstore_compact_rescues)), format_count(b, lost),
             format_count(c, rate(frame, GENERAL_extstore_compact_skipped)),
             format_count(d, rate(frame, GENERAL_extstore_page_reclaims)));
    cells_text_fit(cells, y++, area.x, area.width, lost > 0 ? STYLE_BAD : STYLE_PLAIN, text);
    snprintf(text, sizeof text, " io queue %s reads; memory pressure %s%%",
             format_count(a, gauge(frame, GENERAL_extstore_io_queue)),
             format_percent(b, gauge(frame, GENERAL_extstore_memory_pressure) / 10000));
    cells_text_fit(cells, y, area.x, area.width, STYLE_PLAIN, text);
}

/* ---- classes ---- */

/* The classes with items in memory, those whose items take most first. */
static unsigned sort_classes(const struct snapshot *now, unsigned order[CLASS_LIMIT]) {
    unsigned count = 0;
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        const struct class_stats *stats = snapshot_class(now, id);
        uint64_t items = stats->value[CLASS_number], bytes = stats->value[CLASS_mem_requested];
        if (!stats->present || items == STAT_ABSENT || items == 0) {
            continue;
        }
        unsigned at = count++;
        for (; at > 0; at--) {
            if (bytes <= snapshot_class(now, order[at - 1])->value[CLASS_mem_requested]) {
                break;
            }
            order[at] = order[at - 1];
        }
        order[at] = id;
    }
    return count;
}

static void draw_classes(const struct frame *frame, struct cells *cells, struct rect area) {
    const struct snapshot *now = model_now(frame->model);
    unsigned order[CLASS_LIMIT], count = sort_classes(now, order);
    uint64_t least = now->setting[SETTING_ext_item_size];
    char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], text[80];
    cells_fill(cells, (struct rect){area.y, area.x, 1, area.width}, ' ', STYLE_HEADER);
    cells_text_fit(cells, area.y, area.x, area.width, STYLE_HEADER, " CL CHUNK ITEMS MEMORY FLASH");
    for (unsigned i = 0; i < count && (int)i + 1 < area.height; i++) {
        const uint64_t *value = snapshot_class(now, order[i])->value;
        bool is_known = least != STAT_ABSENT && value[CLASS_chunk_size] != STAT_ABSENT;
        snprintf(text, sizeof text, "%3u %5s %5s %6s %s", order[i],
                 format_bytes(a, stat_number(value[CLASS_chunk_size])),
                 format_count(b, stat_number(value[CLASS_number])),
                 format_bytes(c, stat_number(value[CLASS_mem_requested])),
                 !is_known                          ? "-"
                 : value[CLASS_chunk_size] >= least ? "yes"
                                                    : "stays");
        cells_text_fit(cells, area.y + 1 + (int)i, area.x, area.width, STYLE_PLAIN, text);
    }
}

/* ---- pages ---- */

struct bucket {
    unsigned pages, used;
    double bytes;
};

static unsigned sum_buckets(const struct extstore_pages *list,
                            struct bucket buckets[EXTSTORE_BUCKETS]) {
    unsigned count = 0;
    memset(buckets, 0, EXTSTORE_BUCKETS * sizeof *buckets);
    for (unsigned i = 0; i < list->count; i++) {
        struct bucket *bucket = &buckets[list->pages[i].bucket];
        count += bucket->pages == 0;
        bucket->pages++;
        bucket->used += list->pages[i].is_used;
        bucket->bytes += list->pages[i].is_used ? (double)list->pages[i].bytes : 0;
    }
    return count;
}

/* A digit for each page, or each few pages of one bucket:
 * how many tenths of those in use are full. */
static void draw_cells(const struct extstore_pages *list, unsigned bucket, unsigned pages,
                       double page_bytes, struct cells *cells, int y, int x, int width) {
    unsigned per_cell = width > 0 ? (pages + (unsigned)width - 1) / (unsigned)width : 0;
    unsigned seen = 0, used = 0;
    double bytes = 0;
    for (unsigned i = 0; i < list->count && per_cell > 0; i++) {
        const struct extstore_page *page = &list->pages[i];
        if (page->bucket != bucket) {
            continue;
        }
        used += page->is_used;
        bytes += page->is_used ? (double)page->bytes : 0;
        seen++;
        if (seen % per_cell == 0 || seen == pages) {
            int tenths = used > 0 ? (int)fmin(bytes / (used * page_bytes) * 10, 9) : 0;
            char digit[8];
            snprintf(digit, sizeof digit, used > 0 ? "%d" : "·", tenths);
            x = cells_text(cells, y, x, used > 0 ? STYLE_GRAPH : STYLE_DIM, digit);
            used = 0;
            bytes = 0;
        }
    }
}

/* A row for each bucket; of more than there is room for the first, which take what is written. */
static void draw_buckets(const struct frame *frame, struct cells *cells, struct rect area) {
    const struct details *details = model_details(frame->model);
    struct rect first = {area.y, area.x, 1, area.width};
    if (area.height < 1 || !detail_ready(frame, INQUIRY_EXTSTORE, cells, first)) {
        return;
    }
    struct bucket buckets[EXTSTORE_BUCKETS];
    int y = area.y;
    sum_buckets(&details->extstore, buckets);
    for (unsigned i = 0; i < EXTSTORE_BUCKETS && y < area.y + area.height; i++) {
        char text[100], full[FORMAT_BYTES];
        const struct bucket *bucket = &buckets[i];
        if (bucket->pages == 0) {
            continue;
        }
        snprintf(text, sizeof text, " %-11s %4u of %4u, %4s%% full", extstore_buckets[i],
                 bucket->used, bucket->pages,
                 format_percent(full, bucket->used > 0
                                          ? bucket->bytes / (bucket->used * page_bytes_of(frame))
                                          : NAN));
        cells_text_fit(cells, y, area.x, area.width, STYLE_PLAIN, text);
        draw_cells(&details->extstore, i, bucket->pages, page_bytes_of(frame), cells, y,
                   area.x + BUCKET_WIDTH, area.width - BUCKET_WIDTH);
        y++;
    }
}

/* Rows for buckets: one where the screen is low, else a rule and all that have pages. */
static int bucket_rows(const struct frame *frame, int room) {
    const struct details *details = model_details(frame->model);
    struct bucket buckets[EXTSTORE_BUCKETS];
    int count = 1;
    if (detail_is_known(details, INQUIRY_EXTSTORE)) {
        int has_pages = (int)sum_buckets(&details->extstore, buckets);
        count = has_pages > 1 ? has_pages : 1;
    }
    return room > count ? count + 1 : 1;
}

static void draw_head(const struct frame *frame, struct cells *cells, struct rect area) {
    char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], d[FORMAT_BYTES], text[160];
    double items = gauge(frame, GENERAL_curr_items);
    snprintf(
        text, sizeof text, "storage on flash: %s, %s of %s pages free, %s%% of all items",
        format_bytes(a, gauge(frame, GENERAL_extstore_limit_maxbytes)),
        format_count(b, gauge(frame, GENERAL_extstore_pages_free)),
        format_count(c, pages_of(frame)),
        format_percent(d, items > 0 ? gauge(frame, GENERAL_extstore_objects_used) / items : NAN));
    cells_rule(cells, area.y, area.x, area.width, text);
}

static void draw(const struct frame *frame, struct ui *ui, struct cells *cells, struct rect area) {
    const struct snapshot *now = model_now(frame->model);
    if (now == NULL || !snapshot_has_extstore(now)) {
        detail_ready(frame, INQUIRY_EXTSTORE, cells, area);
        return;
    }
    bool is_low = area.height < LOW_HEIGHT, is_wide = area.width >= FIGURES_WIDTH + CLASSES_WIDTH;
    int figures = is_low ? FIGURES_ROWS / 2 : FIGURES_ROWS, y = area.y + 1;
    struct rect left = {y, area.x, figures, is_wide ? FIGURES_WIDTH : area.width};
    draw_head(frame, cells, area);
    draw_table(frame, cells, y, left);
    if (!is_low) {
        draw_lines(frame, cells, y + FIGURES_ROWS / 2, left);
    }
    if (is_wide) {
        draw_classes(frame, cells,
                     (struct rect){y, area.x + FIGURES_WIDTH + 1, figures, CLASSES_WIDTH});
    }
    y += figures;
    int room = area.y + area.height - y - SETTINGS_ROWS;
    if (room > 0) {
        int rows = bucket_rows(frame, room);
        struct rect pages = {y, area.x, rows, area.width};
        if (rows > 1) {
            cells_rule(cells, y, area.x, area.width,
                       "pages by what is written to them; a digit: tenths full");
            pages = (struct rect){y + 1, area.x, rows - 1, area.width};
        }
        draw_buckets(frame, cells, pages);
        y += rows;
    }
    tune_draw_part(frame, ui, SETTINGS_OF_EXTSTORE, cells,
                   (struct rect){y, area.x, area.y + area.height - y, area.width});
}

/* ---- keys ---- */

static bool has_storage(const struct frame *frame) {
    const struct snapshot *now = model_now(frame->model);
    return now != NULL && snapshot_has_extstore(now);
}

static struct intent command(const struct frame *frame, struct ui *ui, enum command given) {
    if (!has_storage(frame)) {
        return (struct intent){0};
    }
    return tune_command_part(frame, ui, SETTINGS_OF_EXTSTORE, given);
}

static const char *const shown[] = {
    "extstore.pages",   "extstore.objects",  "extstore.fragmented", "extstore.sparse",
    "extstore.written", "extstore.read",     "extstore.evicted",    "extstore.failed",
    "extstore.recached", "extstore.compaction", "extstore.queue",   "extstore.pressure",
    "extstore.class", NULL};

static void terms(const struct ui *ui, struct terms *out) {
    tune_terms_part(ui, SETTINGS_OF_EXTSTORE, out);
}

const struct view extstore_view = {
    .has_own_keys = has_storage,
    .name = "Extstore",
    .scope = SCOPE_EXTSTORE,
    .open = COMMAND_VIEW_EXTSTORE,
    .draw = draw,
    .command = command,
    .terms = terms,
    .shown = shown,
    .cursor = offsetof(struct ui, tune.cursor),
    .inquiries = INQUIRY_BIT(EXTSTORE),
    .wants = tune_wants};
