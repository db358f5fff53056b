/* The views that need more than a snapshot: page map, sizes, curves, hot keys and one class, drawn from
 * a slated's answers, and from a stock server that has none. */
#include "screen.h"

static struct model *slated_model(void) {
    struct model *model = fixture_model("slated-0.1");
    fixture_details(model, "slated-0.1-second.txt", 13, 11000);
    fixture_details(model, "slated-0.1-second.txt", 13, 12000);
    return model;
}

static struct intent press(const struct frame *frame, enum command command) {
    return view_current(&ui)->command(frame, &ui, command);
}

static void test_the_page_map_begins_with_who_starves(void) {
    static struct snapshot snapshot;
    struct model *model = slated_model();
    fixture_load("slated-0.1-second.txt", 13000, &snapshot);
    snapshot.classes[3].value[CLASS_free_chunks] = 3 * snapshot.classes[3].value[CLASS_chunks_per_page];
    snapshot.classes[12].value[CLASS_evicted] += 100;
    model_add(model, &snapshot, 0);
    fixture_go_on(model, 2);
    struct frame frame = frame_of(model);
    reset_ui(view_at(&pages_view));
    draw(&frame, 80, 24, false);
    is(ui.pages.cursor, 12, "the cursor begins on the class that starves");
    model_destroy(&model);
}

static void test_the_page_map_has_a_cell_a_page(void) {
    struct model *model = slated_model();
    struct frame frame = frame_of(model);
    reset_ui(view_at(&pages_view));
    draw(&frame, 80, 24, false);
    is(ui.pages.cursor, 2, "the cursor begins on the first class where none starves");
    ok(shows("EXACT: a cell is 1 page"), "it says that it is exact");
    ok(shows("   13    1480B    18 █████████████████▒\n"), "eighteen pages are eighteen cells, the fullest first");
    ok(shows("automove utility"), "and what moves pages");
    press(&frame, COMMAND_BOTTOM);
    while (ui.pages.cursor != 13) {
        press(&frame, COMMAND_UP);
    }
    ok(press(&frame, COMMAND_MARK_SOURCE).kind == INTENT_SAY && ui.classes.source == 13, "f marks");
    press(&frame, COMMAND_MORE_PAGES);
    press(&frame, COMMAND_MORE_PAGES);
    draw(&frame, 80, 24, false);
    ok(shows("18 ███████████████◆◆◆\n"), "the marked pages are the emptiest ones");
    ok(shows("◆ 3 of class 13 marked"), "and what they hold is said");
    ok(press(&frame, COMMAND_MOVE_PAGES).kind == INTENT_SAY, "not to itself");
    press(&frame, COMMAND_UP);
    draw(&frame, 80, 24, false);
    ok(shows("m: 3 pages from class 13: "), "on another class what the move would bring is said");
    struct intent intent = press(&frame, COMMAND_MOVE_PAGES);
    ok(intent.kind == INTENT_REVIEW && intent.plan.steps[0].from == 13 && intent.plan.steps[0].to == 12 &&
           intent.plan.steps[0].pages == 3,
       "m opens the review with the pages marked");
    press(&frame, COMMAND_BOTTOM);
    intent = press(&frame, COMMAND_MOVE_PAGES);
    ok(intent.kind == INTENT_REVIEW && intent.plan.steps[0].to == POOL_CLASS, "the pool takes pages too");
    press(&frame, COMMAND_CELL_MODE);
    draw(&frame, 80, 24, false);
    ok(shows("s seconds m minutes") && shows("18 sssssssssssssss◆◆◆\n"), "cells can show ages");
    for (int i = 0; i < 40; i++) {
        press(&frame, COMMAND_MORE_PAGES);
    }
    is(ui.pages.marked, 17, "a class keeps its last page");
    model_destroy(&model);
}

