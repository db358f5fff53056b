/* `?`: every figure that a view shows has an explanation, and the overlay shows the explanation. */
#include "draw/explain.h"
#include "screen.h"

TEST(test_everything_shown_has_an_entry) {
    char term[TERM_BYTES];
    static struct snapshot snapshot;
    static struct tunable rows[SETTINGS_MOST];
    struct answers answers = {0};
    reset_ui(0);
    for (unsigned i = 0; view_list[i] != NULL; i++) {
        static struct terms terms;
        memset(&terms, 0, sizeof terms);
        ui.view = i;
        view_terms(view_list[i], &ui, &terms);
        ok(terms.count > 0 && terms.count < TERMS_MOST && terms.current < terms.count, "%s has %u terms", view_list[i]->name, terms.count);
        for (unsigned t = 0; t < terms.count; t++) {
            ok(explain_term(terms.name[t]) != NULL, "%s: %s is explained", view_list[i]->name, terms.name[t]);
        }
    }
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        snprintf(term, sizeof term, "class.%s", class_columns[i].name);
        ok(explain_term(term) != NULL, "%s", term);
    }
    for (unsigned i = 0; i < METRIC_COUNT; i++) {
        ok(explain_term(metric_rows[i].key) != NULL, "%s", metric_rows[i].key);
    }
    snapshot_init(&snapshot);
    for (unsigned i = settings_list(&snapshot, &answers, 0, rows); i > 0; i--) {
        ok(explain_term(setting_term(rows[i - 1].name)) != NULL, "%s is explained", rows[i - 1].label);
    }
}

TEST(test_entries_are_whole_and_joined) {
    const struct explanation *entry;
    unsigned count = 0;
    for (; (entry = explain_at(count)) != NULL; count++) {
        if (entry->unit[0] == '\0' || entry->meaning[0] == '\0' || entry->source[0] == '\0' ||
            entry->what_to_do[0] == '\0' || strchr(entry->meaning, '\n') != NULL) {
            ok(false, "%s is not whole", entry->term);
        }
    }
    ok(count > 80, "%u entries", count);
    ok(explain_term("no_such_term") == NULL, "an unknown term has none");
    ok(strstr(explain_term("gets")->what_to_do, "something: see server_cpu") != NULL,
       "a line that goes on is joined by one blank");
}

static const char *after(enum command command) {
    overlay_explain_command(&ui, command);
    return draw(&frame, 80, 24, false);
}

TEST(test_the_overlay_shows_the_entry_and_goes_on_to_the_next) {
    look(fixture_model("memcached-1.4.25"), 0, 1);
    overlay_open_explain(&ui, view_current(&ui));
    draw(&frame, 80, 24, false);
    ok(shows("class.ev (11 of ") && shows("what     Live items thrown out of this class.") && shows("source   stats items: evicted"),
       "it begins with the column that is sorted by");
    ok(strstr(after(COMMAND_NEXT_FIELD), "class.usedpct") != NULL, "Right goes on");
    after(COMMAND_PREVIOUS_FIELD);
    ok(strstr(after(COMMAND_PREVIOUS_FIELD), "class.sets") != NULL, "Left goes back");
    for (int i = 0; i < 100; i++) {
        overlay_explain_command(&ui, COMMAND_DOWN);
    }
    draw(&frame, 40, 10, false);
    ok(shows("also ") && clipped == 0, "on the smallest screen Down comes to its end and stays there");
    ok(strstr(after(COMMAND_CANCEL), "what     ") == NULL && !ui.explain.is_open, "Esc closes it");
}

int main(void) { return fixture_main(); }
