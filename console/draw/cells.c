#include "draw/cells.h"

#include "draw/glyph.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t spark_glyphs[8] = {0x2581, 0x2582, 0x2583, 0x2584,
                                         0x2585, 0x2586, 0x2587, 0x2588};

/* The ASCII characters in place of the glyphs with which slatetop draws. */
static const struct {
    uint32_t glyph;
    char ascii;
} ascii_twins[] = {
    {0x2581, '.'}, {0x2582, ':'}, {0x2583, '-'}, {0x2584, '='}, {0x2585, '+'}, {0x2586, '*'},
    {0x2587, '#'}, {0x2588, '#'}, {0x2591, '.'}, {0x2592, '='}, {0x2593, '@'}, {0x2500, '-'},
    {0x2502, '|'}, {0x250c, '+'}, {0x2510, '+'}, {0x2514, '+'}, {0x2518, '+'}, {0x00b7, '.'},
    {0x0394, 'd'}, {0x03a3, 'S'}, {0x25b6, '>'}, {0x25c0, '<'}, {0x25b2, '^'}, {0x25bc, 'v'},
    {0x25cf, '*'}, {0x25cb, 'o'}, {0x2192, '>'}, {0x2190, '<'}, {0x2191, '^'}, {0x2193, 'v'},
    {0x00d7, 'x'}, {0x2264, '<'}, {0x2026, '~'}, {0x25c6, 'X'}, {0x21af, '!'}, {0x00b1, '~'},
    {0x00a6, ':'},
};

const char *const cells_themes[THEME_COUNT] = {"default", "light", "colour-blind", "high-contrast",
                                               "mono"};

static uint32_t cells_to_ascii(uint32_t glyph) {
    if (glyph < 0x7f) {
        return glyph;
    }
    for (size_t i = 0; i < sizeof ascii_twins / sizeof *ascii_twins; i++) {
        if (ascii_twins[i].glyph == glyph) {
            return (uint32_t)ascii_twins[i].ascii;
        }
    }
    return '?';
}

/* Sets a cell; of a wide glyph that it had a half of, the other half becomes blank. */
static void cells_set(struct cells *cells, int y, int x, uint32_t glyph, uint8_t style) {
    struct cell *cell = &cells->grid[y * cells->width + x];
    if (cell->glyph == CELL_REST && x > 0) {
        cell[-1].glyph = ' ';
    }
    if (x + 1 < cells->width && cell[1].glyph == CELL_REST) {
        cell[1].glyph = ' ';
    }
    *cell = (struct cell){glyph, style};
}

/* Returns the columns of the glyph. */
static int cells_put_glyph(struct cells *cells, int y, int x, uint32_t glyph, uint8_t style) {
    int width = glyph_width(glyph);
    if (width == 0) {
        glyph = '?';
        width = 1;
    }
    if (y < 0 || x < 0 || y >= cells->height || x + width > cells->width) {
        cells->clipped += x + width > cells->width && glyph != ' ';
        return width;
    }
    cells_set(cells, y, x, cells->ascii ? cells_to_ascii(glyph) : glyph, style);
    if (width == 2) {
        cells_set(cells, y, x + 1, cells->ascii ? '?' : CELL_REST, style);
    }
    return width;
}

/* The columns of a glyph as it is drawn. */
static int cells_width_of_glyph(uint32_t glyph) {
    int width = glyph_width(glyph);
    return width > 0 ? width : 1;
}

static int cell_clamp(int value, int low, int high) {
    return value < low ? low : value > high ? high : value;
}

struct cells *cells_create(int width, int height, bool ascii) {
    struct cells *cells = calloc(1, sizeof *cells);
    if (cells == NULL) {
        return NULL;
    }
    cells->width = cell_clamp(width, 1, 1000);
    cells->height = cell_clamp(height, 1, 1000);
    cells->ascii = ascii;
    cells->grid = calloc((size_t)cells->width * (size_t)cells->height, sizeof *cells->grid);
    cells->hot = calloc(HOTSPOT_LIMIT, sizeof *cells->hot);
    if (cells->grid == NULL || cells->hot == NULL) {
        cells_destroy(&cells);
        return NULL;
    }
    cells_clear(cells);
    return cells;
}