static void test_on_stock_the_map_is_an_estimate_and_says_so(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    struct frame frame = frame_of(model);
    reset_ui(view_at(&pages_view));
    draw(&frame, 160, 50, false);
    ok(shows("ESTIMATED: a cell is 1 page") && shows(", estimated:"), "in the head and beside the figures");
    ok(!shows("EXACT") && !shows("aged"), "no age is made up");
    ok(press(&frame, COMMAND_CELL_MODE).kind == INTENT_SAY, "and asking for ages says what is needed");
    model_destroy(&model);
}

static void test_a_large_cache_has_several_pages_a_cell(void) {
    struct model *model = slated_model();
    struct frame frame = frame_of(model);
    static struct snapshot snapshot;
    fixture_load("slated-0.1-second.txt", 13000, &snapshot);
    snapshot.classes[13].value[CLASS_total_pages] = 60000;
    model_add(model, &snapshot, 1003);
    struct details *details = model_open_details(model);
    page_list_fini(&details->pages);
    char *text = malloc(60000 * 40), *at = text;
    for (int i = 0; i < 60000; i++) {
        at += sprintf(at, "STAT page:%d 13 owned %d 708 100 -\r\n", i, i % 2 == 0 ? 708 : 0);
    }
    details_take(details, INQUIRY_PAGES, 0, text, (size_t)(at - text), true, 13000);
    free(text);
    reset_ui(view_at(&pages_view));
    draw(&frame, 80, 24, false);
    const char *said = strstr(screen, "a cell is ");
    ok(said != NULL && atoi(said + 10) > 60000 / (20 * 59), "and it says how many");
    ok(shows("13    1480B 60000 ██") && shows("·"), "full ones first, then empty ones");
    is(clipped, 0, "nothing is cut");
    model_destroy(&model);
}

static void test_sizes_stand_over_class_limits(void) {
    struct model *model = slated_model();
    struct frame frame = frame_of(model);
    reset_ui(view_at(&sizes_view));
    draw(&frame, 80, 24, false);
    ok(shows("153K items by size") && shows("EXACT, of live items"), "how many, and from where");
    ok(shows("now  ") && shows("│") && shows("1K"), "limits of now and a scale");
    ok(shows("factor 1.08  asking the server"), "what other factors would bring, the server is asked");
    static const char orders[][OUTLOOK_ORDER_BYTES] = {"factor 1.04", "factor 1.08"};
    static const char *const answers[] = {
        "PREDICTED 99 classes would hold 3.1 % fewer items in 64 pages, 96900 instead of 100000, and waste 2.0 % of their "
        "memory instead of 12.0 %; it would be refused without force\r\n",
        "PREDICTED 61 classes would hold 9.3 % more items in 64 pages, 109300 instead of 100000, and waste 4.1 % of their "
        "memory instead of 12.0 %\r\n"};
    struct outlook_list *outlooks = &model_open_details(model)->outlooks;
    char line[OUTLOOK_ORDER_BYTES + 24];
    outlook_want(outlooks, orders, 2);
    for (int i = 0; i < 2; i++) {
        outlook_take(outlooks, outlook_next(outlooks, 1, line)->ticket, answers[i], strlen(answers[i]),
                     frame.now_ms);
    }
    draw(&frame, 80, 24, false);
    ok(shows("factor 1.04       99    2.0 %    -3.1 %  no gain: refused"), "what wastes least may hold fewer items");
    ok(shows("factor 1.08       61    4.1 %    +9.3 %  ◀ most items"), "the best is what the server says");
    unsigned busy = outlook_next(outlooks, frame.now_ms + OUTLOOK_EVERY_MS, line)->ticket;
    outlook_take(outlooks, busy, "BUSY currently processing another geometry request\r\n", 52, frame.now_ms);
    draw(&frame, 80, 24, false);
    ok(shows("factor 1.04       99    2.0 %    -3.1 %  no gain: refused") && !shows(" ago") &&
           !shows("another geometry request"),
       "a server that is busy with another's question leaves the prediction there is");
    frame.now_ms += OUTLOOK_OLD_MS;
    draw(&frame, 80, 24, false);
    ok(shows("-3.1 %  no gain: refused  20s ago"), "with its age, when it is old");
    frame.now_ms -= OUTLOOK_OLD_MS;
    press(&frame, COMMAND_DOWN);
    struct intent intent = sizes_view.command(&frame, &ui, COMMAND_REVIEW);
    ok(intent.kind == INTENT_REVIEW && strcmp(intent.plan.steps[0].value, "factor 1.08") == 0,
       "the row under the cursor can be reviewed");
    review_open(&ui.review, &intent.plan, NULL);
    draw(&frame, 80, 24, false);
    ok(shows("slabs geometry factor 1.08") && shows("9.3 % more items in 64 pages"),
       "with the server's prediction, before anything is sent");
    struct wants wants;
    screen_wants(&ui, &wants);
    ok((wants.inquiries & INQUIRY_BIT(OUTLOOKS)) && strcmp(wants.orders[0], "factor 1.08") == 0,
       "which is asked for what is reviewed first");
    ui.review.is_open = false;
    draw(&frame, 80, 24, false);
    draw(&frame, 80, 24, false);
    ok(shows("geometry steady"), "and the state of the geometry");
    model_destroy(&model);
    model = fixture_model("memcached-1.6.18");
    frame = frame_of(model);
    draw(&frame, 80, 24, false);
    ok(shows("ESTIMATED, a bar a class") && shows("needs slated") && !shows("least waste"),
       "a stock server's are an estimate, from which nothing is concluded");
    static const char tracked[] = "STAT 96 1000\r\nSTAT 128 3000\r\nSTAT 1024 10\r\nEND\r\n";
    details_take(model_open_details(model), INQUIRY_STOCK_SIZES, 0, tracked, sizeof tracked - 1, true, 1);
    draw(&frame, 80, 24, false);
    ok(shows("4010 items by size") && shows("as the server tracks them") && shows("ESTIMATED, after a restart"),
       "unless it tracks sizes");
    ok(shows("no gain") && !shows("refused"), "sizes without gain are not refused: its options take any");
    ok(sizes_view.command(&frame, &ui, COMMAND_REVIEW).kind == INTENT_SAY, "and there is nothing to send");
    model_destroy(&model);
}

