/* The list of all views, and the open one: the functions of view.h on views. */
#include "views/view.h"

const struct view *const view_list[] = {&overview_view, &classes_view, &pages_view,   &tune_view,
                                        &sizes_view,    &curves_view,  &fleet_view,   &events_view,
                                        &hotkeys_view,  &diff_view,    &latency_view, NULL};

const struct view *view_current(const struct ui *ui) {
    return ui->class_is_open ? &class_view : view_list[ui->view];
}

void view_open(struct ui *ui, unsigned view) {
    ui->view = view;
    ui->class_is_open = false;
}
