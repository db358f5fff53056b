/* The table of servers: a row each, the distance of each from the rest of the pool (by
 * slate.judge.attention), and their order. Pure functions of models. One thread. */
#ifndef CONSOLE_DRAW_FLEET_TABLE_H
#define CONSOLE_DRAW_FLEET_TABLE_H
#include "brain/health.h"
#include "draw/cells.h"

enum { SERVER_LIMIT = 128 };

enum fleet_column {
    FLEET_HOST,
    FLEET_VERSION,
    FLEET_UP,
    FLEET_MEMORY,
    FLEET_FILL,
    FLEET_GETS,
    FLEET_HIT,
    FLEET_EVICTIONS,
    FLEET_AGE,
    FLEET_Z,
    FLEET_CONNS,
    FLEET_RTT,
    FLEET_COLUMNS
};

struct fleet_column_row {
    const char *head; /* the name in the table */
    const char *name; /* the name in the man page */
    int width;        /* 0: the space left */
    int rank;         /* columns leave a narrow table from the highest rank down */
    const char *meaning;
};
extern const struct fleet_column_row fleet_columns[FLEET_COLUMNS];

enum { FLEET_TREND = 12 }; /* samples of a trend */

struct fleet_row {
    unsigned server; /* its index in the fleet */
    const struct model *model;
    bool is_up; /* has current figures */
    bool is_odd; /* an outlier, which is marked */
    enum tone tone; /* the tone of `words` */
    char words[NOTE_BYTES]; /* the worst line of health, or why the server is down */
    uint64_t retry_ms;
    double value[FLEET_COLUMNS]; /* NAN if unknown, and for HOST and VERSION */
    enum fleet_column odd;       /* the figure from which FLEET_Z comes */
    float hits[FLEET_TREND], evictions[FLEET_TREND]; /* the newest samples of both, oldest first */
    int hits_count, evictions_count;
};

struct fleet_ui {
    unsigned cursor; /* 1 + index in the fleet of the server under the cursor; 0: the first row */
    unsigned top;
    bool marked[SERVER_LIMIT]; /* by index in the fleet */
    bool has_order; /* sorted by a column; else worst first */
    enum fleet_column sort;
    bool is_ascending;
};

struct fleet_row fleet_row_of(const struct model *model, uint64_t now_ms, uint64_t interval_ms,
                              uint64_t retry_ms);
/* Fills in FLEET_Z, odd and is_odd. Cost: O(n log n). */
void fleet_compare(struct fleet_row *rows, unsigned count);
/* Sorts worst first (down, then outliers and bad health, then evictions), or by the column. */
void fleet_sort(struct fleet_row *rows, unsigned count, const struct fleet_ui *ui);

/* One figure as text, at most the column's width. */
const char *fleet_text(const struct fleet_row *row, enum fleet_column column, char out[40]);

/* The sorted row under the cursor; rows are not empty. */
unsigned fleet_row_at(const struct fleet_row *rows, unsigned count, const struct fleet_ui *ui);

/* Draws heads and sorted rows; if there is room, also the trends of hits and evictions, and words.
 * Marks the row under the cursor and scrolls to it. */
void fleet_table_draw(const struct fleet_row *rows, unsigned count, struct fleet_ui *ui,
                      uint64_t now_ms, struct cells *cells, struct rect area);
#endif