/* Chunks that end within a step of the histogram: from its steps nobody could tell what fits. */
static void test_what_the_sizes_of_now_waste_is_the_servers_figure(void) {
    static const char sizes[] = "STAT items 100000\r\nSTAT item_bytes 78378796\r\nSTAT taken_bytes 80766632\r\n"
                                "STAT sampled_pages 1\r\nSTAT 704 629\r\nSTAT 768 39827\r\nSTAT 832 39787\r\n"
                                "STAT 896 19757\r\nEND\r\n";
    static const char geometry[] =
        "STAT state steady\r\nSTAT why the change is complete\r\nSTAT waste_before 0.48\r\n"
        "STAT waste_predicted 2.96\r\nSTAT waste_now 2.96\r\nSTAT 1:chunk_size 720\r\nSTAT 2:chunk_size 864\r\n"
        "STAT 3:chunk_size 524288\r\nEND\r\n";
    struct model *model = slated_model();
    struct frame frame = frame_of(model);
    struct details *details = model_open_details(model);
    details_take(details, INQUIRY_SIZEHIST, 0, sizes, sizeof sizes - 1, true, 12000);
    details_take(details, INQUIRY_GEOMETRY, 0, geometry, sizeof geometry - 1, true, 12000);
    reset_ui(view_at(&sizes_view));
    draw(&frame, 80, 24, false);
    ok(shows("now                3    3.0 %"), "of the bytes that it says are taken");
    ok(shows("geometry steady, waste 0.5 % before, 3.0 % predicted: the change is complete\n"),
       "and that of before and as predicted is whole on a narrow screen");
    model_destroy(&model);
}

