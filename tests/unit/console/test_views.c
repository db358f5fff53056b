/* Views are given snapshots of real servers and their cells are read. */
#include "brain/brain.h"
#include "screen.h"

static void test_overview_says_what_is_wrong_and_what_to_press(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    fixture_go_on(model, 2);
    struct frame frame = frame_of(model);
    reset_ui(0);
    draw(&frame, 80, 24, false);
    ok(shows("! BAD   class 12 starves: it evicts 100 items a second, which live 7s, while\n") &&
           shows("        class 4 has 7 free pages: press m\n"),
       "the starving class, in words, with the key, whole at 80 columns");
    ok(shows("evictions/s          100"), "evictions/s");
    ok(shows("hit %               75.0"), "hit ratio of the interval");
    ok(shows("ops/s                300"), "ops/s");
    ok(shows("items    48M") && shows("of 64M"), "memory");
    ok(shows("conns     10 of -"), "a limit that the server does not report is a dash");
    ok(shows("[1 Overview]") && shows("F10Quit"), "tabs and keys");
    ok(shows("class 12: 1.6 % of the pages, 100 % of the evictions"), "the imbalance in one sentence");
    ok(shows("! 12   1184     1    1.6% █               100% █████████████"), "and as bars beside each other");
    ok(shows("     7s  STARVING"), "how long its items live, and what that means");
    ok(shows("evictions/s          100      100     100     100"), "a graph says what its top stands for");
    model_destroy(&model);
}

static void test_no_life_is_longer_than_the_servers(void) {
    static struct snapshot snapshot;
    struct model *model = brain_model("cache7:11211");
    model_set_link(model, LINK_UP, "", 1000);
    for (unsigned i = 0; i < 2; i++) {
        fixture_load(i == 0 ? "memcached-1.4.25-first.txt" : "memcached-1.4.25-second.txt", 10000 + 2000 * i,
                     &snapshot);
        snapshot.general[GENERAL_uptime] = 1 + 2 * i;
        snapshot.classes[12].value[CLASS_age] = 1 + 2 * i;
        model_add(model, &snapshot, 1000 + 2 * i);
    }
    fixture_go_on(model, 1);
    struct frame frame = frame_of(model);
    reset_ui(0);
    draw(&frame, 80, 24, false);
    ok(shows("up 5s") && shows("     5s  ") && !shows("     7s  "),
       "items by evictions a second are 7 s, but the server is up for 5");
    model_destroy(&model);
}

static void test_lines_about_what_is_well_give_way_to_classes(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    fixture_go_on(model, 2);
    struct frame frame = frame_of(model);
    reset_ui(0);
    draw(&frame, 80, 24, false);
    ok(!shows("○ ok"), "on a small screen, while a class starves");
    frame.is_replay = true;
    draw(&frame, 80, 24, false);
    ok(shows("starves") && !shows(": press m"), "a recording cannot be changed: no key is named");
    frame.is_replay = false;
    draw(&frame, 160, 50, false);
    ok(shows("○ ok    hit ratio"), "on a tall screen both have room");
    model_destroy(&model);
}

/* Ops a second of a minute, of which one second stands out. */
static void test_one_spike_does_not_flatten_a_minute(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    fixture_go_on(model, 20);
    struct snapshot spike = *model_now(model);
    spike.at_ms += 1000;
    spike.general[GENERAL_evictions] += 1000000;
    model_add(model, &spike, 1100);
    struct frame frame = frame_of(model);
    reset_ui(0);
    draw(&frame, 80, 24, false);
    ok(shows("400+"), "the top is four times what is usual, and a spike is known to be higher");
    model_destroy(&model);
}

