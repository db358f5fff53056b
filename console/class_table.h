/* The table of slab classes: its columns, which rows are shown and in what order, and its drawing.
 * Used by the classes view, by the overview and by batch mode. Functions do no I/O. One thread. */
#ifndef CONSOLE_CLASS_TABLE_H
#define CONSOLE_CLASS_TABLE_H
#include "cells.h"
#include "model.h"

enum class_column {
    COLUMN_ID,
    COLUMN_SIZE,
    COLUMN_PAGES,
    COLUMN_CHANGE,
    COLUMN_USED,
    COLUMN_FREE,
    COLUMN_ITEMS,
    COLUMN_AGE,
    COLUMN_HITS,
    COLUMN_SETS,
    COLUMN_EVICTIONS,
    COLUMN_USED_PCT,
    COLUMN_UNREAD_PCT,
    COLUMN_AGE_RATIO,
    COLUMN_WASTE_PCT,
    COLUMN_NO_MEMORY,
    COLUMN_COUNT
};

enum { FILTER_BYTES = 80, PAGE_CHANGE_WINDOW_MS = 60000 };

struct class_column_row {
    const char *head; /* as in the table */
    const char *name; /* as in filters, JSON and the man page */
    int width;
    int rank; /* columns leave a narrow table from the highest rank down */
    const char *meaning;
};

struct class_table_ui {
    unsigned cursor; /* class id under the cursor; 0: the first row */
    unsigned top;    /* first row shown */
    int source;      /* class marked as the source of a move; -1: none */
    enum class_column sort;
    bool is_ascending;
    bool hides_idle;
    uint64_t window_ms; /* rates are means over this; 1000: the newest sample */
    char filter[FILTER_BYTES];
    bool edits_filter;
    char typed[FILTER_BYTES]; /* the filter being edited */
};

extern const struct class_column_row class_columns[COLUMN_COUNT];

void class_table_init(struct class_table_ui *ui);

/* NAN when unknown. Rates as means over window_ms. */
double class_table_value(const struct model *model, unsigned class_id, enum class_column column,
                         uint64_t window_ms);
/* The same in the unit that the table shows: shares in percent. For filters and JSON. */
double class_table_shown_value(const struct model *model, unsigned class_id,
                               enum class_column column, uint64_t window_ms);
/* As text, at most the column's width. */
const char *class_table_text(const struct model *model, unsigned class_id, enum class_column column,
                             uint64_t window_ms, char out[16]);

/* The class ids to show, sorted; returns how many. */
unsigned class_table_rows(const struct model *model, const struct class_table_ui *ui,
                          unsigned ids[CLASS_LIMIT]);

/* True when the text is a filter ("ev>0 size>=1000", a class id, or nothing); else why names what
 * is wrong. */
bool class_filter_check(const char *text, char *why, size_t why_bytes);

/* Draws heads, rows and a line of totals; with_cursor marks the row under the cursor and scrolls to
 * it. */
void class_table_draw(const struct model *model, struct class_table_ui *ui, struct cells *cells,
                      struct rect area, bool with_cursor);

/* Moves the cursor by rows; keeps it on a row that exists. */
void class_table_move_cursor(const struct model *model, struct class_table_ui *ui, int rows);
#endif
