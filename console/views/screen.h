/* The frame around every view: title, tabs, overlays, message line and key bar; and which view is open. */
#ifndef CONSOLE_VIEWS_SCREEN_H
#define CONSOLE_VIEWS_SCREEN_H
#include "views/view.h"

/* The views in the order of their keys; NULL ends. */
extern const struct view *const view_list[];

/* The view on the screen. */
const struct view *view_current(const struct ui *ui);
/* Goes to a view of view_list. */
void view_open(struct ui *ui, unsigned view);
/* Draws a whole screen: title, tabs, the current view, overlays, message line and key bar. */
void screen_draw(const struct frame *frame, struct ui *ui, struct cells *cells);

/* What is to be asked of the server for what is on the screen. */
void screen_wants(const struct ui *ui, struct wants *wants);

/* The smallest screen that is drawn; below it one line says so. */
enum { SCREEN_LEAST_WIDTH = 40, SCREEN_LEAST_HEIGHT = 10 };
#endif