static void test_the_review_shows_exactly_what_is_sent(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    struct frame frame = frame_of(model);
    reset_ui(1);
    struct intent intent = propose_move(&frame, 12, 4);
    is(intent.kind, INTENT_REVIEW, "moving pages opens a review");
    review_open(&ui.review, &intent.plan, NULL);
    review_type(&ui.review, '3');
    draw(&frame, 80, 24, false);
    ok(shows("slabs reassign 4 12 × 3, one after the other"), "the command and how often");
    ok(shows("to cache7:11211"), "and to whom");
    ok(shows("capital S sends it"), "and how it is confirmed");
    ok(shows("up to 16383 items of class 4"), "and what it may cost");
    ok(shows("SSend") && !shows("F5Move"), "the key bar is the review's");
    review_type(&ui.review, '9');
    draw(&frame, 80, 24, false);
    ok(shows("[  39]"), "digits add up");
    review_type(&ui.review, '9');
    draw(&frame, 80, 24, false);
    ok(shows("refused") && shows("class 4 has 64 pages, keeps its last one"),
       "too many is refused in the dialog");
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
    ok(shows("slabs reassign 4 12 × 3") && shows("capital S sends it"),
       "the smallest screen still shows what is sent");
    frame.locked = "ROLE read";
    draw(&frame, 80, 24, false);
    ok(shows("ROLE read: nothing can be sent") && !shows("capital S"), "who may not change the server is told why");
    model_destroy(&model);
}

/* The screen without blanks, ends of lines and the dialog's frame: what was wrapped is whole again. */
static const char *unwrapped(const char *text) {
    static char out[sizeof screen];
    size_t used = 0;
    while (*text != '\0') {
        size_t frame = strncmp(text, "│", 3) == 0 ? 3 : *text == ' ' || *text == '\n';
        text += frame;
        if (frame == 0) {
            out[used++] = *text++;
        }
    }
    out[used] = '\0';
    return out;
}

/* Of how many sizes of a screen, none wider than the dialog, a review says that all of it is seen;
 * in is_true whether each of them shows all lines that would be sent. */
static int sizes_that_show(const struct frame *frame, bool *is_true) {
    const struct plan *plan = &ui.review.plan;
    int seen = 0;
    *is_true = true;
    for (int height = 1; height <= 40; height++) {
        for (int width = 1; width <= 76; width += 5) {
            draw(frame, width, height, false);
            if (!ui.review.is_seen) {
                continue;
            }
            seen++;
            char line[ACTION_LINE_BYTES], needle[ACTION_LINE_BYTES];
            unsigned times;
            for (unsigned i = 0; i < plan->count; i++) {
                for (unsigned n = 0; action_line(&plan->steps[i], frame->live, n, line, &times); n++) {
                    snprintf(needle, sizeof needle, "%s", unwrapped(line));
                    *is_true &= strstr(unwrapped(screen), needle) != NULL;
                }
            }
        }
    }
    return seen;
}

static void test_a_review_knows_whether_all_that_is_sent_was_seen(void) {
    struct model *model = fixture_model("memcached-1.6.45");
    struct frame frame = frame_of(model);
    static const char *const changes[][2] = {
        {"slab_automove", "2"},     {"slab_automove_ratio", "0.55"}, {"temporary_ttl", "30"},
        {"maxbytes", "80"},         {"lru_crawler", "no"},           {"lru_crawler_sleep", "700"},
        {"lru_crawler_tocrawl", "4000"}, {"verbosity", "1"},
    };
    struct plan plan = {.count = sizeof changes / sizeof *changes};
    bool is_true;
    for (unsigned i = 0; i < plan.count; i++) {
        plan.steps[i] = action_set(changes[i][0], changes[i][1]);
    }
    reset_ui(0);
    review_open(&ui.review, &plan, NULL);
    ok(!ui.review.is_seen, "before it is drawn nothing of a review was seen");
    int seen = sizes_that_show(&frame, &is_true);
    ok(is_true && seen > 100, "eight changes: where it says so (%d sizes) all lines are there", seen);
    draw(&frame, 80, 24, false);
    ok(ui.review.is_seen && shows("8 changes; it stops at the first that fails"), "80x24 has room for them");
    draw(&frame, 20, 4, false);
    ok(!ui.review.is_seen, "a screen that shows no review at all takes that back");
    draw(&frame, 80, 12, false);
    ok(!ui.review.is_seen && shows("S needs a higher window to send"), "as does one that is too low, and says so");
    plan = plan_of(action_move(4, 12, 3));
    review_open(&ui.review, &plan, NULL);
    seen = sizes_that_show(&frame, &is_true);
    ok(is_true && seen > 200, "a move of pages: where it says so (%d sizes) its line is there", seen);
    model_destroy(&model);
    model = fixture_model("slated-0.1");
    frame = frame_of(model);
    char sizes[SETTING_VALUE_BYTES] = "sizes 96";
    for (unsigned size = 104; strlen(sizes) + 5 < sizeof sizes; size += 96) {
        snprintf(sizes + strlen(sizes), 6, ",%u", size);
    }
    plan = plan_of(action_set("geometry", sizes));
    review_open(&ui.review, &plan, NULL);
    seen = sizes_that_show(&frame, &is_true);
    ok(is_true && seen > 100, "a list of sizes without a blank: where it says so (%d sizes) it is whole", seen);
    model_destroy(&model);
}

