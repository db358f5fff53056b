/* The table of slab classes: choice and order of its rows and columns, and its drawing. The classes
 * view, the overview and batch mode use it. Functions do no I/O. One thread. */
#ifndef CONSOLE_DRAW_CLASS_TABLE_H
#define CONSOLE_DRAW_CLASS_TABLE_H
#include "draw/cells.h"
#include "draw/class_columns.h"
#include "draw/class_filter.h"
#include "draw/keys.h"

/* The operator's choice for a column. */
enum column_choice {
    COLUMN_AUTO,   /* shown while there is room, by its rank */
    COLUMN_ALWAYS, /* placed before all others */
    COLUMN_NEVER
};

struct class_table_ui {
    unsigned cursor; /* class id under the cursor; 0: the first row */
    unsigned top;    /* first row shown */
    int width;       /* width of the last drawing; 0: there was none */
    int source;      /* class marked as the source of a move; -1: none */
    unsigned sort;   /* a class_column; from COLUMN_COUNT on, the columns of the operator's own */
    bool is_ascending;
    bool hides_idle;
    uint64_t window_ms; /* rates are means over this; 1000: the newest sample */
    char filter[FILTER_BYTES];
    bool edits_filter;
    char typed[FILTER_BYTES]; /* the filter being edited */
    char typed_why[120];      /* why `typed` was refused; empty: not tried since the last key */
    uint8_t order[COLUMN_COUNT]; /* columns from left to right */
    enum column_choice choice[COLUMN_COUNT];
};

void class_table_init(struct class_table_ui *ui);

/* The class ids to show, sorted; returns how many. */
unsigned class_table_rows(const struct model *model, const struct class_table_ui *ui,
                          unsigned ids[CLASS_LIMIT]);

/* Draws heads, rows and a line of totals; with_cursor marks the row under the cursor and scrolls to
 * it. */
void class_table_draw(const struct model *model, struct class_table_ui *ui, struct cells *cells,
                      struct rect area, bool with_cursor);

/* Moves the cursor by rows; keeps it on a row that exists. */
void class_table_move_cursor(const struct model *model, struct class_table_ui *ui, int rows);

/* Resets the columns to their first order and choice. */
void class_table_reset_columns(struct class_table_ui *ui);

/* The head of a column, also of the operator's own. */
const char *class_table_head(unsigned column);

/* Sorts by the next (1) or previous (-1) column of those that were drawn last. */
void class_table_step_sort(struct class_table_ui *ui, int step);

/* Handles a key while the filter is typed. COMMAND_ACCEPT takes the filter and ends the typing. If
 * the text is no filter, typing goes on and typed_why has the reason. */
void class_table_edit(struct class_table_ui *ui, enum command command, uint32_t key);
#endif
