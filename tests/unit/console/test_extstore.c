/* memcached's storage on flash: its stats, its settings, and what is found about it. */
#include "act/action.h"
#include "brain/ask.h"
#include "screen.h"

#define FIXTURE "memcached-1.6.45-extstore"

static struct model *extstore_model(void) {
    struct model *model = fixture_model(FIXTURE);
    fixture_details(model, FIXTURE "-second.txt", 0, 12000);
    return model;
}

static void test_its_stats_are_read(void) {
    static struct snapshot now;
    fixture_load(FIXTURE "-second.txt", 1, &now);
    ok(snapshot_has_extstore(&now), "there is storage");
    is(now.general[GENERAL_extstore_limit_maxbytes], 64 << 20, "so large");
    is(now.general[GENERAL_extstore_memory_pressure], 3000, "30.00 %% in hundredths");
    is(now.general[GENERAL_extstore_pages_free] + now.general[GENERAL_extstore_pages_used], 32, "pages");
    is(now.setting[SETTING_ext_max_frag], 800, "max_frag in thousandths");
    is(now.setting[SETTING_ext_drop_unread], 0, "drop_unread");
    fixture_load("memcached-1.6.45-second.txt", 1, &now);
    ok(!snapshot_has_extstore(&now), "settings alone are no storage");
}

/* All values that are taken and refused are tried in tests/real/slatectl_extstore_spec.lua. */
static void test_settings_are_checked_and_sent(void) {
    struct model *model = extstore_model();
    struct action none = action_set("ext_item_size", "0"), half = action_set("ext_drop_unread", "yes");
    char why[NOTE_BYTES], line[ACTION_LINE_BYTES] = "";
    unsigned times;
    ok(!action_check(&none, model, why, sizeof why), "ext_item_size 0: %s", why);
    ok(action_check(&half, model, why, sizeof why) && action_line(&half, model, 0, line, &times), "a switch: %s", why);
    is_str(line, "extstore drop_unread 1", "as memcached wants it");
    model_destroy(&model);
}

static void test_tune_has_the_settings_where_there_is_storage(void) {
    struct model *model = extstore_model();
    struct frame frame = frame_of(model);
    reset_ui(3);
    draw(&frame, 80, 24, false);
    tune_view.command(&frame, &ui, COMMAND_BOTTOM);
    is_str(setting_name_at(ui.tune.cursor), "ext_max_sleep", "the last row is one of storage");
    draw(&frame, 80, 24, false);
    ok(shows(" flash item size     512") && shows(" flash max sleep us  1000000"), "its settings are the last");
    tune_view.command(&frame, &ui, COMMAND_LESS);
    struct intent intent = tune_view.command(&frame, &ui, COMMAND_REVIEW);
    ok(intent.kind == INTENT_REVIEW && intent.plan.count == 1 &&
           strcmp(intent.plan.steps[0].name, "ext_max_sleep") == 0,
       "t reviews a new value");
    model_destroy(&model);
    model = fixture_model("memcached-1.6.45");
    frame = frame_of(model);
    tune_forget(&ui);
    draw(&frame, 80, 50, false);
    ok(!shows("flash") && strncmp(setting_name_at(ui.tune.cursor), "ext_", 4) != 0,
       "without storage they are left out, and the cursor is on another row");
    model_destroy(&model);
}

static void test_the_overview_finds_what_the_doctor_finds(void) {
    struct model *model = extstore_model();
    struct sentence out[SENTENCES_MOST];
    static const struct question question = {.module = "slate.judge.attention", .function = "findings"};
    unsigned count = brain_ask(model, &question, out), found = 0;
    for (unsigned i = 0; i < count; i++) {
        bool is_it = strstr(out[i].text, "storage on flash is full: it evicts") == out[i].text;
        found += is_it && out[i].key == '4' && strcmp(out[i].label, "storage_pages") == 0;
    }
    is(found, 1, "flash is full, and the settings are behind 4");
    model_destroy(&model);
}

int main(void) {
    test_its_stats_are_read();
    test_settings_are_checked_and_sent();
    test_tune_has_the_settings_where_there_is_storage();
    test_the_overview_finds_what_the_doctor_finds();
    return tap_done();
}
