/* The columns of the table of classes: the meaning of each, its value for a class, and this value
 * as text. The table, filters and batch mode use them. Pure functions of the model. */
#ifndef CONSOLE_DRAW_CLASS_COLUMNS_H
#define CONSOLE_DRAW_CLASS_COLUMNS_H
#include "facts/model.h"

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
    COLUMN_HOT_PCT,
    COLUMN_WARM_PCT,
    COLUMN_COLD_PCT,
    COLUMN_EVICTED,
    COLUMN_COUNT
};

enum { PAGE_CHANGE_WINDOW_MS = 60000, CELL_BYTES = 16 };

/* The form of a value as text. */
enum cell_form { CELL_COUNT, CELL_EXACT, CELL_DELTA, CELL_AGE, CELL_SHARE };

struct class_column_row {
    const char *head; /* the name in the table */
    const char *name; /* the name in filters, JSON and the man page */
    int width;
    int rank; /* columns leave a narrow table from the highest rank down */
    enum cell_form form;
    bool has_total; /* a sum over classes makes sense */
    const char *meaning;
};

extern const struct class_column_row class_columns[COLUMN_COUNT];

/* The column with a name of n bytes; COLUMN_COUNT when there is none. */
unsigned class_column_named(const char *name, size_t n);

/* NAN when unknown. Rates as means over window_ms; 1000 and less: the newest sample's. */
double class_column_value(const struct model *model, unsigned class_id, enum class_column column,
                          uint64_t window_ms);
/* The value in the unit of the table: shares in percent. For filters and JSON. */
double class_column_shown_value(const struct model *model, unsigned class_id,
                                enum class_column column, uint64_t window_ms);
/* The value as text, at most as wide as the column. */
const char *class_column_text(const struct model *model, unsigned class_id,
                              enum class_column column, uint64_t window_ms, char out[CELL_BYTES]);
#endif