static void test_nothing_is_measured_without_a_connection(void) {
    struct model *model = brain_model("cache7:11211");
    struct frame frame = frame_of(model);
    reset_ui(view_at(&latency_view));
    model_set_link(model, LINK_DOWN, "cannot connect", 1000);
    draw(&frame, 80, 24, false);
    ok(shows("no connection: nothing is measured") && !shows("measuring"), "and the view says so");
    model_set_link(model, LINK_UP, "", 2000);
    draw(&frame, 80, 24, false);
    ok(shows("measuring"), "until there is one");
    model_destroy(&model);
}

static void test_other_stores_have_no_chunk_sizes(void) {
    static const char *const stores[] = {"heap", "blocks"};
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        static struct snapshot snapshot;
        struct model *model = slated_model();
        struct frame frame = frame_of(model);
        char text[200], said[100];
        int n = snprintf(text, sizeof text, "STAT slated_version 0.1.0\r\nSTAT store %s\r\nEND\r\n", stores[i]);
        fixture_load("slated-0.1-second.txt", 13000, &snapshot);
        snapshot_parse(&snapshot, GROUP_SLATED, text, (size_t)n);
        model_add(model, &snapshot, 1003);
        reset_ui(view_at(&sizes_view));
        draw(&frame, 80, 24, false);
        snprintf(said, sizeof said, "chunk sizes need --store=slab; this server has %s\n", stores[i]);
        ok(shows(said) && !shows("CHUNK SIZES"), "the screen of sizes says so of %s", stores[i]);
        ok(press(&frame, COMMAND_REVIEW).kind == INTENT_SAY, "and proposes none");
        reset_ui(view_at(&pages_view));
        draw(&frame, 80, 24, false);
        snprintf(said, sizeof said, "pages of classes need --store=slab; this server has %s\n", stores[i]);
        ok(shows(said) == (i == 0), "pages of one whole are no pages of a class");
        struct action move = action_move(13, 12, 1);
        ok(!action_check(&move, model, said, sizeof said) && strstr(said, stores[i]) != NULL,
           "and none can move: %s", said);
        model_destroy(&model);
    }
}

static void test_curves_say_what_memory_and_policies_would_do(void) {
    struct model *model = slated_model();
    struct frame frame = frame_of(model);
    reset_ui(view_at(&curves_view));
    draw(&frame, 80, 24, false);
    ok(shows("LRU model of the whole cache: miss 25.1 % at 64M"), "the miss ratio of now, called a model");
    ok(shows("^now 64M") && shows("^128M"), "a scale around it");
    ok(shows("s3fifo hit 77.4 % over 5 turnovers; its miniatures x0.5 76.7, x2 84.3, x4 94.3"),
       "what its own policy had, and over which time, and other sizes of it by miniatures");
    ok(shows("other policies: miniature caches beside the present policy"), "what policies would do is of another time");
    ok(shows("s3fifo   hit  77.4 %") && shows("in use") && shows("too few reads"),
       "policies, with what is not known called so");
    ok(shows("hits/s by curves") && shows("no class starves: no move is advised"), "what a page is worth, and what follows");
    ok((shows("memory is short") || shows("more memory would bring") || shows("more memory may bring")) &&
           (shows("no policy is better") || shows(" would hit ") || shows("too few reads were sampled")), "whether more memory or another policy would help, as slatectl says it");
    press(&frame, COMMAND_DOWN);
    press(&frame, COMMAND_DOWN);
    ok(ui.curves.cursor > 0, "a class is chosen");
    draw(&frame, 80, 24, false);
    ok(shows("hits/s"), "and still drawn");
    ui.curves.cursor = 13;
    draw(&frame, 80, 24, false);
    ok(shows("LRU model of class 13: miss"), "then the curve is the class's");
    struct intent intent = press(&frame, COMMAND_MOVE_PAGES);
    struct giver giver = brain_giver(brain_of(model), 13);
    const struct action *step = &intent.plan.steps[0];
    ok(intent.kind == INTENT_REVIEW && step->to == 13 && (int)step->from == giver.class_id && step->pages == giver.pages,
       "m reviews the move to it that every screen advises");
    model_destroy(&model);
}

