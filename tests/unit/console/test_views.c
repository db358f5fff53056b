/* Views get snapshots of real servers, and their cells are read. */
#include "brain/brain.h"
#include "screen.h"

TEST(test_overview_shows_faults_and_keys) {
    look(fixture_model("memcached-1.4.25"), 2, 0);
    ok(shows("! BAD   class 12 starves: it evicts 100 items a second, which live 7s, while\n") &&
           shows("        class 4 has 7 free pages: press m\n"), "the starving class, in words, with the key, whole at 80 columns");
    ok(shows("evictions/s          100"), "evictions/s");
    ok(shows("hit %               75.0"), "hit ratio of the interval");
    ok(shows("ops/s                300"), "ops/s");
    ok(shows("items    48M") && shows("of 64M"), "memory");
    ok(shows("conns     10 of -"), "a limit that the server does not report is a dash");
    ok(shows("[1 Overview]") && shows("F10Quit"), "tabs and keys");
    ok(shows("class 12: 1.6 % of the pages, 100 % of the evictions"), "the imbalance in one sentence");
    ok(shows("! 12   1184     1    1.6% █               100% █████████████"), "and as bars beside each other");
    ok(shows("     7s  STARVING"), "how long its items live, and the meaning of that");
    ok(shows("evictions/s          100      100     100     100"), "a graph names the value of its top");
}

TEST(test_lines_without_a_warning_give_way_to_classes) {
    look(fixture_model("memcached-1.4.25"), 2, 0);
    ok(!shows("○ ok"), "on a small screen, while a class starves");
    frame.is_replay = true;
    draw(&frame, 80, 24, false);
    ok(shows("starves") && !shows(": press m"), "a recording cannot be changed: no key is named");
    frame.is_replay = false;
    draw(&frame, 160, 50, false);
    ok(shows("○ ok    hit ratio"), "on a tall screen both have room");
}

/* A minute of ops a second with one much higher second. */
TEST(test_one_spike_does_not_flatten_a_minute) {
    look(fixture_model("memcached-1.4.25"), 20, 0);
    struct snapshot spike = *model_now(model);
    spike.at_ms += 1000;
    spike.general[GENERAL_evictions] += 1000000;
    model_add(model, &spike, 1100);
    ok(strstr(draw(&frame, 80, 24, false), "400+") != NULL, "the top is four times the usual value, and a spike is known to be higher");
}

TEST(test_the_review_shows_exactly_the_lines_sent) {
    look(fixture_model("memcached-1.6.18"), 0, 1);
    struct intent intent = propose_move(&frame, 12, 4);
    is(intent.kind, INTENT_REVIEW, "moving pages opens a review");
    review_open(&ui.review, &intent.plan, NULL);
    review_type(&ui.review, '3');
    draw(&frame, 80, 24, false);
    ok(shows("slabs reassign 4 12 × 3, one after the other"), "the command and how often");
    ok(shows("to cache7:11211"), "and its receiver");
    ok(shows("capital S sends it"), "and how it is confirmed");
    ok(shows("up to 16383 items of class 4"), "and its possible cost");
    ok(shows("SSend") && !shows("F5Move"), "the key bar is the review's");
    review_type(&ui.review, '9');
    draw(&frame, 80, 24, false);
    ok(shows("[  39]"), "digits add up");
    review_type(&ui.review, '9');
    draw(&frame, 80, 24, false);
    ok(shows("refused") && shows("class 4 has 64 pages, keeps its last one"), "too many is refused in the dialog");
    ok(!shows("slabs reassign"), "and nothing is offered to be sent");
    review_command(&ui.review, model, COMMAND_PREVIOUS_FIELD);
    review_command(&ui.review, model, COMMAND_MORE);
    is(ui.review.plan.steps[0].to, 22, "plus on the destination goes to the next class with pages");
    review_command(&ui.review, model, COMMAND_LESS);
    review_command(&ui.review, model, COMMAND_LESS);
    review_command(&ui.review, model, COMMAND_LESS);
    is(ui.review.plan.steps[0].to, POOL_CLASS, "below the first class is the pool");
    ui.review.plan.steps[0] = action_move(4, 12, 3);
    draw(&frame, 40, 10, false);
    ok(shows("slabs reassign 4 12 × 3") && shows("capital S sends it"), "the smallest screen still shows the lines to be sent");
    frame.locked = "ROLE read";
    draw(&frame, 80, 24, false);
    ok(shows("ROLE read: nothing can be sent") && !shows("capital S"), "a user who may not change the server reads why");
}

