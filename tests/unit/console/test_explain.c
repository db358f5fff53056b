/* `?`: every figure that a view shows has an explanation, and the overlay shows it. */
#include "draw/explain.h"
#include "screen.h"

static void test_every_term_of_every_view_has_an_entry(void) {
    reset_ui(0);
    for (unsigned i = 0; view_list[i] != NULL; i++) {
        static struct terms terms;
        memset(&terms, 0, sizeof terms);
        ui.view = i;
        view_terms(view_list[i], &ui, &terms);
        ok(terms.count > 0 && terms.count < TERMS_MOST && terms.current < terms.count,
           "%s has %u terms", view_list[i]->name, terms.count);
        for (unsigned t = 0; t < terms.count; t++) {
            ok(explain_term(terms.name[t]) != NULL, "%s: %s is explained", view_list[i]->name,
               terms.name[t]);
        }
    }
}

static void test_every_column_and_every_rate_has_an_entry(void) {
    char term[TERM_BYTES];
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        snprintf(term, sizeof term, "class.%s", class_columns[i].name);
        ok(explain_term(term) != NULL, "%s", term);
    }
    for (unsigned i = 0; i < METRIC_COUNT; i++) {
        ok(explain_term(metric_rows[i].key) != NULL, "%s", metric_rows[i].key);
    }
}

static void test_every_setting_has_an_entry(void) {
    static struct snapshot snapshot;
    static struct tunable rows[SETTINGS_MOST];
    struct answers answers = {0};
    snapshot_init(&snapshot);
    unsigned count = settings_list(&snapshot, &answers, 0, rows);
    for (unsigned i = 0; i < count; i++) {
        ok(explain_term(setting_term(rows[i].name)) != NULL, "%s is explained", rows[i].label);
    }
}

static void test_entries_are_whole_and_joined(void) {
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
    ok(strstr(explain_term("gets")->what_to_do, "something: look at server_cpu") != NULL,
       "a line that goes on is joined by one blank");
}

static void test_the_overlay_shows_the_entry_and_goes_on_to_the_next(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    struct frame frame = frame_of(model);
    reset_ui(1);
    explain_open(&ui, view_current(&ui));
    draw(&frame, 80, 24, false);
    ok(shows("class.ev (11 of "), "it begins with the column that is sorted by");
    ok(shows("what     Live items thrown out of this class."), "what it is");
    ok(shows("do       Eviction is no fault by itself"), "what to do");
    ok(shows("source   stats items: evicted"), "where it comes from");
    explain_command(&ui, COMMAND_NEXT_FIELD);
    draw(&frame, 80, 24, false);
    ok(shows("class.usedpct"), "Right goes on");
    explain_command(&ui, COMMAND_PREVIOUS_FIELD);
    explain_command(&ui, COMMAND_PREVIOUS_FIELD);
    draw(&frame, 80, 24, false);
    ok(shows("class.sets"), "Left goes back");
    explain_command(&ui, COMMAND_CANCEL);
    draw(&frame, 80, 24, false);
    ok(!ui.explain.is_open && !shows("what     "), "Esc closes it");
    model_destroy(&model);
}

static void test_the_overlay_scrolls_on_the_smallest_screen(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    struct frame frame = frame_of(model);
    reset_ui(0);
    explain_open(&ui, view_current(&ui));
    draw(&frame, 40, 10, false);
    ok(shows("what     "), "the beginning first");
    ok(!shows("unit     %"), "not all of it fits");
    for (int i = 0; i < 100; i++) {
        explain_command(&ui, COMMAND_DOWN);
    }
    draw(&frame, 40, 10, false);
    ok(shows("also     hit %"), "Down comes to its end and stays there");
    is(clipped, 0, "nothing falls off the right edge");
    model_destroy(&model);
}

int main(void) {
    test_every_term_of_every_view_has_an_entry();
    test_every_column_and_every_rate_has_an_entry();
    test_every_setting_has_an_entry();
    test_entries_are_whole_and_joined();
    test_the_overlay_shows_the_entry_and_goes_on_to_the_next();
    test_the_overlay_scrolls_on_the_smallest_screen();
    return tap_done();
}
