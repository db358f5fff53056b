/* memcached's storage on flash: its stats, its pages, its settings and the view of it. */
#include "act/action.h"
#include "brain/ask.h"
#include "screen.h"

#define FIXTURE "memcached-1.6.45-extstore"

static struct model *extstore_model(void) {
    struct model *model = fixture_model(FIXTURE);
    fixture_details(model, FIXTURE "-second.txt", 0, 12000);
    return model;
}

static void open_view(void) {
    unsigned i = 0;
    while (view_list[i] != &extstore_view) {
        i++;
    }
    reset_ui(i);
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

static void test_pages_are_read_one_by_one(void) {
    static struct extstore_pages list;
    static const char text[] =
        "STAT 0:version 7\r\nSTAT 0:bytes 900\r\nSTAT 0:bucket 1\r\nSTAT 0:free_bucket 2\r\n"
        "STAT 1:version 0\r\nSTAT 1:bytes 0\r\nSTAT 1:bucket 1\r\nSTAT 1:free_bucket 2\r\n"
        "STAT 2:version 8\r\nSTAT 2:bytes 700\r\nSTAT 2:bucket 99\r\nSTAT 2:free_bucket -1\r\n"
        "STAT 4096:version 9\r\nSTAT x:version 9\r\nSTAT 3:nonsense 1\r\nSTAT 3:bytes -5\r\nEND\r\n";
    extstore_pages_parse(&list, text, sizeof text - 1);
    is(list.count, 4, "pages beyond the most are left out");
    ok(list.pages[0].is_used && list.pages[0].bytes == 900 && list.pages[0].bucket == 1,
       "a page in use is of what is written to it");
    ok(!list.pages[1].is_used && list.pages[1].bucket == 2, "a free one of what it is kept for");
    ok(list.pages[2].bucket == 0 && list.pages[3].bytes == 0, "what cannot be is not taken");
    is(extstore_sparse_pages(&list, 1000, 0.8), 1, "one of two in use is less than 80 %% full");
    extstore_pages_parse(&list, "", 0);
    is(list.count, 0, "each answer begins anew");
}

static void test_what_has_none_says_why(void) {
    static struct snapshot now;
    const char *why_not;
    fixture_load(FIXTURE "-second.txt", 1, &now);
    ok(inquiry_is_offered(INQUIRY_EXTSTORE, &now, &why_not), "pages are asked for");
    now.general[GENERAL_extstore_pages_free] = EXTSTORE_PAGES_MOST;
    ok(!inquiry_is_offered(INQUIRY_EXTSTORE, &now, &why_not), "not of too many: %s", why_not);
    fixture_load("memcached-1.6.45-second.txt", 1, &now);
    ok(!inquiry_is_offered(INQUIRY_EXTSTORE, &now, &why_not) && strstr(why_not, "-o ext_path") != NULL,
       "%s", why_not);
    fixture_load("memcached-1.4.25-second.txt", 1, &now);
    ok(!inquiry_is_offered(INQUIRY_EXTSTORE, &now, &why_not) &&
           strstr(why_not, "without extstore") != NULL,
       "%s", why_not);
    fixture_load("slated-0.1-second.txt", 1, &now);
    ok(!inquiry_is_offered(INQUIRY_EXTSTORE, &now, &why_not) && strstr(why_not, "slated") != NULL,
       "%s", why_not);
}

static void test_settings_are_checked_and_sent(void) {
    static struct snapshot now;
    static struct answers answers;
    static const struct {
        const char *name, *value, *line; /* NULL: refused */
    } cases[] = {
        {"ext_item_size", "2048", "extstore item_size 2048"},
        {"ext_item_size", "0", NULL},
        {"ext_item_size", "1048577", NULL}, /* beyond -I */
        {"ext_item_age", "4294967294", "extstore item_age 4294967294"},
        {"ext_item_age", "4294967296", NULL},
        {"ext_low_ttl", "60", "extstore low_ttl 60"},
        {"ext_recache_rate", "0", "extstore recache_rate 0"},
        {"ext_max_frag", "0.75", "extstore max_frag 0.75"},
        {"ext_max_frag", "1.1", NULL},
        {"ext_drop_unread", "yes", "extstore drop_unread 1"},
        {"ext_drop_unread", "maybe", NULL},
        {"ext_compact_under", "4", "extstore compact_under 4"},
        {"ext_drop_under", "2", "extstore drop_under 2"},
        {"ext_max_sleep", "10000", "extstore max_sleep 10000"},
        {"ext_max_sleep", "0", NULL},
        {"ext_wbuf_size", "4", NULL},
    };
    struct model *model = extstore_model();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct action action = action_set(cases[i].name, cases[i].value);
        char why[NOTE_BYTES] = "", line[ACTION_LINE_BYTES] = "";
        unsigned times;
        bool is_allowed = action_check(&action, model, why, sizeof why);
        is(is_allowed, cases[i].line != NULL, "%s = %s: %s", cases[i].name, cases[i].value, why);
        if (is_allowed) {
            action_line(&action, model, 0, line, &times);
            is_str(line, cases[i].line, "as memcached wants it");
        }
    }
    model_destroy(&model);
    fixture_load(FIXTURE "-second.txt", 1, &now);
    fixture_answers(FIXTURE "-second.txt", &answers);
    struct tunable row;
    now.general[GENERAL_extstore_limit_maxbytes] = STAT_ABSENT;
    settings_find(&now, &answers, "ext_item_age", 0, &row);
    is_str(row.refusal, "needs a start with -o ext_path", "without storage");
    now.is_slated = true;
    settings_find(&now, &answers, "ext_item_age", 0, &row);
    is_str(row.refusal, "slated has no storage on flash", "nor of slated");
    answers_fini(&answers);
}