void cells_destroy(struct cells **cells) {
    if (*cells != NULL) {
        free((*cells)->grid);
        free((*cells)->hot);
        free(*cells);
        *cells = NULL;
    }
}

void cells_clear(struct cells *cells) {
    cells->hot_count = 0;
    cells->clipped = 0;
    cells_fill(cells, (struct rect){0, 0, cells->height, cells->width}, ' ', STYLE_PLAIN);
}

void cells_fill(struct cells *cells, struct rect area, uint32_t glyph, uint8_t style) {
    for (int y = area.y; y < area.y + area.height; y++) {
        for (int x = area.x; x < area.x + area.width; x++) {
            cells_put_glyph(cells, y, x, glyph, style);
        }
    }
}

int cells_text(struct cells *cells, int y, int x, uint8_t style, const char *text) {
    while (*text != '\0') {
        x += cells_put_glyph(cells, y, x, glyph_next(&text), style);
    }
    return x;
}

int cells_printf(struct cells *cells, int y, int x, uint8_t style, const char *format, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    return cells_text(cells, y, x, style, text);
}

static bool cells_is_digit(uint32_t glyph) {
    return glyph >= '0' && glyph <= '9';
}

/* The number of glyphs that stay of a text that is cut after so many. A cut drops complete numbers:
 * half a number is a wrong number. */
static int cells_cut_of(const uint32_t *glyphs, int n, int cut) {
    int begin = cut;
    while (begin > 0 && glyphs[begin - 1] != ' ') {
        begin--;
    }
    bool has_sign =
        begin + 1 < n && !cells_is_digit(glyphs[begin]) && cells_is_digit(glyphs[begin + 1]);
    bool is_sign = has_sign && (glyphs[begin] < 'A' || glyphs[begin] > 0x7f);
    bool is_number = begin > 0 && begin < cut && (cells_is_digit(glyphs[begin]) || is_sign);
    bool ends_here = glyphs[cut] == ' ' || glyphs[cut] == ',' || glyphs[cut] == ';';
    return is_number && !ends_here ? begin : cut;
}

void cells_text_fit(struct cells *cells, int y, int x, int width, uint8_t style, const char *text) {
    uint32_t glyphs[1024];
    int n = 0, columns = 0, cut = 0; /* cut: glyphs beside which there is room for an ellipsis */
    while (*text != '\0' && n < (int)(sizeof glyphs / sizeof *glyphs)) {
        glyphs[n] = glyph_next(&text);
        columns += cells_width_of_glyph(glyphs[n++]);
        cut = columns < width ? n : cut;
    }
    if (width <= 0) {
        return;
    }
    cut = columns <= width ? n : cells_cut_of(glyphs, n, cut);
    for (int i = 0; i < cut; i++) {
        x += cells_put_glyph(cells, y, x, glyphs[i], style);
    }
    if (columns > width) {
        cells_put_glyph(cells, y, x, 0x2026, style);
    }
}

/* Bytes of the part of a word that fits into width columns, one glyph at least: up to the last
 * comma there, else as many glyphs as fit. */
static size_t cells_part_bytes(const char *word, int width) {
    const char *at = word, *comma = word;
    for (const char *next = word; *next != '\0';) {
        width -= cells_width_of_glyph(glyph_next(&next));
        if (width < 0 && at > word) {
            break;
        }
        at = next;
        comma = at[-1] == ',' ? at : comma;
    }
    return (size_t)((comma > word ? comma : at) - word);
}

/* Bytes of the next line: as many words as fit into width columns, or a part of a word that is
 * wider. */
static size_t cells_line_bytes(const char *text, int width) {
    char line[1024];
    size_t end = 0;
    for (size_t at = 0; text[at] != '\0';) {
        at += strspn(text + at, " ");
        at += strcspn(text + at, " ");
        size_t n = at < sizeof line - 1 ? at : sizeof line - 1;
        memcpy(line, text, n);
        line[n] = '\0';
        if (cells_width_of(line) > width) {
            return end > 0 ? end : cells_part_bytes(text, width);
        }
        end = at;
    }
    return end;
}

