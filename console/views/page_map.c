#include "views/page_map.h"

#include "brain/brain.h"
#include "brain/format.h"
#include "facts/page_summary.h"

#include <math.h>

void page_map_list(const struct snapshot *now, struct page_map *map) {
    map->count = 0;
    for (unsigned id = 1; now != NULL && id < CLASS_LIMIT; id++) {
        const uint64_t *value = snapshot_class(now, id)->value;
        if (!(stat_number(value[CLASS_total_pages]) > 0)) {
            continue;
        }
        struct page_map_row row = {id, stat_number(value[CLASS_chunk_size])};
        unsigned at = map->count++;
        for (; at > 0 && map->rows[at - 1].size > row.size; at--) {
            map->rows[at] = map->rows[at - 1];
        }
        map->rows[at] = row;
    }
    if (now != NULL && now->general[GENERAL_slab_global_page_pool] != STAT_ABSENT) {
        map->rows[map->count++] = (struct page_map_row){POOL_ROW, NAN};
    }
}

unsigned page_map_row_of(const struct page_map *map, unsigned class_id) {
    for (unsigned i = 0; i < map->count; i++) {
        if (map->rows[i].class_id == class_id) {
            return i;
        }
    }
    return 0;
}

unsigned page_map_pages(const struct snapshot *now, unsigned class_id) {
    double pages = stat_number(class_id == POOL_ROW
                                   ? now->general[GENERAL_slab_global_page_pool]
                                   : snapshot_class(now, class_id)->value[CLASS_total_pages]);
    return pages > 0 && pages <= PAGES_MOST ? (unsigned)pages : 0;
}

unsigned page_map_lines(unsigned pages, unsigned width, unsigned scale) {
    unsigned cells = (pages + scale - 1) / scale;
    return cells > width ? (cells + width - 1) / width : 1;
}

unsigned page_map_scale(const struct snapshot *now, const struct page_map *map, unsigned width,
                        unsigned height) {
    for (unsigned scale = 1;; scale *= 2) {
        unsigned lines = 0, longest = 0;
        for (unsigned i = 0; i < map->count; i++) {
            unsigned pages = page_map_pages(now, map->rows[i].class_id);
            unsigned needs = page_map_lines(pages, width, scale);
            lines += needs;
            longest = needs > longest ? needs : longest;
        }
        if (lines <= height || longest <= 1) {
            return scale;
        }
    }
}

static uint32_t map_fill_glyph(double percent) {
    return percent >= 99.5 ? 0x2588
           : percent >= 90 ? 0x2593
           : percent >= 50 ? 0x2592
           : percent >= 10 ? 0x2591
                           : 0x00b7;
}

enum { MARK_GLYPH = 0x25c6, DRAIN_GLYPH = 0x21af };

/* Deals the pages of a class one by one, the fullest (or the oldest) first. */
struct dealer {
    const unsigned *steps;
    int at;
    unsigned left;
};

static int map_deal_page(struct dealer *dealer) {
    while (dealer->left == 0 && dealer->at > 0) {
        dealer->left = dealer->steps[--dealer->at];
    }
    dealer->left -= dealer->left > 0;
    return dealer->at;
}

static struct dealer map_dealer_for(const struct page_summary *summary, enum page_mode mode) {
    switch (mode) {
    case PAGE_MODE_AGE:
        return (struct dealer){summary->by_age, AGE_KINDS, 0};
    case PAGE_MODE_USE:
        return (struct dealer){summary->by_use, AGE_KINDS, 0};
    case PAGE_MODE_FILL:
    case PAGE_MODES:
        break;
    }
    return (struct dealer){summary->by_fill, FILL_STEPS, 0};
}

struct map_cell {
    uint32_t glyph;
    uint8_t style;
};

/* The glyph of a cell that stands for the next `count` pages. */
static struct map_cell map_cell_of(struct dealer *dealer, enum page_mode mode, unsigned count) {
    static const char letters[AGE_KINDS] = {'s', 'm', 'h', 'd'};
    double sum = 0;
    for (unsigned i = 0; i < count; i++) {
        sum += map_deal_page(dealer);
    }
    double mean = sum / count;
    if (mode != PAGE_MODE_FILL) {
        return (struct map_cell){(uint32_t)letters[(int)lround(mean) % AGE_KINDS], STYLE_GRAPH};
    }
    return (struct map_cell){map_fill_glyph(mean), mean < 10 ? STYLE_GOOD : STYLE_GRAPH};
}