/* The screen without blanks, ends of lines and the dialog's frame, so that wrapped text is one line again. */
static const char *unwrapped(const char *text) {
    static char out[sizeof screen];
    size_t used = 0;
    while (*text != '\0') {
        size_t skipped = strncmp(text, "│", 3) == 0 ? 3 : *text == ' ' || *text == '\n';
        text += skipped;
        if (skipped == 0) {
            out[used++] = *text++;
        }
    }
    out[used] = '\0';
    return out;
}

/* Opens a review. Returns the number of screen sizes, none wider than the dialog, at which the review says that all lines are visible.
 * *is_true: they are, at each of these sizes. */
static int sizes_that_show(const struct plan *plan, bool *is_true) {
    int seen = 0;
    *is_true = true;
    review_open(&ui.review, plan, NULL);
    ok(!ui.review.is_seen, "before it is drawn nothing of a review was seen");
    for (int height = 1; height <= 34; height += 3) {
        for (int width = 1; width <= 76; width += 5) {
            char line[ACTION_LINE_BYTES], needle[ACTION_LINE_BYTES];
            unsigned times;
            draw(&frame, width, height, false);
            seen += ui.review.is_seen;
            for (unsigned i = 0; ui.review.is_seen && i < plan->count; i++) {
                for (unsigned n = 0; action_line(&plan->steps[i], model, n, line, &times); n++) {
                    snprintf(needle, sizeof needle, "%s", unwrapped(line));
                    *is_true &= strstr(unwrapped(screen), needle) != NULL;
                }
            }
        }
    }
    return seen;
}

TEST(test_a_review_knows_whether_all_that_is_sent_was_seen) {
    static const char *const changes[][2] = {
        {"slab_automove", "2"}, {"slab_automove_ratio", "0.55"}, {"temporary_ttl", "30"}, {"maxbytes", "80"}, {"lru_crawler", "no"},
        {"lru_crawler_sleep", "700"}, {"lru_crawler_tocrawl", "4000"}, {"verbosity", "1"}};
    struct plan plan = {.count = sizeof changes / sizeof *changes};
    bool is_true;
    for (unsigned i = 0; i < plan.count; i++) {
        plan.steps[i] = action_set(changes[i][0], changes[i][1]);
    }
    look(fixture_model("memcached-1.6.45"), 0, 0);
    int seen = sizes_that_show(&plan, &is_true);
    ok(is_true && seen > 30, "eight changes: where it says so (%d sizes) all lines are there", seen);
    draw(&frame, 80, 24, false);
    ok(ui.review.is_seen && shows("8 changes; it stops at the first that fails"), "80x24 has room for them");
    draw(&frame, 20, 4, false);
    ok(!ui.review.is_seen, "a screen that shows no review at all takes that back");
    draw(&frame, 80, 12, false);
    ok(!ui.review.is_seen && shows("S needs a higher window to send"), "as does one that is too low, and says so");
    char sizes[SETTING_VALUE_BYTES] = "sizes 96";
    for (unsigned size = 104; strlen(sizes) + 5 < sizeof sizes; size += 96) {
        snprintf(sizes + strlen(sizes), 6, ",%u", size);
    }
    plan = action_plan(action_set("geometry", sizes));
    look(fixture_model("slated-0.1"), 0, 0);
    seen = sizes_that_show(&plan, &is_true);
    ok(is_true && seen > 30, "a list of sizes without a blank: where it says so (%d sizes) it is whole", seen);
}

TEST(test_old_figures_are_marked_in_words) {
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    frame = frame_of(model);
    frame.now_ms = 20000;
    reset_ui(1);
    draw(&frame, 80, 24, false);
    ok(shows("STALE 8s"), "a silent server is stale");
    model_set_link(model, LINK_DOWN, "cache7:11211 closed the connection", 0);
    frame.retry_ms = 22000;
    draw(&frame, 80, 24, false);
    ok(shows("DOWN, next try in 2s") && shows("closed the connection"), "a lost one is down, with the reason and the next try");
    ok(shows("1184"), "the last figures stay");
}

