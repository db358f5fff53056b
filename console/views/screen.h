/* The frame around every view: title, tabs, overlays, message line and key bar. */
#ifndef CONSOLE_VIEWS_SCREEN_H
#define CONSOLE_VIEWS_SCREEN_H
#include "views/view.h"

/* Draws the screen: title, tabs, the current view, overlays, message line and key bar. */
void screen_draw(const struct frame *frame, struct ui *ui, struct cells *cells);

/* Adds the inquiries that the screen needs of the server. */
void screen_wants(const struct ui *ui, struct wants *wants);

/* The scope that gets a key: the uppermost overlay, a line that is typed, or the view. */
enum scope screen_scope(const struct ui *ui);

/* The smallest screen that is drawn; on a smaller one, one line says so. */
enum { SCREEN_LEAST_WIDTH = 40, SCREEN_LEAST_HEIGHT = 10 };
#endif
