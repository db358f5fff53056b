/* The classes view: choosing columns, and a filter that is typed. */
#include "screen.h"

static void type(const char *text) {
    for (; *text != '\0'; text++) {
        class_table_edit(&ui.classes, COMMAND_NONE, (unsigned char)*text);
    }
}

static void test_a_filter_that_does_not_parse_keeps_its_line_open_with_the_reason(void) {
    look(fixture_model("memcached-1.6.18"), 0, 1);
    view_list[1]->command(&frame, &ui, COMMAND_FILTER);
    type("ev>>>1");
    class_table_edit(&ui.classes, COMMAND_ACCEPT, 0);
    draw(&frame, 80, 24, false);
    ok(ui.classes.edits_filter && shows("filter: ev>>>1_"), "the typed text is still there");
    ok(shows("'ev>>>1' is not understood"), "with the reason");
    is_str(ui.classes.filter, "", "and the old filter holds");
    class_table_edit(&ui.classes, COMMAND_BACK, 0);
    draw(&frame, 80, 24, false);
    ok(!shows("not understood"), "the reason goes with the next key");
    for (int i = 0; i < 10; i++) {
        class_table_edit(&ui.classes, COMMAND_BACK, 0);
    }
    type("12");
    class_table_edit(&ui.classes, COMMAND_ACCEPT, 0);
    draw(&frame, 80, 24, false);
    ok(!ui.classes.edits_filter && shows("1 classes") && shows("filter: 12"), "a filter that parses is used");
}

static void choose(enum class_column column, int toggles) {
    ui.columns.cursor = 0;
    while (ui.classes.order[ui.columns.cursor] != column) {
        overlay_columns_command(&ui, COMMAND_DOWN);
    }
    for (int i = 0; i < toggles; i++) {
        overlay_columns_command(&ui, COMMAND_TOGGLE);
    }
}

static void test_columns_are_chosen_and_ordered(void) {
    look(fixture_model("memcached-1.6.18"), 0, 1);
    ok(!shows("WST%") && shows("SET/s"), "80 columns have no room for all");
    view_list[1]->command(&frame, &ui, COMMAND_COLUMNS);
    draw(&frame, 80, 24, false);
    ok(shows("columns: Space shows or hides") && shows("▶ room") && shows("slab class id"), "the list explains each column");
    choose(COLUMN_WASTE_PCT, 1);
    choose(COLUMN_SETS, 2);
    choose(COLUMN_EVICTIONS, 0);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        overlay_columns_command(&ui, COMMAND_EARLIER);
    }
    overlay_columns_command(&ui, COMMAND_CANCEL);
    draw(&frame, 80, 24, false);
    ok(shows("WST%") && !shows("SET/s"), "the chosen one is shown, the other is not");
    const char *evictions = strstr(screen, "EV/s"), *size = strstr(screen, "SIZE");
    ok(evictions != NULL && size != NULL && evictions < size, "evictions moved to the left");
    draw(&frame, 40, 10, false);
    ok(shows("WST%") && clipped == 0, "columns that are always needed are on the smallest screen, too");
    for (int i = 0; i < 3 * COLUMN_COUNT; i++) {
        class_table_step_sort(&ui.classes, 1);
        ok(ui.classes.sort != COLUMN_SETS, "no sort by a column that is never shown");
    }
    overlay_columns_command(&ui, COMMAND_RESET);
    draw(&frame, 80, 24, false);
    ok(shows("SET/s") && !shows("WST%"), "and back");
    for (int i = 0; i < COLUMN_COUNT; i++) {
        class_table_step_sort(&ui.classes, 1);
        ok(shows(class_table_head(ui.classes.sort)), "only columns that have room are sorted by: %s",
           class_table_head(ui.classes.sort));
    }
}

int main(void) {
    test_a_filter_that_does_not_parse_keeps_its_line_open_with_the_reason();
    test_columns_are_chosen_and_ordered();
    return tap_done();
}