static void test_automove_goes_through_the_same_review(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    struct frame frame = frame_of(model);
    reset_ui(0);
    struct intent intent = propose_automove(&frame);
    review_open(&ui.review, &intent.plan, NULL);
    draw(&frame, 80, 24, false);
    ok(shows("slabs automove 1") && shows("now 0; then a page a second at most"), "the command, and the value now");
    review_command(&ui.review, model, COMMAND_LESS);
    draw(&frame, 80, 24, false);
    ok(shows("automove mode is 0 already"), "what changes nothing is refused");
    model_destroy(&model);
}

static void take_settings(struct model *model, const char *settings) {
    details_take(model_open_details(model), INQUIRY_SETTINGS, 0, settings, strlen(settings), true, 12000);
}

static void test_a_review_for_marked_servers_tells_what_each_has(void) {
    struct model *models[5];
    struct fleet_row rows[5];
    struct frame frame;
    for (unsigned i = 0; i < 5; i++) {
        models[i] = fixture_model("memcached-1.6.45");
        frame = frame_of(models[i]);
        rows[i] = fleet_row_of(models[i], frame.now_ms, frame.interval_ms, 0);
        rows[i].server = i;
    }
    frame = frame_of(models[0]); /* the one that is open is not marked */
    frame.servers = rows;
    frame.server_count = 5;
    reset_ui(0);
    struct plan plan = plan_of(action_set("slab_automove", "2"));
    review_open(&ui.review, &plan, NULL);
    ui.review.is_for_marked = true;
    take_settings(models[0], "STAT slab_automove 2\r\nSTAT slab_reassign yes\r\n");
    ui.fleet.marked[1] = ui.fleet.marked[2] = true;
    draw(&frame, 80, 24, false);
    ok(shows("now 0; then ") && shows("to 2 marked servers"), "one value, where all have the same");
    ok(shows("open a server and press u"), "and where it is taken back");
    ui.fleet.marked[3] = ui.fleet.marked[4] = true;
    take_settings(models[3], "STAT slab_automove 1\r\nSTAT slab_reassign yes\r\n");
    draw(&frame, 80, 24, false);
    ok(shows("now 0 on 3, 1 on 1; then "), "each value with how many have it");
    take_settings(models[4], "STAT slab_reassign yes\r\n");
    draw(&frame, 80, 24, false);
    ok(shows("now 0 on 2, 1 on 1; then "), "who does not tell is not counted");
    for (unsigned i = 0; i < 5; i++) {
        model_destroy(&models[i]);
    }
}

static void test_a_policy_that_failed_is_shown(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    struct frame frame = frame_of(model);
    const char *moves = "STAT mode off\r\nSTAT why nothing\r\nSTAT failed lua:mine: line 3: nil\r\nEND\r\n";
    details_take(model_open_details(model), INQUIRY_MOVES, 0, moves, strlen(moves), true, 12000);
    reset_ui(0);
    draw(&frame, 80, 24, false);
    ok(shows("● WARN  automove failed: lua:mine: line 3: nil; now it is off: press x"),
       "in the overview, with the key");
    ((struct snapshot *)model_now(model))->is_slated = true;
    brain_look((struct brain *)brain_of(model), model_now(model));
    reset_ui(1);
    ui.why.is_open = true;
    draw(&frame, 80, 24, false);
    ok(shows("automove failed: lua:mine: line 3: nil; now it is off") && !shows("off: press x"),
       "and in the reasons");
    model_destroy(&model);
}

