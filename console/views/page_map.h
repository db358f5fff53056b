/* The map of the pages view: a row a class in the order of their chunk sizes, and the pool below
 * them; cells of a row stand for pages. Functions of the frame; page_map_draw scrolls. */
#ifndef CONSOLE_VIEWS_PAGE_MAP_H
#define CONSOLE_VIEWS_PAGE_MAP_H
#include "views/view.h"

enum { PAGE_MAP_LABEL_WIDTH = 21 };
enum { POOL_ROW = CLASS_LIMIT }; /* the pool's number among class ids */

/* A row of the map: a class, or the pool. */
struct page_map_row {
    unsigned class_id; /* or POOL_ROW */
    double size;
};
struct page_map {
    unsigned count;
    struct page_map_row rows[CLASS_LIMIT + 1];
};

/* Lists the classes with pages, and the pool if the server reports one. now NULL: none. */
void page_map_list(const struct snapshot *now, struct page_map *map);

/* The index of a class among the rows; the first if it has no row. */
unsigned page_map_row_of(const struct page_map *map, unsigned class_id);

unsigned page_map_pages(const struct snapshot *now, unsigned class_id);

/* The lines that `pages` take, with `scale` pages a cell and `width` cells a line. */
unsigned page_map_lines(unsigned pages, unsigned width, unsigned scale);

/* The fewest pages a cell with which every row fits; with more rows than lines the map scrolls. */
unsigned page_map_scale(const struct snapshot *now, const struct page_map *map, unsigned width,
                        unsigned height);

/* Draws the rows from the top one on. The cursor's row is always among them. */
void page_map_draw(const struct frame *frame, struct ui *ui, struct cells *cells, struct rect area,
                   const struct page_map *map, unsigned scale);
#endif