static void test_tune_cuts_between_words_and_has_the_rest_below(void) {
    struct model *model = slated_model();
    struct frame frame = frame_of(model);
    static const char config[] = "STAT slab_automove:value utility\r\nSTAT policy:value s3fifo\r\n"
                                 "STAT slab_automove:choices off|ratio|eviction|random|lra|lrc|utility|lua:NAME\r\n"
                                 "STAT policy:choices slru|lru|bag|fifo|clock|clock2|clock3|sieve\r\n";
    details_take(model_open_details(model), INQUIRY_CONFIG, 0, config, sizeof config - 1, true, 12000);
    reset_ui(view_at(&tune_view));
    draw(&frame, 80, 24, false);
    ok(shows(" off|ratio|eviction|…\n") && shows(" slru|lru|bag|fifo|…\n") && shows(" auto, factor N, …\n"),
       "what a column has no room for ends where a word does");
    ok(shows("\none of off, ratio, eviction, random, lra, lrc, utility, lua:NAME\n"), "and stands whole below");
    for (int height = 18; height <= 24; height++) { /* the panel's text has ever less room */
        draw(&frame, 80, height, false);
        const char *end = strstr(screen, "\n- + or Enter");
        bool is_cut = end != NULL && strncmp(end - strlen("…"), "…", strlen("…")) == 0;
        ok(end != NULL && (is_cut || end[-1] == '.' || end[-1] == '\n'), "at %d rows the text ends as one that was cut or is whole", height);
    }
    draw(&frame, 160, 50, false);
    ok(shows(" off|ratio|eviction|random|lra|lrc|utility|lua:NAME\n") && !shows("one of off"), "where there is room it stands once");
    model_destroy(&model);
}

static void test_tune_has_room_for_why_a_setting_cannot_change(void) {
    struct model *model = slated_model();
    struct frame frame = frame_of(model);
    static const char config[] = "STAT slab_automove:value utility\r\nSTAT slab_automove:source start\r\n"
                                 "STAT slab_automove_window:value 10\r\n";
    details_take(model_open_details(model), INQUIRY_CONFIG, 0, config, sizeof config - 1, true, 12000);
    snprintf(((struct snapshot *)model_now(model))->store, sizeof model_now(model)->store, "heap");
    reset_ui(view_at(&tune_view));
    draw(&frame, 80, 24, false);
    ok(shows("needs --store=slab; this server has heap\n"), "at 80 columns, in place of where the value comes from");
    ok(!shows("needs --store=slab; …"), "in every row");
    draw(&frame, 160, 50, false);
    ok(shows(" start    needs --store=slab; this server has heap\n"), "where there is room beside it");
    model_destroy(&model);
}

static void test_hot_keys_have_bounds(void) {
    struct model *model = slated_model();
    struct frame frame = frame_of(model);
    reset_ui(view_at(&hotkeys_view));
    draw(&frame, 80, 24, false);
    ok(shows("key-0000000000000000000000000000") && shows("3.0-3.2"), "at least and at most");
    ok(shows("389K requests"), "of how many");
    press(&frame, COMMAND_BOTTOM);
    draw(&frame, 80, 24, false);
    ok(shows(" 20 "), "the last one can be reached");
    struct details *details = model_open_details(model);
    static const char doubtful[] = "STAT requests 1000\r\nSTAT noted 60\r\nSTAT 1:key one\r\n"
                                   "STAT 1:requests 300\r\nSTAT 1:error 50\r\nSTAT 1:doubt 100\r\nEND\r\n";
    hot_keys_parse(&details->hot, doubtful, sizeof doubtful - 1);
    draw(&frame, 80, 24, false);
    ok(shows("15.0-40.0"), "and what chance may do widens them");
    hot_keys_parse(&details->hot, "STAT requests 0\r\nEND\r\n", 22);
    draw(&frame, 80, 24, false);
    ok(shows("no key was counted yet"), "none is said to be none");
    model_destroy(&model);
}