static void test_old_figures_are_marked_in_words(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    struct frame frame = frame_of(model);
    frame.now_ms = 20000;
    reset_ui(1);
    draw(&frame, 80, 24, false);
    ok(shows("STALE 8s"), "a silent server is stale");
    model_set_link(model, LINK_DOWN, "cache7:11211 closed the connection", 0);
    frame.retry_ms = 22000;
    draw(&frame, 80, 24, false);
    ok(shows("DOWN, next try in 2s") && shows("closed the connection"),
       "a lost one is down, with the reason and the next try");
    ok(shows("1184"), "the last figures stay");
    model_destroy(&model);
}

static void test_the_first_screen_needs_no_reply(void) {
    struct model *model = brain_model("cache7:11211");
    struct frame frame = frame_of(model);
    for (unsigned view = 0; view_list[view] != NULL; view++) {
        reset_ui(view);
        draw(&frame, 80, 24, false);
        ok(shows("cache7:11211") && shows("connecting"), "%s without a snapshot",
           view_list[view]->name);
    }
    is(propose_move(&frame, 1, 2).kind, INTENT_SAY, "and nothing can be proposed");
    is(propose_automove(&frame).kind, INTENT_SAY, "nor changed");
    model_destroy(&model);
}

static void test_help_lists_every_key_of_the_view(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    struct frame frame = frame_of(model);
    reset_ui(1);
    ui.help_is_open = true;
    draw(&frame, 80, 120, false);
    for (unsigned i = 0; i < key_row_count; i++) {
        if (key_rows[i].scopes & (SCOPE_CLASSES | SCOPE_REVIEW | SCOPE_FILTER | SCOPE_COLUMNS)) {
            ok(shows(key_rows[i].help), "help has '%s'", key_rows[i].help);
        }
    }
    draw(&frame, 160, 60, false);
    ok(shows("in this view") && shows("in this list"), "a wide screen has two columns, and so all of it");
    is(clipped, 0, "none of which falls off the edge");
    model_destroy(&model);
}

static void test_help_shows_what_is_searched_for(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    struct frame frame = frame_of(model);
    reset_ui(0);
    ui.help_is_open = true;
    snprintf(ui.help_searched, sizeof ui.help_searched, "UNDO");
    draw(&frame, 80, 24, false);
    ok(shows("undo the last change") && !shows("leave; pages"), "letters of either case are found, the rest is not shown");
    snprintf(ui.help_searched, sizeof ui.help_searched, "bananas");
    draw(&frame, 80, 24, false);
    ok(shows("no key of this view does 'bananas'"), "nothing found is said");
    model_destroy(&model);
}

static void test_help_of_a_review_has_its_keys_only(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    struct frame frame = frame_of(model);
    struct plan plan = plan_of(action_set("slab_automove", "1"));
    reset_ui(0);
    review_open(&ui.review, &plan, NULL);
    is(key_command('?', SCOPE_REVIEW), COMMAND_HELP, "? in a review asks for its keys");
    ui.help_is_open = true;
    draw(&frame, 80, 24, false);
    for (unsigned i = 0; i < key_row_count; i++) {
        bool is_of_review = key_rows[i].scopes & SCOPE_REVIEW;
        ok(!is_of_review || shows(key_rows[i].help), "they are all there: %s", key_rows[i].help);
    }
    ok(!shows("in this view") && shows("capital S sends it"), "and the review is still seen");
    model_destroy(&model);
}

static void test_the_overview_counts_the_samples_that_are_drawn(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    struct frame frame = frame_of(model);
    reset_ui(0);
    draw(&frame, 80, 24, false);
    ok(shows("─1 sample, newest right"), "two refreshes make one rate");
    model_destroy(&model);
}