/* Draws cells from the fullest to the emptiest. Pages under drain or marked to move come last. */
static void map_draw_cells(struct cells *cells, struct rect area,
                           const struct page_summary *summary, enum page_mode mode, unsigned scale,
                           unsigned marked) {
    struct dealer dealer = map_dealer_for(summary, mode);
    unsigned staying = summary->pages - summary->draining;
    marked = marked < staying ? marked : staying;
    unsigned total = (summary->pages + scale - 1) / scale, dealt = 0;
    for (unsigned i = 0; i < total && (int)i < area.width * area.height; i++) {
        unsigned count = summary->pages - i * scale < scale ? summary->pages - i * scale : scale;
        unsigned settled = dealt + count <= staying ? count : staying > dealt ? staying - dealt : 0;
        struct map_cell cell = {DRAIN_GLYPH, STYLE_WARN};
        if (settled > 0) {
            cell = map_cell_of(&dealer, mode, settled);
            if (dealt + settled > staying - marked) {
                cell = (struct map_cell){MARK_GLYPH, STYLE_STRONG};
            }
        }
        dealt += count;
        cells_fill(cells,
                   (struct rect){area.y + (int)i / area.width, area.x + (int)i % area.width, 1, 1},
                   cell.glyph, cell.style);
    }
}

static void map_draw_pool(struct cells *cells, struct rect area, unsigned pages, unsigned scale) {
    unsigned total = (pages + scale - 1) / scale;
    for (unsigned i = 0; i < total && (int)i < area.width * area.height; i++) {
        cells_fill(cells,
                   (struct rect){area.y + (int)i / area.width, area.x + (int)i % area.width, 1, 1},
                   'o', STYLE_GOOD);
    }
}

static void map_draw_label(const struct frame *frame, const struct ui *ui, struct cells *cells,
                           int y, unsigned class_id, unsigned pages, bool is_current) {
    char size[FORMAT_BYTES], count[FORMAT_BYTES];
    bool is_source = ui->classes.source == (int)class_id;
    cells_text(cells, y, 0, STYLE_STRONG, is_source ? "◀" : is_current ? ">" : " ");
    format_count(count, pages);
    if (class_id == POOL_ROW) {
        cells_printf(cells, y, 1, STYLE_PLAIN, " pool         %5s", count);
        return;
    }
    enum class_state state = brain_class(brain_of(frame->model), class_id)->state;
    bool is_bad = state == CLASS_STARVING;
    const struct class_stats *stats = snapshot_class(model_now(frame->model), class_id);
    double bytes = stat_number(stats->value[CLASS_chunk_size]);
    cells_printf(cells, y, 1, is_bad ? STYLE_BAD : STYLE_PLAIN, "%s%3u %7sB %5s",
                 is_bad                   ? "!"
                 : state == CLASS_SPARE ? "+"
                                        : " ",
                 class_id, format_bytes(size, bytes), count);
}

void page_map_draw(const struct frame *frame, struct ui *ui, struct cells *cells, struct rect area,
                   const struct page_map *map, unsigned scale) {
    const struct snapshot *now = model_now(frame->model);
    unsigned width = (unsigned)(area.width - PAGE_MAP_LABEL_WIDTH);
    unsigned cursor = page_map_row_of(map, ui->pages.cursor);
    ui->pages.top = ui->pages.top < map->count ? ui->pages.top : 0;
    ui->pages.top = cursor < ui->pages.top ? cursor : ui->pages.top;
    for (;; ui->pages.top++) { /* scrolls until the cursor's row is completely shown */
        unsigned lines = 0;
        for (unsigned i = ui->pages.top; i <= cursor; i++) {
            lines += page_map_lines(page_map_pages(now, map->rows[i].class_id), width, scale);
        }
        if ((int)lines <= area.height || ui->pages.top >= cursor) {
            break;
        }
    }
    int y = area.y, end = area.y + area.height;
    for (unsigned i = ui->pages.top; i < map->count && y < end; i++) {
        unsigned id = map->rows[i].class_id, pages = page_map_pages(now, id);
        int lines = (int)page_map_lines(pages, width, scale);
        lines = lines < end - y ? lines : end - y;
        struct rect row = {y, PAGE_MAP_LABEL_WIDTH, lines, (int)width};
        map_draw_label(frame, ui, cells, y, id, pages, i == cursor);
        cells_hot(cells, (struct rect){y, 0, lines, area.width}, HOT_ROW, id);
        if (id == POOL_ROW) {
            map_draw_pool(cells, row, pages, scale);
        } else {
            struct page_summary summary;
            page_summary_of(frame->model, id, &summary);
            map_draw_cells(cells, row, &summary, ui->pages.mode, scale,
                           ui->classes.source == (int)id ? ui->pages.marked : 0);
        }
        for (int line = 0; line < lines && i == cursor; line++) {
            cells_select(cells, y + line, 0, area.width);
        }
        y += lines;
        if (y >= end && i + 1 < map->count) {
            cells_text_right(cells, end - 1, area.width, STYLE_STRONG, " more ↓");
        }
    }
    if (ui->pages.top > 0) {
        cells_text_right(cells, area.y, area.width, STYLE_STRONG, " more ↑");
    }
}