static void test_one_class_shows_all_there_is(void) {
    struct model *model = slated_model();
    struct frame frame = frame_of(model);
    reset_ui(view_at(&classes_view));
    ui.classes.cursor = 13;
    press(&frame, COMMAND_OPEN_CLASS);
    ok(view_current(&ui) == &class_view && ui.focus == 13, "Enter opens the class");
    draw(&frame, 160, 50, false);
    static const char *const wanted[] = {"class 13: ",        "18 pages of 708 chunks of 1480 B",
                                         "policy s3fifo",     "evictions/s",
                                         "less -31.3", "automove utility",
                                         "now: class 5 would gain", "moves_to_cold",
                                         "crawler_reclaimed", "mem_requested",
                                         "total_pages"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        ok(shows(wanted[i]), "it has '%s'", wanted[i]);
    }
    draw(&frame, 80, 24, false);
    ok(!shows("total_pages ") && shows("more: Down"), "a small screen scrolls");
    press(&frame, COMMAND_BOTTOM);
    draw(&frame, 80, 24, false);
    ok(shows("touch_hits") && shows("more: Up"), "to the end");
    press(&frame, COMMAND_PREVIOUS_CLASS);
    ok(ui.focus != 13 && ui.class_is_open, "N goes to the class before it");
    press(&frame, COMMAND_NEXT_CLASS);
    is(ui.focus, 13, "n to the one behind");
    struct intent intent = press(&frame, COMMAND_MOVE_PAGES);
    ok(intent.kind == INTENT_REVIEW && intent.plan.steps[0].to == ui.focus, "m gives it pages");
    press(&frame, COMMAND_CLOSE_CLASS);
    ok(view_current(&ui) == &classes_view, "Esc goes back");
    ui.focus = 200;
    ui.class_is_open = true;
    draw(&frame, 80, 24, false);
    ok(shows("class 200: the server does not list it"), "a class that is gone is said to be gone");
    model_destroy(&model);
}

/* Where a view draws rows, a click chooses one, as the arrows do. */
static void test_a_click_chooses_a_row(void) {
    struct model *model = slated_model();
    struct frame frame = frame_of(model);
    const struct {
        const struct view *view;
        const unsigned *cursor;
    } views[] = {{&pages_view, &ui.pages.cursor}, {&tune_view, &ui.tune.cursor}, {&sizes_view, &ui.sizes.cursor},
                 {&curves_view, &ui.curves.cursor}, {&hotkeys_view, &ui.hotkeys.cursor}};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        reset_ui(view_at(views[i].view));
        struct cells *cells = cells_create(80, 24, false);
        screen_draw(&frame, &ui, cells);
        const struct hotspot *last = NULL;
        for (int y = 0; y < 24; y++) {
            const struct hotspot *hot = cells_hot_at(cells, y, 40);
            last = hot != NULL && hot->kind == HOT_ROW ? hot : last;
        }
        ok(last != NULL, "%s has rows to click on", views[i].view->name);
        view_click(views[i].view, &ui, HOT_ROW, last->value);
        unsigned wanted = last->value;
        screen_draw(&frame, &ui, cells);
        is(*views[i].cursor, wanted, "and the cursor goes there");
        cells_destroy(&cells);
    }
    model_destroy(&model);
}

/* The past shows what the tape holds of its moment, by estimate where it must be; else it says that it
 * is not recorded. */
