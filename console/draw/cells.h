/* A grid of character cells: views draw on it, the terminal shows it, tests read it.
 *
 * Coordinates are row y and column x from 0. Everything outside the grid is clipped, so a view
 * needs no size checks to be safe. A cell holds one glyph; a wide one has the next cell, too. Bytes
 * that are not UTF-8, control characters and glyphs without a known width become '?', so no text of
 * a server reaches the terminal as a control sequence. In an ASCII grid the drawing glyphs turn
 * into ASCII. A grid belongs to one thread. */
#ifndef CONSOLE_DRAW_CELLS_H
#define CONSOLE_DRAW_CELLS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The meaning of a cell; term turns it into colour and attributes. Words or marks always show the
 * meaning, too. */
enum style {
    STYLE_PLAIN,
    STYLE_DIM,
    STYLE_STRONG,
    STYLE_TITLE,  /* the top line */
    STYLE_HEADER, /* column heads and rules */
    STYLE_KEYBAR,
    STYLE_GRAPH,
    STYLE_GOOD,
    STYLE_WARN,
    STYLE_BAD,
    STYLE_DIALOG,
    STYLE_COUNT
};
/* The names of the themes, which are sets of colours for styles. */
enum { THEME_COUNT = 5 };
extern const char *const cells_themes[THEME_COUNT];

enum { CELL_SELECTED = 0x80 }; /* or'ed into the style of a cell: the row under the cursor */

enum { CELL_REST = 0 }; /* the glyph of the second cell of a wide glyph */

struct cell {
    uint32_t glyph;
    uint8_t style;
};

struct hotspot;
struct cells {
    int width, height;
    unsigned hot_count;
    struct hotspot *hot; /* HOTSPOT_LIMIT of them */
    bool ascii;
    /* glyphs that fell off the right edge since cells_clear: a layout too wide */
    unsigned clipped;
    struct cell *grid; /* width x height, row by row */
};

struct rect {
    int y, x, height, width;
};

/* An area that can be clicked, and the effect of a click. The code that draws the thing adds it. Of
 * two that overlap the later one counts. */
enum hot_kind {
    HOT_NOTHING, /* hides the areas below */
    HOT_KEY,     /* value: a key */
    HOT_VIEW,    /* value: the view's index in view_list */
    HOT_SORT,    /* value: a column */
    HOT_ROW,     /* value: the row's class id or index */
    HOT_TIME     /* the line of the past */
};
struct hotspot {
    struct rect area;
    enum hot_kind kind;
    unsigned value;
};
enum { HOTSPOT_LIMIT = 400 }; /* further ones can't be clicked */

/* NULL when out of memory. Sizes are clamped to 1..1000. */
struct cells *cells_create(int width, int height, bool ascii);
void cells_destroy(struct cells **cells);

void cells_clear(struct cells *cells);
void cells_fill(struct cells *cells, struct rect area, uint32_t glyph, uint8_t style);

/* Writes UTF-8 text from (y, x), clipped at the right edge of the grid; returns the column after
 * it. */
int cells_text(struct cells *cells, int y, int x, uint8_t style, const char *text);
int cells_printf(struct cells *cells, int y, int x, uint8_t style, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* As cells_text within width columns; a text that does not fit is cut with "…", never within a
 * number. */
void cells_text_fit(struct cells *cells, int y, int x, int width, uint8_t style, const char *text);
/* Draws text in lines of at most area.width columns from the area's top. Lines break at blanks; a
 * wider word breaks at its commas, or at the line's end. Returns the rows taken, area.height at
 * most: text beyond that is left out. The first `skip` rows are only counted, and the next one is
 * at the area's top. With NULL for cells all rows are only counted. */
int cells_paragraph(struct cells *cells, struct rect area, int skip, uint8_t style,
                    const char *text);
/* As cells_text, right-aligned: the text ends before column x_end. */
void cells_text_right(struct cells *cells, int y, int x_end, uint8_t style, const char *text);

/* A rule across the area's first row, with a title in it. */
void cells_rule(struct cells *cells, int y, int x, int width, const char *title);

/* The heads of a table: a row in their style, with a text. */
void cells_head(struct cells *cells, int y, int x, int width, const char *text);

/* Columns of bars over the rows of the area, one value a column, the newest at the right edge; of
 * more values than columns the newest are drawn, so a wider area shows more of the past. Scaled
 * from low to the largest value drawn, which is returned (low when there is none). A measured value
 * at low is a dot, NAN is a gap. */
float cells_graph(struct cells *cells, struct rect area, uint8_t style, const float *values,
                  int count, float low);

/* Cuts values before a graph is drawn, so that one spike does not flatten the others: to
 * SPIKE_TIMES the bound under which nine of ten values are. True when a value was cut; count is at
 * most 1000. */
enum { SPIKE_TIMES = 4 };
bool cells_cut_spikes(float *values, int count);

/* A horizontal bar in three parts: used, slack and empty; shares are 0..1. */
void cells_bar(struct cells *cells, int y, int x, int width, double used_share, double slack_share);

/* Makes the area clickable until the grid is cleared. */
void cells_hot(struct cells *cells, struct rect area, enum hot_kind kind, unsigned value);
/* The clickable area at (y, x); NULL when there is none. */
const struct hotspot *cells_hot_at(const struct cells *cells, int y, int x);

/* A frame with a title and a blank inside. */
void cells_box(struct cells *cells, struct rect area, const char *title);

/* Marks a row of `width` columns as selected: letters and background change places. Blocks stay as
 * they are: a full block would become a hole, and a light shade a dark one. */
void cells_select(struct cells *cells, int y, int x, int width);

/* Columns that UTF-8 text takes in a grid. */
int cells_width_of(const char *text);
/* Writes a text with %XX in place of what the grid does not show: texts that differ look so. A text
 * that does not fit is cut. */
void cells_escape(const struct cells *cells, const char *text, char *out, size_t out_bytes);
#endif