TEST(test_the_first_screen_needs_no_reply) {
    for (unsigned view = 0; view_list[view] != NULL; view++) {
        look(brain_model("cache7:11211"), 0, view);
        ok(shows("cache7:11211") && shows("connecting"), "%s without a snapshot", view_list[view]->name);
    }
    is(propose_move(&frame, 1, 2).kind, INTENT_SAY, "and nothing can be proposed");
}

/* Whether the screen has the help of each key of a scope. */
static bool helps_with(unsigned scope) {
    bool has_all = true;
    for (unsigned i = 0; i < key_row_count; i++) {
        has_all &= !(key_rows[i].scopes & scope) || shows(key_rows[i].help);
    }
    return has_all;
}

TEST(test_help_lists_every_key_of_the_view) {
    look(fixture_model("memcached-1.6.18"), 0, 1);
    ui.help_is_open = true;
    draw(&frame, 80, 120, false);
    ok(helps_with(SCOPE_CLASSES | SCOPE_REVIEW | SCOPE_FILTER | SCOPE_COLUMNS), "and for overlays in it");
    draw(&frame, 160, 60, false);
    ok(shows("in this view") && shows("in this list") && clipped == 0, "a wide screen has two columns, and so all of it");
    snprintf(ui.help_searched, sizeof ui.help_searched, "UNDO");
    draw(&frame, 80, 24, false);
    ok(shows("undo the last change") && !shows("leave; pages"), "letters of either case are found, the rest is not shown");
    snprintf(ui.help_searched, sizeof ui.help_searched, "bananas");
    draw(&frame, 80, 24, false);
    ok(shows("no key of this view does 'bananas'"), "nothing found is said");
    struct plan plan = action_plan(action_set("slab_automove", "1"));
    reset_ui(0);
    review_open(&ui.review, &plan, NULL);
    ui.help_is_open = key_command('?', SCOPE_REVIEW) == COMMAND_HELP;
    draw(&frame, 80, 24, false);
    ok(helps_with(SCOPE_REVIEW) && !shows("in this view") && shows("capital S sends it"), "? in a review has its keys only, below it");
}

TEST(test_ascii_keeps_the_meaning) {
    look(fixture_model("memcached-1.4.25"), 2, 0);
    for (unsigned view = 0; view_list[view] != NULL; view++) {
        bool is_ascii = true, is_fleet = view_list[view] == &fleet_view;
        reset_ui(view);
        for (const char *at = draw(&frame, 160, 50, true); *at != '\0'; at++) {
            is_ascii = is_ascii && (unsigned char)*at < 0x7f;
        }
        ok(is_ascii && !(is_fleet && shows("press m")), "%s is ASCII only, and names no key that it does not have", view_list[view]->name);
        bool is_about_classes = is_fleet || view_list[view] == &overview_view || view_list[view] == &classes_view;
        ok(!is_about_classes || shows("starves") || shows("STARVING"), "%s still names starving classes", view_list[view]->name);
    }
}

TEST(test_every_size_and_server_is_drawn) {
    enum { WHY = 4, ONE_CLASS, OVERLAYS };
    static const char *const servers[] = {"memcached-1.4.25", "memcached-1.6.45-extstore", "slated-0.1"};
    static const int sizes[][2] = {{1, 1}, {39, 9}, {40, 10}, {80, 24}, {132, 43}, {238, 61}};
    for (size_t s = 0; s < sizeof servers / sizeof *servers; s++) {
        int wrong = 0;
        look(fixture_model(servers[s]), 0, 0);
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes * OVERLAYS; i++) {
            const int *size = sizes[i / OVERLAYS], overlay = i % OVERLAYS;
            struct plan plan = action_plan(overlay == 2 ? action_set("slab_automove", "1") : action_move(4, 12, 1));
            for (unsigned view = 0; view_list[view] != NULL; view++) {
                reset_ui(view);
                ui.help_is_open = overlay == 1;
                ui.why.is_open = overlay == WHY;
                if (overlay == 2 || overlay == 3) {
                    review_open(&ui.review, &plan, overlay == 3 ? "what was done" : NULL);
                } else if (overlay == ONE_CLASS) {
                    view_open_class(&ui, 12);
                }
                draw(&frame, size[0], size[1], i / OVERLAYS % 2);
                bool is_whole = size[0] < SCREEN_LEAST_WIDTH ? shows("need") || size[0] == 1 : clipped == 0 && (shows("cache7") || shows("slatetop"));
                wrong += !is_whole;
                if (!is_whole) {
                    printf("# %s at %dx%d, overlay %d\n", view_list[view]->name, size[0], size[1], overlay);
                }
            }
        }
        is(wrong, 0, "%s: every view at every size, with every overlay", servers[s]);
    }
}

