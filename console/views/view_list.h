/* The views that there are, and which one is open. */
#ifndef CONSOLE_VIEWS_VIEW_LIST_H
#define CONSOLE_VIEWS_VIEW_LIST_H
#include "views/view.h"

/* The views in the order of their keys; NULL ends. */
extern const struct view *const view_list[];

/* The view on the screen. */
const struct view *view_current(const struct ui *ui);
/* Goes to a view of view_list. */
void view_open(struct ui *ui, unsigned view);
#endif