static void test_each_setting_is_in_one_view(void) {
    struct setting_range memory = settings_range(SETTINGS_OF_MEMORY);
    struct setting_range flash = settings_range(SETTINGS_OF_EXTSTORE);
    ok(memory.first == 0 && memory.end == flash.first && flash.end - flash.first == 9,
       "nine of %u are of flash", flash.end);
    for (unsigned i = 0; i < flash.end; i++) {
        is(strncmp(setting_name_at(i), "ext_", 4) == 0, i >= flash.first, "%s", setting_name_at(i));
    }
}

static void test_the_view_has_all_at_80x24(void) {
    struct model *model = extstore_model();
    struct frame frame = frame_of(model);
    open_view();
    draw(&frame, 80, 24, false);
    ok(shows("storage on flash: 64M, 1 of 32 pages free"), "how large it is");
    ok(shows(" objects      12359      9721    2576       482"), "what is on it");
    ok(shows(" holes 27.3M, 44.1% of pages in use; 27 sparse"), "what it cannot use");
    ok(shows("memory pressure 30.0%"), "what memory lacks");
    ok(shows("1    96 12889   937K stays") && shows("20  7104") && shows("yes"),
       "which classes are written");
    ok(shows(" default       2"), "its pages");
    ok(shows(" flash item size     512") && shows(" flash max sleep us  1000000"),
       "the first and the last setting");
    is(clipped, 0, "nothing is cut");
    draw(&frame, 160, 50, false);
    ok(shows("pages by what is written to them") && shows(" compact "), "all buckets where there is room");
    ok(shows("Items at least as large are written to flash"), "and what the setting means");
    draw(&frame, 40, 10, false);
    ok(shows("storage on flash") && shows("flash item size"), "and the setting on the smallest screen");
    model_destroy(&model);
}

static void test_a_new_value_goes_to_the_review(void) {
    struct model *model = extstore_model();
    struct frame frame = frame_of(model);
    open_view();
    draw(&frame, 80, 24, false);
    is_str(setting_name_at(ui.tune.cursor), "ext_item_size", "the cursor begins at its first setting");
    extstore_view.command(&frame, &ui, COMMAND_UP);
    is_str(setting_name_at(ui.tune.cursor), "ext_item_size", "and stays among them");
    extstore_view.command(&frame, &ui, COMMAND_BOTTOM);
    is_str(setting_name_at(ui.tune.cursor), "ext_max_sleep", "to the last");
    extstore_view.command(&frame, &ui, COMMAND_TOP);
    extstore_view.command(&frame, &ui, COMMAND_MORE);
    draw(&frame, 80, 24, false);
    ok(shows("*flash item size     512           640") && shows("undo: 512"), "a new value is marked");
    struct intent intent = extstore_view.command(&frame, &ui, COMMAND_REVIEW);
    ok(intent.kind == INTENT_REVIEW && intent.plan.count == 1 &&
           strcmp(intent.plan.steps[0].name, "ext_item_size") == 0,
       "t reviews it");
    intent = tune_view.command(&frame, &ui, COMMAND_REVIEW);
    ok(intent.kind == INTENT_REVIEW && ui.tune.cursor < settings_range(SETTINGS_OF_MEMORY).end,
       "so it does in the tune view, whose cursor is on a setting of its own");
    review_open(&ui.review, &intent.plan, NULL);
    draw(&frame, 80, 24, false);
    ok(shows("extstore item_size 640"), "as it is sent");
    model_destroy(&model);
}

static void test_without_storage_the_view_says_why(void) {
    struct model *model = fixture_model("memcached-1.6.45");
    struct frame frame = frame_of(model);
    open_view();
    draw(&frame, 80, 24, false);
    ok(shows("started without storage on flash: -o ext_path=FILE:SIZE\n"), "in a line");
    ok(!shows("flash item size") && !shows("ON FLASH"), "and shows nothing else");
    is(extstore_view.command(&frame, &ui, COMMAND_MORE).kind, INTENT_NONE, "there is nothing to change");
    ok(!shows("Review") && !shows("More") && shows("Help") && shows("Quit"), "and the key bar offers no change");
    model_destroy(&model);
}

static void test_the_overview_finds_what_the_doctor_finds(void) {
    struct model *model = extstore_model();
    struct sentence out[SENTENCES_MOST];
    static const struct question question = {.module = "slate.judge.attention", .function = "findings"};
    unsigned count = brain_ask(model, &question, out), found = 0;
    for (unsigned i = 0; i < count; i++) {
        bool is_it = strstr(out[i].text, "storage on flash is full: it evicts") == out[i].text;
        found += is_it && out[i].key == 'e' && strcmp(out[i].label, "storage_pages") == 0;
    }
    is(found, 1, "flash is full, and e shows it");
    model_destroy(&model);
}

int main(void) {
    test_its_stats_are_read();
    test_pages_are_read_one_by_one();
    test_what_has_none_says_why();
    test_settings_are_checked_and_sent();
    test_each_setting_is_in_one_view();
    test_the_view_has_all_at_80x24();
    test_a_new_value_goes_to_the_review();
    test_without_storage_the_view_says_why();
    test_the_overview_finds_what_the_doctor_finds();
    return tap_done();
}