static void test_the_past_holds_what_was_recorded(void) {
    struct model *model = fixture_model("slated-0.1");
    struct frame frame = frame_of(model);
    frame.is_past = true;
    details_forget(model_open_details(model));
    static const struct {
        const struct view *view;
        const char *shown;
    } views[] = {{&pages_view, "ESTIMATED"}, {&sizes_view, "ESTIMATED, a bar a class"},
                 {&curves_view, "not recorded"}, {&hotkeys_view, "not recorded"}, {&tune_view, "not recorded"}};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        reset_ui(view_at(views[i].view));
        draw(&frame, 80, 24, false);
        ok(shows(views[i].shown) && !shows("asking"), "%s in the past: %s", views[i].view->name, views[i].shown);
    }
    reset_ui(0);
    class_open(&ui, 13);
    draw(&frame, 80, 24, false);
    ok(shows("stats of the class that are recorded") && shows("mem_requested") && shows("chunk_size"), "a class: the stats of the tape");
    reset_ui(0);
    ui.why.is_open = true;
    draw(&frame, 80, 24, false);
    ok(shows("The reasons of the past are not recorded"), "and why automove did what it did");
    struct model *live = slated_model();
    model_lend_details(model, live);
    reset_ui(view_at(&hotkeys_view));
    draw(&frame, 80, 24, false);
    ok(!shows("not recorded") && shows("NR KEY"), "where it stood still, it shows what it showed");
    model_destroy(&model);
    model_destroy(&live);
}

static void test_what_is_missing_says_what_it_needs(void) {
    struct model *model = fixture_model("memcached-1.6.18");
    struct frame frame = frame_of(model);
    const struct view *const views[] = {&curves_view, &hotkeys_view};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        reset_ui(view_at(views[i]));
        draw(&frame, 80, 24, false);
        ok(shows("needs slated"), "%s on a stock server", views[i]->name);
    }
    model_destroy(&model);
    model = fixture_model("slated-0.1");
    frame = frame_of(model);
    reset_ui(view_at(&hotkeys_view));
    draw(&frame, 80, 24, false);
    ok(shows("asking the server"), "what was not answered yet");
    details_take(model_open_details(model), INQUIRY_HOTKEYS, 0, "CLIENT_ERROR stats hotkeys not allowed",
                 38, false, 1);
    draw(&frame, 80, 24, false);
    ok(shows("the server refuses: CLIENT_ERROR stats hotkeys not allowed"), "what was refused");
    model_destroy(&model);
}

/* Every view whole at every size: nothing runs off the edge, nothing is cut but words. */
static void test_every_size_is_whole(void) {
    static const int sizes[][2] = {{40, 10},  {80, 24},  {100, 30}, {132, 43},
                                   {160, 50}, {238, 61}, {400, 100}};
    static const char *const servers[] = {"slated", "stock"};
    for (int s = 0; s < 2; s++) {
        struct model *model = s == 0 ? slated_model() : fixture_model("memcached-1.6.45");
        struct frame frame = frame_of(model);
        for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
            for (unsigned view = 0; view_list[view] != NULL; view++) {
                for (int ascii = 0; ascii < 2; ascii++) {
                    reset_ui(view);
                    draw(&frame, sizes[size][0], sizes[size][1], ascii == 1);
                    bool whole = clipped == 0 && shows("slatetop");
                    class_open(&ui, 12);
                    draw(&frame, sizes[size][0], sizes[size][1], ascii == 1);
                    ok(whole && clipped == 0, "%s: %s at %dx%d", servers[s], view_list[view]->name,
                       sizes[size][0], sizes[size][1]);
                }
            }
        }
        model_destroy(&model);
    }
}

int main(void) {
    test_the_page_map_begins_with_who_starves();
    test_the_page_map_has_a_cell_a_page();
    test_on_stock_the_map_is_an_estimate_and_says_so();
    test_a_large_cache_has_several_pages_a_cell();
    test_sizes_stand_over_class_limits();
    test_what_the_sizes_of_now_waste_is_the_servers_figure();
    test_nothing_is_measured_without_a_connection();
    test_other_stores_have_no_chunk_sizes();
    test_curves_say_what_memory_and_policies_would_do();
    test_tune_cuts_between_words_and_has_the_rest_below();
    test_tune_has_room_for_why_a_setting_cannot_change();
    test_hot_keys_have_bounds();
    test_one_class_shows_all_there_is();
    test_a_click_chooses_a_row();
    test_the_past_holds_what_was_recorded();
    test_what_is_missing_says_what_it_needs();
    test_every_size_is_whole();
    return tap_done();
}
