#include "draw/keys.h"
#include "tap.h"

static const enum scope scopes[] = {SCOPE_OVERVIEW, SCOPE_CLASSES, SCOPE_EVENTS,
                                    SCOPE_REVIEW,   SCOPE_FILTER,  SCOPE_HELP,
                                    SCOPE_COLUMNS};
enum { SCOPES = sizeof scopes / sizeof *scopes };

static void test_no_key_means_two_things_in_one_place(void) {
    int conflicts = 0;
    for (unsigned i = 0; i < key_row_count; i++) {
        for (unsigned j = i + 1; j < key_row_count; j++) {
            for (int a = 0; a < KEYS_PER_ROW && key_rows[i].keys[a] != 0; a++) {
                for (int b = 0; b < KEYS_PER_ROW && key_rows[j].keys[b] != 0; b++) {
                    if (key_rows[i].keys[a] == key_rows[j].keys[b] &&
                        (key_rows[i].scopes & key_rows[j].scopes)) {
                        printf("# '%s' and '%s' share a key\n", key_rows[i].help, key_rows[j].help);
                        conflicts++;
                    }
                }
            }
        }
    }
    is(conflicts, 0, "bindings do not conflict");
}

static void test_every_function_key_has_a_twin(void) {
    for (unsigned i = 0; i < key_row_count; i++) {
        bool has_function = false, has_other = false;
        for (int k = 0; k < KEYS_PER_ROW && key_rows[i].keys[k] != 0; k++) {
            bool is_function = key_rows[i].keys[k] > KEY_FUNCTION;
            has_function = has_function || is_function;
            has_other = has_other || !is_function;
        }
        if (has_function) {
            ok(has_other, "'%s' can be had without an F-key", key_rows[i].help);
        }
    }
}

/* The promise of the review: only capitals execute. */
static void test_only_a_capital_sends(void) {
    for (unsigned i = 0; i < key_row_count; i++) {
        for (int k = 0;
             k < KEYS_PER_ROW && key_rows[i].command == COMMAND_SEND && key_rows[i].keys[k] != 0;
             k++) {
            ok(key_rows[i].keys[k] >= 'A' && key_rows[i].keys[k] <= 'Z',
               "send is bound to a capital");
            is(key_rows[i].scopes, SCOPE_REVIEW, "and only inside the review");
        }
    }
    for (int s = 0; s < SCOPES; s++) {
        ok(key_command(KEY_RETURN, scopes[s]) != COMMAND_SEND, "Enter does not send in scope %d",
           scopes[s]);
    }
}

static void test_names_are_readable(void) {
    char name[KEY_NAME_BYTES], names[40];
    is_str(key_label(KEY_FUNCTION + 10, name), "F10", "an F-key");
    is_str(key_label(KEY_CONTROL('l'), name), "^L", "a control key");
    is_str(key_label(KEY_ESCAPE, name), "Esc", "escape");
    is_str(key_label('m', name), "m", "a letter");
    for (unsigned i = 0; i < key_row_count; i++) {
        ok(key_row_names(&key_rows[i], names, sizeof names)[0] != '\0' &&
               strlen(key_rows[i].help) <= 54,
           "'%s' has a key and fits the help at 80 columns", key_rows[i].help);
    }
}

static void test_there_is_always_a_way_out(void) {
    for (int s = 0; s < SCOPES; s++) {
        enum command command = key_command(KEY_CONTROL('c'), scopes[s]);
        enum command escape = key_command(KEY_ESCAPE, scopes[s]);
        ok(command == COMMAND_QUIT || command == COMMAND_CANCEL || escape == COMMAND_CANCEL,
           "scope %d can be left", scopes[s]);
    }
}

static void test_views_open_from_everywhere(void) {
    for (int s = 0; s < 3; s++) {
        is(key_command('2', scopes[s]), COMMAND_VIEW_CLASSES, "2 opens the classes");
        is(key_command('c', scopes[s]),
           scopes[s] == SCOPE_CLASSES ? COMMAND_COLUMNS : COMMAND_VIEW_CLASSES,
           "so does c, and there it chooses the columns");
    }
}

static void test_a_list_is_left_at_neither_end(void) {
    is(list_step(5, command_rows(COMMAND_UP, 10), 20), 4, "up is a row");
    is(list_step(5, command_rows(COMMAND_DOWN, 10), 20), 6, "so is down");
    is(list_step(5, command_rows(COMMAND_PAGE_DOWN, 10), 20), 15, "a screen down");
    is(list_step(5, command_rows(COMMAND_PAGE_UP, 10), 20), 0, "a screen up ends at the first row");
    is(list_step(15, command_rows(COMMAND_PAGE_DOWN, 10), 20), 20, "and down at the last");
    is(list_step(5, command_rows(COMMAND_TOP, 10), 20), 0, "to the first");
    is(list_step(5, command_rows(COMMAND_BOTTOM, 10), 20), 20, "to the last");
    is(list_step(25, command_rows(COMMAND_QUIT, 10), 20), 20, "a list that grew shorter takes the cursor along");
    is(list_step(0, command_rows(COMMAND_BOTTOM, 10), 0), 0, "a list of one row has one place");
}

int main(void) {
    test_a_list_is_left_at_neither_end();
    test_views_open_from_everywhere();
    test_no_key_means_two_things_in_one_place();
    test_every_function_key_has_a_twin();
    test_only_a_capital_sends();
    test_names_are_readable();
    test_there_is_always_a_way_out();
    return tap_done();
}
