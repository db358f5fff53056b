#include "brain/brain.h"
#include "brain/own_rules.h"
#include "draw/class_filter.h"
#include "draw/class_table.h"
#include "fixture.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

TEST(test_rows_are_sorted_by_the_chosen_column) {
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    struct class_table_ui ui;
    unsigned ids[CLASS_LIMIT];
    class_table_init(&ui);
    is(class_table_rows(model, &ui, ids), 3, "three classes have pages");
    is(ids[0], 12, "the one that evicts most is first");
    ui.sort = COLUMN_PAGES;
    class_table_rows(model, &ui, ids);
    is(ids[0], 4, "by pages, class 4");
    ok(ids[1] == 12 && ids[2] == 22, "equal ones by class id, so that rows do not dance");
    ui.is_ascending = true;
    class_table_rows(model, &ui, ids);
    ok(ids[0] == 12 && ids[2] == 4, "and the other way round");
    for (int column = 0; column < COLUMN_COUNT; column++) {
        ui.sort = (enum class_column)column;
        is(class_table_rows(model, &ui, ids), 3, "sorting by %s loses no row", class_columns[column].head);
    }
}

TEST(test_rows_are_sorted_by_an_operators_own_column) {
    char path[] = "/tmp/slate-rules-XXXXXX";
    int fd = mkstemp(path);
    dprintf(fd, "return { columns = {\n"
                "  { title = 'FAR', value = function(row) return row.id ~= 12 and 100 - row.id or nil end },\n"
                "  { title = 'WORD', value = function(row) return row.id == 4 and 'b' or 'a' end } } }\n");
    close(fd);
    setenv("SLATE_RULES", path, 1);
    own_rules_open();
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    struct class_table_ui ui;
    unsigned ids[CLASS_LIMIT];
    class_table_init(&ui);
    for (int i = 0; i < COLUMN_COUNT && ui.sort < COLUMN_COUNT; i++) {
        class_table_step_sort(&ui, 1);
    }
    is(ui.sort, COLUMN_COUNT, "it comes behind the others");
    is_str(class_table_head(ui.sort), "FAR", "with its title");
    is(class_table_rows(model, &ui, ids), 3, "no row is lost");
    ok(ids[0] == 4 && ids[1] == 22 && ids[2] == 12, "the largest first, rows without a value last");
    ui.is_ascending = true;
    class_table_rows(model, &ui, ids);
    ok(ids[0] == 22 && ids[1] == 4 && ids[2] == 12, "and the other way round");
    class_table_step_sort(&ui, 1);
    class_table_rows(model, &ui, ids);
    ok(ids[0] == 4 && ids[1] == 12 && ids[2] == 22, "texts by their letters: %u %u %u", ids[0], ids[1], ids[2]);
    class_table_step_sort(&ui, 1);
    is(ui.sort, COLUMN_ID, "then the first column again");
    own_rules_close();
    unlink(path);
}

TEST(test_unknown_values_sort_last_both_ways) {
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    static struct snapshot snapshot;
    fixture_load("memcached-1.6.18-second.txt", 13000, &snapshot);
    snapshot.classes[12].value[CLASS_age] = STAT_ABSENT;
    model_add(model, &snapshot, 0);
    struct class_table_ui ui;
    unsigned ids[CLASS_LIMIT];
    class_table_init(&ui);
    ui.sort = COLUMN_AGE;
    class_table_rows(model, &ui, ids);
    is(ids[2], 12, "descending");
    ui.is_ascending = true;
    class_table_rows(model, &ui, ids);
    is(ids[2], 12, "ascending");
}

TEST(test_filters_choose_rows) {
    static const struct {
        const char *filter;
        unsigned rows;
    } cases[] = {{"", 3},          {"ev>0", 2},         {"size>=1000 pages=1", 2},
                 {"12", 1},        {"pages>1", 1},      {"size<200", 1},
                 {"ev>1e9", 0},    {"  ev>0   12 ", 1}, {"class<=12", 2},
                 {"usedpct>50", 3}};
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    struct class_table_ui ui;
    unsigned ids[CLASS_LIMIT];
    char why[200];
    class_table_init(&ui);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(ui.filter, sizeof ui.filter, "%s", cases[i].filter);
        ok(class_filter_check(cases[i].filter, why, sizeof why), "'%s' is a filter", cases[i].filter);
        is(class_table_rows(model, &ui, ids), cases[i].rows, "and lets %u rows through", cases[i].rows);
    }
    static const char *const wrong[] = {"ev",       "ev>",   ">3",     "ev>>3",    "ev=>3",
                                        "nosuch>1", "ev>1x", "ev>nan", "ev>0 bad", "1 2x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ok(!class_filter_check(wrong[i], why, sizeof why) && strlen(why) > 0, "'%s' is refused: %s", wrong[i], why);
    }
}

TEST(test_absent_is_a_dash_and_never_zero) {
    look_at_model(brain_model("x"), 0);
    static struct snapshot snapshot;
    snapshot_init(&snapshot);
    snapshot_add_class(&snapshot, 7)->present = true;
    model_add(model, &snapshot, 0);
    for (int column = COLUMN_SIZE; column < COLUMN_COUNT; column++) {
        char text[16];
        is_str(class_column_text(model, 7, (enum class_column)column, 1000, text), "-", "%s", class_columns[column].head);
    }
}

TEST(test_every_text_fits_its_column) {
    unsigned wide = 0;
    look_at_model(fixture_model("memcached-1.6.45"), 0);
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        for (int column = 0; column < COLUMN_COUNT && snapshot_class(model_now(model), id)->present; column++) {
            char text[16];
            class_column_text(model, id, (enum class_column)column, 1000, text);
            wide += cells_width_of(text) > class_columns[column].width;
        }
    }
    is(wide, 0, "of every class and column");
}

TEST(test_the_cursor_stays_on_its_class) {
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    struct class_table_ui ui;
    class_table_init(&ui);
    struct cells *cells = cells_create(80, 20, false);
    class_table_draw(model, &ui, cells, (struct rect){0, 0, 20, 80}, true);
    is(ui.cursor, 12, "it starts on the first row");
    class_table_move_cursor(model, &ui, 1);
    unsigned chosen = ui.cursor;
    ui.sort = COLUMN_PAGES;
    class_table_draw(model, &ui, cells, (struct rect){0, 0, 20, 80}, true);
    is(ui.cursor, chosen, "sorting does not move it to another class");
    class_table_move_cursor(model, &ui, 1000);
    class_table_move_cursor(model, &ui, 1);
    class_table_move_cursor(model, &ui, -1000);
    ok(ui.cursor != 0, "it never leaves the table");
    snprintf(ui.filter, sizeof ui.filter, "ev>1e9");
    class_table_draw(model, &ui, cells, (struct rect){0, 0, 20, 80}, true);
    is(ui.cursor, 0, "an empty table has no cursor");
    cells_destroy(&cells);
}

int main(void) { return fixture_main(); }