/* In mono and in ASCII nothing is lost: words and marks carry the meaning. */
static void test_ascii_keeps_the_meaning(void) {
    struct model *model = fixture_model("memcached-1.4.25");
    fixture_go_on(model, 2);
    struct frame frame = frame_of(model);
    for (unsigned view = 0; view_list[view] != NULL; view++) {
        reset_ui(view);
        draw(&frame, 160, 50, true);
        bool is_ascii = true;
        for (const char *at = screen; *at != '\0'; at++) {
            is_ascii = is_ascii && (unsigned char)*at < 0x7f;
        }
        ok(is_ascii, "%s is ASCII only", view_list[view]->name);
        bool is_about_classes = view_list[view] == &overview_view || view_list[view] == &classes_view || view_list[view] == &fleet_view;
        ok(view_list[view] != &fleet_view || !shows("press m"), "%s names no key that it does not have", view_list[view]->name);
        ok(!is_about_classes || shows("starves") || shows("STARVING"), "%s still says who starves",
           view_list[view]->name);
    }
    model_destroy(&model);
}

static void test_every_size_and_server_is_drawn(void) {
    static const char *const servers[] = {"memcached-1.4.25", "memcached-1.6.18",
                                          "memcached-1.6.45", "memcached-1.6.45-extstore"};
    static const int sizes[][2] = {{1, 1},    {39, 9},   {40, 10},  {80, 24},  {100, 30},
                                   {132, 43}, {160, 50}, {238, 61}, {400, 100}};
    for (size_t s = 0; s < sizeof servers / sizeof *servers; s++) {
        struct model *model = fixture_model(servers[s]);
        struct frame frame = frame_of(model);
        int drawn = 0, views = 0;
        for (unsigned view = 0; view_list[view] != NULL; view++, views++) {
            for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
                for (int overlay = 0; overlay < 5; overlay++) {
                    reset_ui(view);
                    struct plan plan = plan_of(overlay == 2 ? action_set("slab_automove", "1")
                                                            : action_move(4, 12, 1));
                    ui.why.is_open = overlay == 4;
                    if (overlay == 1) {
                        ui.help_is_open = true;
                    } else if (overlay == 2 || overlay == 3) {
                        review_open(&ui.review, &plan, overlay == 3 ? "what was done" : NULL);
                    }
                    draw(&frame, sizes[size][0], sizes[size][1], false);
                    if (clipped > 0 && sizes[size][0] >= SCREEN_LEAST_WIDTH) {
                        printf("# %s is too wide at %dx%d, overlay %d\n", view_list[view]->name,
                               sizes[size][0], sizes[size][1], overlay);
                    }
                    drawn += sizes[size][0] >= SCREEN_LEAST_WIDTH
                                 ? clipped == 0 && (shows("cache7") || shows("slatetop"))
                                 : shows("need") || size == 0;
                }
            }
        }
        is(drawn, views * 9 * 5, "%s: every view at every size, with every overlay", servers[s]);
        model_destroy(&model);
    }
}