TEST(test_the_past_is_named_and_a_dead_server_is_a_row) {
    look(fixture_model("memcached-1.6.18"), 0, 0);
    frame.is_past = true;
    frame.moment = 1002;
    frame.wall = 1062;
    ok(strstr(draw(&frame, 80, 24, false), "PAUSED 00:16:42, 1m00 ago") != NULL, "a pause has its time");
    model_set_link(model, LINK_DOWN, "gone", 1050);
    ok(strstr(draw(&frame, 80, 24, false), "now DOWN") != NULL, "and does not hide that the server is down");
    frame.is_replay = true;
    ok(strstr(draw(&frame, 80, 24, false), "PAUSED AT 01-01 00:16:42") != NULL, "a replay has its day");
    frame = frame_of(model);
    reset_ui(view_at(&fleet_view));
    draw(&frame, 80, 24, false);
    ok(shows("!>cache7:11211") && shows("DOWN") && shows("1 server, 0 up"), "a dead server is a row, and is counted");
}

TEST(test_a_diff_shows_the_changes) {
    static struct mark mark;
    look(fixture_model("memcached-1.6.18"), 0, view_at(&diff_view));
    ok(shows("press D"), "a diff names its requirement");
    mark = (struct mark){true, 1000, "cache7", *model_now(model)};
    struct class_stats *class = &mark.snapshot.classes[12];
    mark.snapshot.general[GENERAL_cmd_get] -= 50;
    class->value[CLASS_total_pages] -= 1;
    frame.mark = &mark;
    draw(&frame, 80, 24, false);
    ok(shows("keys requested              50"), "the changes since");
    ok(shows("  12    1184") && shows("+1"), "classes that changed, with by how much");
    class->value[CLASS_age] = 3549600;
    class->value[CLASS_number] += 33333;
    draw(&frame, 80, 24, false);
    ok(shows("41d02 → 5s"), "an age has room for days");
    draw(&frame, 40, 10, false);
    ok(shows("+1\n") && !shows("ITEMS"), "a narrow screen has whole columns only");
    class->value[CLASS_chunk_size] = 944;
    draw(&frame, 80, 24, false);
    ok(shows("  12     944") && shows("  12    1184") && shows("41d02 → -") && shows("- → 5s"),
       "a class whose chunks have another size since is of two: one that went, and one that came");
}

TEST(test_unreported_figures_are_not_shown_as_zero) {
    static struct snapshot snapshot;
    static struct mark mark;
    look(brain_model("cache7:11211"), 0, view_at(&diff_view));
    model_set_link(model, LINK_UP, "", 1000);
    fixture_load("memcached-1.4.25-first.txt", 10000, &snapshot);
    for (unsigned i = 0; i < 2; i++) {
        snapshot.at_ms = 10000 + 2000 * i;
        snapshot.classes[12].value[CLASS_outofmemory] = 7 + 30 * i;
        model_add(model, &snapshot, 1000 + 2 * i);
        mark = i == 0 ? (struct mark){true, 1000, "cache7", snapshot} : mark;
    }
    frame.mark = &mark;
    draw(&frame, 80, 24, false);
    ok(shows("out of memory               30"), "before 1.6.13 a diff counts refused stores by class");
    memset(snapshot.classes, 0xff, sizeof snapshot.classes);
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        snapshot.classes[id].present = false;
    }
    snapshot.at_ms = 14000;
    model_add(model, &snapshot, 1004);
    reset_ui(view_at(&sizes_view));
    draw(&frame, 80, 24, false);
    ok(shows("sizes are not known") && !shows("0 items"), "no classes are reported: the sizes are not known");
}

int main(void) {
    setenv("TZ", "UTC", 1);
    return fixture_main();
}