int cells_paragraph(struct cells *cells, struct rect area, int skip, uint8_t style,
                    const char *text) {
    int rows = 0;
    text += strspn(text, " ");
    for (; *text != '\0' && rows - skip < area.height; rows++) {
        char line[1024];
        size_t bytes = cells_line_bytes(text, area.width);
        snprintf(line, sizeof line, "%.*s", (int)bytes, text);
        const char *rest = text + bytes + strspn(text + bytes, " ");
        int         row = rows - skip; /* the last one of a text that is cut ends in an ellipsis */
        if (cells != NULL && row >= 0) {
            cells_text_fit(cells, area.y + row, area.x, area.width, style,
                           *rest != '\0' && row == area.height - 1 ? text : line);
        }
        text = rest;
    }
    return rows;
}

void cells_text_right(struct cells *cells, int y, int x_end, uint8_t style, const char *text) {
    cells_text(cells, y, x_end - cells_width_of(text), style, text);
}

void cells_rule(struct cells *cells, int y, int x, int width, const char *title) {
    cells_fill(cells, (struct rect){y, x, 1, width}, 0x2500, STYLE_HEADER);
    if (title[0] != '\0') {
        char text[300];
        snprintf(text, sizeof text, " %s ", title);
        bool fits = cells_width_of(text) <= width - 2;
        cells_text_fit(cells, y, x + 1, width - 2, STYLE_HEADER, fits ? text : title);
    }
}

void cells_head(struct cells *cells, int y, int x, int width, const char *text) {
    cells_fill(cells, (struct rect){y, x, 1, width}, ' ', STYLE_HEADER);
    cells_text_fit(cells, y, x, width, STYLE_HEADER, text);
}

/* The largest of the values; at least low. */
static float cells_largest(const float *values, int count, float low) {
    float high = low;
    for (int i = 0; i < count; i++) {
        if (!isnan(values[i]) && values[i] > high) {
            high = values[i];
        }
    }
    return high;
}

/* Height of a value in eighths of a row, over `rows` rows; anything above low shows at least one
 * eighth. */
static int cells_eighths(float value, float low, float high, int rows) {
    if (isnan(value) || value <= low || high <= low) {
        return 0;
    }
    return cell_clamp((int)lroundf((value - low) / (high - low) * 8.0f * (float)rows), 1, 8 * rows);
}

float cells_graph(struct cells *cells, struct rect area, uint8_t style, const float *values,
                  int count, float low) {
    if (count > area.width) {
        values += count - area.width;
        count = area.width;
    }
    float high = cells_largest(values, count, low);
    for (int i = 0; i < count; i++) {
        int x = area.x + area.width - count + i;
        int filled = cells_eighths(values[i], low, high, area.height);
        for (int row = 0; row < area.height; row++) {
            int here = cell_clamp(filled - 8 * row, 0, 8);
            int y = area.y + area.height - 1 - row;
            if (here > 0) {
                cells_put_glyph(cells, y, x, spark_glyphs[here - 1], style);
            } else if (row == 0 && !isnan(values[i])) {
                cells_put_glyph(cells, y, x, 0xb7,
                                STYLE_DIM); /* a measured zero, as opposed to no measurement */
            }
        }
    }
    return high;
}

static int cells_compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

bool cells_cut_spikes(float *values, int count) {
    float sorted[1000];
    int known = 0;
    for (int i = 0; i < count; i++) {
        if (!isnan(values[i])) {
            sorted[known++] = values[i];
        }
    }
    qsort(sorted, (size_t)known, sizeof *sorted, cells_compare_floats);
    float most = known > 0 ? SPIKE_TIMES * sorted[(known - 1) * 9 / 10] : 0;
    bool is_cut = false;
    for (int i = 0; i < count && most > 0; i++) {
        if (values[i] > most) {
            values[i] = most;
            is_cut = true;
        }
    }
    return is_cut;
}