static void test_the_past_is_named_and_a_dead_server_is_a_row(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    struct frame frame = frame_of(model);
    static struct mark mark;
    reset_ui(0);
    frame.is_past = true;
    frame.moment = 1002;
    frame.wall = 1062;
    ok(strstr(draw(&frame, 80, 24, false), "PAUSED 00:16:42, 1m00 ago") != NULL, "a pause has its time");
    model_set_link(model, LINK_DOWN, "gone", 1050);
    ok(strstr(draw(&frame, 80, 24, false), "now DOWN") != NULL, "and does not hide that the server is down");
    frame.is_replay = true;
    ok(strstr(draw(&frame, 80, 24, false), "PAUSED AT 01-01 00:16:42") != NULL, "a replay has its day");
    frame = frame_of(model);
    frame.wall = frame.moment = 1062;
    for (unsigned view = 0; view_list[view] != NULL; view++) {
        if (view_list[view] == &fleet_view) {
            reset_ui(view);
            ok(strstr(draw(&frame, 80, 24, false), "!>cache7:11211") != NULL && shows("DOWN"), "a dead server is a row");
            ok(shows("1 server, 0 up"), "and is counted");
        }
        if (view_list[view] == &diff_view) {
            reset_ui(view);
            ok(strstr(draw(&frame, 80, 24, false), "press D") != NULL, "a diff says what it needs");
            mark.is_set = true;
            mark.wall = 1000;
            mark.snapshot = *model_now(model);
            mark.snapshot.general[GENERAL_cmd_get] -= 50;
            mark.snapshot.classes[12].value[CLASS_total_pages] -= 1;
            frame.mark = &mark;
            frame.moment = 1002;
            draw(&frame, 80, 24, false);
            ok(shows("keys asked for              50"), "what came since");
            ok(shows("  12    1184") && shows("+1"), "classes that changed, with by how much");
            mark.snapshot.classes[12].value[CLASS_age] = 3549600;
            mark.snapshot.classes[12].value[CLASS_number] += 33333;
            draw(&frame, 80, 24, false);
            ok(shows("41d02 → 5s"), "an age has room for days");
            draw(&frame, 40, 10, false);
            ok(shows("+1\n") && !shows("ITEMS"), "a narrow screen has whole columns only");
            mark.snapshot.classes[12].value[CLASS_chunk_size] = 944;
            draw(&frame, 80, 24, false);
            ok(shows("  12     944") && shows("  12    1184") && shows("41d02 → -") && shows("- → 5s"),
               "a class whose chunks have another size since is of two: one that went, and one that came");
        }
    }
    model_destroy(&model);
}

static void test_what_a_server_does_not_report_is_not_shown_as_zero(void) {
    static struct snapshot snapshot;
    static struct mark mark;
    struct model *model = brain_model("cache7:11211");
    model_set_link(model, LINK_UP, "", 1000);
    fixture_load("memcached-1.4.25-first.txt", 10000, &snapshot);
    for (unsigned i = 0; i < 2; i++) {
        snapshot.at_ms = 10000 + 2000 * i;
        snapshot.classes[12].value[CLASS_outofmemory] = 7 + 30 * i;
        model_add(model, &snapshot, 1000 + 2 * i);
        mark = i == 0 ? (struct mark){true, 1000, "cache7", snapshot} : mark;
    }
    struct frame frame = frame_of(model);
    frame.mark = &mark;
    reset_ui(view_at(&diff_view));
    draw(&frame, 80, 24, false);
    ok(shows("out of memory               30"), "before 1.6.13 a diff counts refused stores by class");
    ui.why.is_open = true;
    draw(&frame, 80, 24, false);
    ok(shows("   cache7:11211 "), "the box of reasons names the server");
    memset(snapshot.classes, 0xff, sizeof snapshot.classes);
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        snapshot.classes[id].present = false;
    }
    snapshot.at_ms = 14000;
    model_add(model, &snapshot, 1004);
    reset_ui(view_at(&sizes_view));
    draw(&frame, 80, 24, false);
    ok(shows("sizes are not known") && !shows("0 items"), "no classes are told: the sizes are not known");
    model_destroy(&model);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    test_overview_says_what_is_wrong_and_what_to_press();
    test_no_life_is_longer_than_the_servers();
    test_lines_about_what_is_well_give_way_to_classes();
    test_one_spike_does_not_flatten_a_minute();
    test_the_review_shows_exactly_what_is_sent();
    test_a_review_knows_whether_all_that_is_sent_was_seen();
    test_automove_goes_through_the_same_review();
    test_a_review_for_marked_servers_tells_what_each_has();
    test_a_policy_that_failed_is_shown();
    test_old_figures_are_marked_in_words();
    test_the_first_screen_needs_no_reply();
    test_help_lists_every_key_of_the_view();
    test_help_shows_what_is_searched_for();
    test_help_of_a_review_has_its_keys_only();
    test_the_overview_counts_the_samples_that_are_drawn();
    test_ascii_keeps_the_meaning();
    test_every_size_and_server_is_drawn();
    test_the_past_is_named_and_a_dead_server_is_a_row();
    test_what_a_server_does_not_report_is_not_shown_as_zero();
    return tap_done();
}
