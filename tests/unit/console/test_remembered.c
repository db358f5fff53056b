#include "app/options/remembered.h"
#include "draw/term.h"
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/remembered-XXXXXX", path[200];

static void write_file(const char *text) {
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static struct ui fresh(void) {
    struct ui ui;
    memset(&ui, 0, sizeof ui);
    class_table_init(&ui.classes);
    return ui;
}

TEST(test_choices_come_back) {
    struct ui chosen = fresh(), ui = fresh();
    char text[REMEMBERED_BYTES], again[REMEMBERED_BYTES], why[200];
    unsigned theme = 0;
    chosen.classes.sort = COLUMN_AGE;
    chosen.classes.is_ascending = true;
    chosen.classes.choice[COLUMN_WASTE_PCT] = COLUMN_ALWAYS;
    chosen.classes.choice[COLUMN_SETS] = COLUMN_NEVER;
    chosen.classes.order[0] = COLUMN_SIZE;
    chosen.classes.order[1] = COLUMN_ID;
    snprintf(chosen.classes.filter, sizeof chosen.classes.filter, "ev>0 size>=1000");
    remembered_write(&chosen, 2, text);
    snprintf(path, sizeof path, "%s/deep/er/slatetop", folder);
    ok(remembered_save(path, text, why, sizeof why), "it is written, and its folders are made");
    struct stat info;
    ok(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600, "for its owner alone");
    ok(remembered_load(path, &ui, &theme, why, sizeof why), "it is read");
    remembered_write(&ui, theme, again);
    is_str(again, text, "and is as written");
    is(theme, 2, "the theme is back");
    is(ui.classes.order[0], COLUMN_SIZE, "the order of the columns is back");
    is(ui.classes.choice[COLUMN_SETS], COLUMN_NEVER, "and which are shown");
}

TEST(test_a_mistake_leaves_everything_as_it_was) {
    static const char *const wrong[] = {"sort = bananas up", "sort = age", "theme = bananas", "columns = age age",
                                        "columns = bananas", "filter = >>", "sort = age upwards", "rubbish"};
    snprintf(path, sizeof path, "%s/broken", folder);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ui ui = fresh(), before = fresh();
        char text[200], why[200] = "";
        unsigned theme = 1;
        snprintf(text, sizeof text, "theme = light\nfilter = ev>0\n%s\n", wrong[i]);
        write_file(text);
        ok(!remembered_load(path, &ui, &theme, why, sizeof why) && strstr(why, "broken:3: ") != NULL,
           "'%s' is refused with its line: %s", wrong[i], why);
        char left[REMEMBERED_BYTES], was[REMEMBERED_BYTES];
        remembered_write(&ui, theme, left);
        remembered_write(&before, 1, was);
        is_str(left, was, "and nothing of the file counts");
    }
}

TEST(test_missing_choices_are_passed_over) {
    struct ui ui = fresh();
    char why[200] = "";
    unsigned theme = 3;
    snprintf(path, sizeof path, "%s/nothing", folder);
    ok(remembered_load(path, &ui, &theme, why, sizeof why) && theme == 3, "a first run has no file, and keeps its values");
    write_file("");
    ok(remembered_load(path, &ui, &theme, why, sizeof why), "an empty file says nothing");
    write_file("window_s = 100\ntheme = light\n");
    ok(remembered_load(path, &ui, &theme, why, sizeof why) && theme == 1, "of another version's the rest counts: %s", why);
}

TEST(test_columns_of_a_later_version_come_last) {
    struct ui ui = fresh();
    char why[200];
    unsigned theme = 0, there = 0;
    snprintf(path, sizeof path, "%s/older", folder);
    write_file("columns = age -hits\n");
    ok(remembered_load(path, &ui, &theme, why, sizeof why) && ui.classes.order[0] == COLUMN_AGE, "a list may be short; its columns come first");
    for (int i = 0; i < COLUMN_COUNT; i++) {
        there |= 1u << ui.classes.order[i];
    }
    is(there, (1u << COLUMN_COUNT) - 1, "and each column has a place");
}

TEST(test_an_unwritable_file_is_reported) {
    char why[200] = "";
    snprintf(path, sizeof path, "%s/file", folder);
    write_file("x");
    snprintf(path, sizeof path, "%s/file/below", folder);
    ok(!remembered_save(path, "x", why, sizeof why) && strstr(why, "Not a directory") != NULL, "%s", why);
}

TEST(test_the_place_of_the_file) {
    char found[REMEMBERED_PATH_BYTES];
    setenv("HOME", "/home/me", 1);
    setenv("XDG_STATE_HOME", "/state", 1);
    ok(remembered_path(found), "there is a place");
    is_str(found, "/state/slate/slatetop", "by XDG_STATE_HOME");
    setenv("XDG_STATE_HOME", "relative", 1);
    ok(remembered_path(found), "a relative one does not count");
    is_str(found, "/home/me/.local/state/slate/slatetop", "then it is below the home");
    unsetenv("HOME");
    ok(!remembered_path(found), "without a home there is none");
}

int main(void) {
    ok(mkdtemp(folder) != NULL, "a folder");
    tap_run_tests();
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    ok(system(command) == 0, "nothing is left behind");
    return tap_done();
}