void cells_bar(struct cells *cells, int y, int x, int width, double used_share,
               double slack_share) {
    cells_put_glyph(cells, y, x, '[', STYLE_DIM);
    cells_put_glyph(cells, y, x + width - 1, ']', STYLE_DIM);
    int inner = width - 2;
    int used = cell_clamp((int)lround(used_share * inner), 0, inner);
    int slack = cell_clamp((int)lround((used_share + slack_share) * inner), used, inner);
    for (int i = 0; i < inner; i++) {
        uint32_t glyph = i < used ? 0x2588 : i < slack ? 0x2592 : '.';
        cells_put_glyph(cells, y, x + 1 + i, glyph, i < slack ? STYLE_GRAPH : STYLE_DIM);
    }
}

void cells_hot(struct cells *cells, struct rect area, enum hot_kind kind, unsigned value) {
    if (cells->hot_count < HOTSPOT_LIMIT) {
        cells->hot[cells->hot_count++] = (struct hotspot){area, kind, value};
    }
}

const struct hotspot *cells_hot_at(const struct cells *cells, int y, int x) {
    for (unsigned i = cells->hot_count; i > 0; i--) {
        const struct hotspot *hot = &cells->hot[i - 1];
        if (y >= hot->area.y && y < hot->area.y + hot->area.height && x >= hot->area.x &&
            x < hot->area.x + hot->area.width) {
            return hot;
        }
    }
    return NULL;
}

void cells_box(struct cells *cells, struct rect area, const char *title) {
    cells_hot(cells, area, HOT_NOTHING, 0);
    int bottom = area.y + area.height - 1, right = area.x + area.width - 1;
    cells_fill(cells, area, ' ', STYLE_DIALOG);
    for (int x = area.x; x <= right; x++) {
        cells_put_glyph(cells, area.y, x, 0x2500, STYLE_DIALOG);
        cells_put_glyph(cells, bottom, x, 0x2500, STYLE_DIALOG);
    }
    for (int y = area.y; y <= bottom; y++) {
        cells_put_glyph(cells, y, area.x, 0x2502, STYLE_DIALOG);
        cells_put_glyph(cells, y, right, 0x2502, STYLE_DIALOG);
    }
    cells_put_glyph(cells, area.y, area.x, 0x250c, STYLE_DIALOG);
    cells_put_glyph(cells, area.y, right, 0x2510, STYLE_DIALOG);
    cells_put_glyph(cells, bottom, area.x, 0x2514, STYLE_DIALOG);
    cells_put_glyph(cells, bottom, right, 0x2518, STYLE_DIALOG);
    cells_printf(cells, area.y, area.x + 2, STYLE_STRONG, " %s ", title);
}

/* Bars, graphs and shades are drawn of blocks. */
static bool cells_is_block(uint32_t glyph) { return glyph >= 0x2580 && glyph <= 0x259f; }

void cells_select(struct cells *cells, int y, int x, int width) {
    for (int i = x; i < x + width; i++) {
        if (y >= 0 && y < cells->height && i >= 0 && i < cells->width) {
            struct cell *cell = &cells->grid[y * cells->width + i];
            cell->style |= cells_is_block(cell->glyph) ? 0 : CELL_SELECTED;
        }
    }
}

int cells_width_of(const char *text) {
    int width = 0;
    while (*text != '\0') {
        width += cells_width_of_glyph(glyph_next(&text));
    }
    return width;
}

void cells_escape(const struct cells *cells, const char *text, char *out, size_t out_bytes) {
    size_t used = 0;
    while (*text != '\0' && used + 12 < out_bytes) { /* four bytes as %XX each */
        const char *from = text;
        uint32_t glyph = glyph_next(&text);
        bool is_plain = (unsigned char)*from < 0x80;
        bool is_shown = glyph_width(glyph) > 0 && (is_plain || (glyph != '?' && !cells->ascii));
        for (; from < text; from++) {
            used += (size_t)snprintf(out + used, out_bytes - used, is_shown ? "%c" : "%%%02X",
                                     (unsigned char)*from);
        }
    }
    out[used] = '\0';
}
