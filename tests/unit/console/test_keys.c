#include "draw/keys.h"
#include "tap.h"

static const enum scope scopes[] = {SCOPE_OVERVIEW, SCOPE_CLASSES, SCOPE_EVENTS,
                                    SCOPE_REVIEW,   SCOPE_FILTER,  SCOPE_HELP,
                                    SCOPE_COLUMNS};
enum { SCOPES = sizeof scopes / sizeof *scopes };

static bool share_a_key(const struct key_row *a, const struct key_row *b) {
    bool share = false;
    for (int i = 0; i < KEYS_PER_ROW && a->keys[i] != 0; i++) {
        for (int j = 0; j < KEYS_PER_ROW && b->keys[j] != 0; j++) {
            share |= a->keys[i] == b->keys[j];
        }
    }
    return share && (a->scopes & b->scopes) != 0;
}

TEST(test_no_key_means_two_things_in_one_place) {
    for (unsigned i = 0; i < key_row_count; i++) {
        for (unsigned j = i + 1; j < key_row_count; j++) {
            if (share_a_key(&key_rows[i], &key_rows[j])) {
                ok(false, "'%s' and '%s' share a key", key_rows[i].help, key_rows[j].help);
            }
        }
    }
}

TEST(test_every_function_key_has_a_twin) {
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

TEST(test_only_a_capital_sends) {
    for (unsigned i = 0; i < key_row_count; i++) {
        for (int k = 0;
             k < KEYS_PER_ROW && key_rows[i].command == COMMAND_SEND && key_rows[i].keys[k] != 0;
             k++) {
            ok(key_rows[i].keys[k] >= 'A' && key_rows[i].keys[k] <= 'Z', "send is bound to a capital");
            is(key_rows[i].scopes, SCOPE_REVIEW, "and only inside the review");
        }
    }
    for (int s = 0; s < SCOPES; s++) {
        ok(key_command(KEY_RETURN, scopes[s]) != COMMAND_SEND, "Enter does not send in scope %d", scopes[s]);
    }
}

TEST(test_names_are_readable) {
    char name[KEY_NAME_BYTES], names[40];
    is_str(key_label(KEY_FUNCTION + 10, name), "F10", "an F-key");
    is_str(key_label(KEY_CONTROL('l'), name), "^L", "a control key");
    is_str(key_label(KEY_ESCAPE, name), "Esc", "escape");
    is_str(key_label('m', name), "m", "a letter");
    for (unsigned i = 0; i < key_row_count; i++) {
        ok(key_row_names(&key_rows[i], names, sizeof names)[0] != '\0' && strlen(key_rows[i].help) <= 54,
               "'%s' has a key and fits the help at 80 columns", key_rows[i].help);
    }
}

TEST(test_there_is_always_a_way_out) {
    for (int s = 0; s < SCOPES; s++) {
        enum command command = key_command(KEY_CONTROL('c'), scopes[s]);
        enum command escape = key_command(KEY_ESCAPE, scopes[s]);
        ok(command == COMMAND_QUIT || command == COMMAND_CANCEL || escape == COMMAND_CANCEL, "scope %d can be left", scopes[s]);
    }
}

TEST(test_a_list_is_left_at_neither_end) {
    static const struct {
        unsigned from, last, to;
        enum command command;
    } steps[] = {{5, 20, 4, COMMAND_UP}, {5, 20, 6, COMMAND_DOWN}, {5, 20, 15, COMMAND_PAGE_DOWN}, {5, 20, 0, COMMAND_PAGE_UP},
                 {15, 20, 20, COMMAND_PAGE_DOWN}, {5, 20, 0, COMMAND_TOP}, {5, 20, 20, COMMAND_BOTTOM},
                 {25, 20, 20, COMMAND_QUIT}, {0, 0, 0, COMMAND_BOTTOM}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        is(key_step(steps[i].from, key_move_rows(steps[i].command, 10), steps[i].last), steps[i].to, "step %zu from %u", i, steps[i].from);
    }
}

int main(void) { return tap_main(); }
