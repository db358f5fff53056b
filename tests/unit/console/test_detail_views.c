/* The views that need more than a snapshot: page map, sizes, curves, hot keys and one class, drawn from
 * a slated's answers, and from a stock server that has none. */
#include "screen.h"

#include <limits.h>

static struct model *slated_model(void) {
    struct model *slated = fixture_model("slated-0.1");
    fixture_details(slated, "slated-0.1-second.txt", 13, 11000);
    fixture_details(slated, "slated-0.1-second.txt", 13, 12000);
    return slated;
}

/* A server's reply to an inquiry. */
static void answer(enum inquiry inquiry, const char *text) {
    details_take(model_open_details(model), inquiry, 0, text, strlen(text), true, 12000);
}

static struct intent press(enum command command) { return view_current(&ui)->command(&frame, &ui, command); }

/* Whether a key of the view opens the review of a move. */
static bool moves(unsigned from, unsigned to, unsigned pages) {
    struct intent intent = press(COMMAND_MOVE_PAGES);
    const struct action *step = &intent.plan.steps[0];
    return intent.kind == INTENT_REVIEW && step->from == from && step->to == to && step->pages == pages;
}

TEST(test_the_page_map_begins_with_starving_classes) {
    static struct snapshot snapshot;
    look_at_model(slated_model(), 0);
    fixture_load("slated-0.1-second.txt", 13000, &snapshot);
    snapshot.classes[3].value[CLASS_free_chunks] = 3 * snapshot.classes[3].value[CLASS_chunks_per_page];
    snapshot.classes[12].value[CLASS_evicted] += 100;
    model_add(model, &snapshot, 0);
    fixture_go_on(model, 2);
    frame = frame_of(model);
    reset_ui(view_at(&pages_view));
    draw(&frame, 80, 24, false);
    is(ui.pages.cursor, 12, "the cursor begins on the class that starves");
}

TEST(test_the_page_map_has_a_cell_a_page) {
    look(slated_model(), 0, view_at(&pages_view));
    is(ui.pages.cursor, 2, "the cursor begins on the first class where none starves");
    ok(shows("EXACT: a cell is 1 page"), "it says that it is exact");
    ok(shows("   13    1480B    18 █████████████████▒\n"), "eighteen pages are eighteen cells, the fullest first");
    press(COMMAND_BOTTOM);
    while (ui.pages.cursor != 13) {
        press(COMMAND_UP);
    }
    ok(press(COMMAND_MARK_SOURCE).kind == INTENT_SAY && ui.classes.source == 13, "f marks");
    press(COMMAND_MORE_PAGES);
    press(COMMAND_MORE_PAGES);
    draw(&frame, 80, 24, false);
    ok(shows("18 ███████████████◆◆◆\n") && shows("◆ 3 of class 13 marked"), "the marked pages are the emptiest ones, and their items are named");
    ok(press(COMMAND_MOVE_PAGES).kind == INTENT_SAY, "not to itself");
    press(COMMAND_UP);
    draw(&frame, 80, 24, false);
    ok(shows("m: 3 pages from class 13: "), "on another class the move's effect is shown");
    ok(moves(13, 12, 3), "m opens the review with the pages marked");
    press(COMMAND_BOTTOM);
    ok(moves(13, POOL_CLASS, 3), "the pool takes pages too");
    press(COMMAND_CELL_MODE);
    draw(&frame, 80, 24, false);
    ok(shows("s seconds m minutes") && shows("18 sssssssssssssss◆◆◆\n"), "cells can show ages");
    for (int i = 0; i < 40; i++) {
        press(COMMAND_MORE_PAGES);
    }
    is(ui.pages.marked, 17, "a class keeps its last page");
    look(fixture_model("memcached-1.6.18"), 0, view_at(&pages_view));
    ok(shows("ESTIMATED: a cell is 1 page") && !shows("EXACT") && !shows("aged"), "on stock it is an estimate, and no age is made up");
    ok(press(COMMAND_CELL_MODE).kind == INTENT_SAY, "and a request for ages names the requirement");
}

TEST(test_a_large_cache_has_several_pages_a_cell) {
    enum { PAGES = 60000 };
    static struct snapshot snapshot;
    char *text = malloc(PAGES * 40), *at = text;
    look_at_model(slated_model(), 0);
    fixture_load("slated-0.1-second.txt", 13000, &snapshot);
    snapshot.classes[13].value[CLASS_total_pages] = PAGES;
    model_add(model, &snapshot, 1003);
    page_list_fini(&model_open_details(model)->pages);
    for (int i = 0; i < PAGES; i++) {
        at += sprintf(at, "STAT page:%d 13 owned %d 708 100 -\r\n", i, i % 2 == 0 ? 708 : 0);
    }
    answer(INQUIRY_PAGES, text);
    free(text);
    frame = frame_of(model);
    reset_ui(view_at(&pages_view));
    draw(&frame, 80, 24, false);
    const char *said = strstr(screen, "a cell is ");
    ok(said != NULL && atoi(said + 10) > PAGES / (20 * 59) && clipped == 0, "and it says how many");
    ok(shows("13    1480B 60000 ██") && shows("·"), "full ones first, then empty ones");
}

static void hear_prediction(unsigned ticket, const char *said) {
    prediction_take(&model_open_details(model)->predictions, ticket, said, strlen(said),
                    frame.now_ms);
    draw(&frame, 80, 24, false);
}

TEST(test_sizes_stand_over_class_limits) {
    static const char orders[][PREDICTION_ORDER_BYTES] = {"factor 1.04", "factor 1.08"};
    char line[PREDICTION_ORDER_BYTES + 24];
    struct wants wants;
    look(slated_model(), 0, view_at(&sizes_view));
    ok(shows("153K items by size") && shows("EXACT, of live items") && shows("factor 1.08  waiting for the server"),
       "how many, from where, and what other factors would bring, the server is asked");
    struct prediction_list *predictions = &model_open_details(model)->predictions;
    prediction_want(predictions, orders, 2);
    hear_prediction(prediction_next(predictions, 1, line)->ticket,
                 "PREDICTED 99 classes would hold 3.1 % fewer items in 64 pages, 96900 instead "
                 "of 100000, and waste 2.0 % of their memory instead of 12.0 %; it would be "
                 "refused without force\r\n");
    hear_prediction(prediction_next(predictions, 1, line)->ticket,
                 "PREDICTED 61 classes would hold 9.3 % more items in 64 pages, 109300 instead "
                 "of 100000, and waste 4.1 % of their memory instead of 12.0 %\r\n");
    ok(shows("factor 1.04       99    2.0 %    -3.1 %  no gain: refused"), "the one with least waste may hold fewer items");
    ok(shows("factor 1.08       61    4.1 %    +9.3 %  ◀ most items"), "the best one is by the server's figures");
    hear_prediction(prediction_next(predictions, frame.now_ms + PREDICTION_EVERY_MS, line)->ticket,
                 "BUSY currently processing another geometry request\r\n");
    ok(shows("-3.1 %  no gain: refused") && !shows(" ago"), "a server that is busy leaves the prediction there is");
    frame.now_ms += PREDICTION_OLD_MS;
    draw(&frame, 80, 24, false);
    ok(shows("-3.1 %  no gain: refused  20s ago"), "with its age, when it is old");
    frame.now_ms -= PREDICTION_OLD_MS;
    press(COMMAND_DOWN);
    struct intent intent = press(COMMAND_REVIEW);
    ok(intent.kind == INTENT_REVIEW && strcmp(intent.plan.steps[0].value, "factor 1.08") == 0, "the row under the cursor can be reviewed");
    review_open(&ui.review, &intent.plan, NULL);
    draw(&frame, 80, 24, false);
    ok(shows("slabs geometry factor 1.08") && shows("9.3 % more items in 64 pages"), "with the server's prediction, before anything is sent");
    screen_wants(&ui, &wants);
    ok((wants.inquiries & INQUIRY_BIT(PREDICTIONS)) && strcmp(wants.orders[0], "factor 1.08") == 0,
       "which is asked for what is reviewed first");
    look(fixture_model("memcached-1.6.18"), 0, view_at(&sizes_view));
    ok(shows("ESTIMATED, a bar a class") && shows("needs slated") && !shows("least waste"), "a stock server's are an estimate, from which nothing is concluded");
    answer(INQUIRY_STOCK_SIZES, "STAT 96 1000\r\nSTAT 128 3000\r\nSTAT 1024 10\r\nEND\r\n");
    draw(&frame, 80, 24, false);
    ok(shows("4010 items by size") && shows("as the server tracks them"), "unless it tracks sizes");
    ok(shows("no gain") && !shows("refused"), "sizes without gain are not refused: its options take any");
    ok(press(COMMAND_REVIEW).kind == INTENT_SAY, "and there is nothing to send");
}

TEST(test_nothing_is_measured_without_a_connection) {
    look(brain_model("cache7:11211"), 0, view_at(&latency_view));
    model_set_link(model, LINK_DOWN, "cannot connect", 1000);
    draw(&frame, 80, 24, false);
    ok(shows("no connection: nothing is measured") && !shows("measuring"), "and the view says so");
    model_set_link(model, LINK_UP, "", 2000);
    draw(&frame, 80, 24, false);
    ok(shows("measuring"), "until there is one");
}

TEST(test_other_stores_have_no_chunk_sizes) {
    static const char *const stores[] = {"heap", "blocks"};
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        static struct snapshot snapshot;
        char said[100];
        fixture_load("slated-0.1-second.txt", 13000, &snapshot);
        snprintf(snapshot.store, sizeof snapshot.store, "%s", stores[i]);
        look_at_model(slated_model(), 0);
        model_add(model, &snapshot, 1003);
        frame = frame_of(model);
        reset_ui(view_at(&sizes_view));
        draw(&frame, 80, 24, false);
        snprintf(said, sizeof said, "chunk sizes need --store=slab; this server has %s\n", stores[i]);
        ok(shows(said) && !shows("CHUNK SIZES") && press(COMMAND_REVIEW).kind == INTENT_SAY, "the screen of sizes says so of %s, and proposes none", stores[i]);
        reset_ui(view_at(&pages_view));
        draw(&frame, 80, 24, false);
        snprintf(said, sizeof said, "pages of classes need --store=slab; this server has %s\n", stores[i]);
        struct action move = action_move(13, 12, 1);
        ok(shows(said) == (i == 0), "pages of one whole are no pages of a class");
        ok(!action_check(&move, model, said, sizeof said) && strstr(said, stores[i]) != NULL, "and none can move: %s", said);
    }
}

TEST(test_curves_show_the_effect_of_memory_and_policies) {
    look(slated_model(), 0, view_at(&curves_view));
    ok(shows("LRU model of the whole cache: miss 25.1 % at 64M") && shows("^now 64M") && shows("^128M"), "the miss ratio of now, called a model, and a scale around it");
    ok(shows("s3fifo hit 77.4 % over 5 turnovers; its miniatures x0.5 76.7, x2 84.3, x4 94.3"),
       "what its own policy had, and over which time, and other sizes of it by miniatures");
    ok(shows("s3fifo   hit  77.4 %") && shows("in use") && shows("too few reads"), "policies, with unknown figures called so");
    ok(shows("hits/s by curves") && shows("no class starves: no move is advised"), "the value of a page, and the conclusion");
    press(COMMAND_DOWN);
    ok(ui.curves.cursor > 0, "a class is chosen");
    ui.curves.cursor = 13;
    draw(&frame, 80, 24, false);
    ok(shows("LRU model of class 13: miss"), "then the curve is the class's");
    struct donor donor = brain_donor(brain_of(model), 13);
    ok(moves((unsigned)donor.class_id, 13, donor.pages), "m reviews the move to it that every screen advises");
}

TEST(test_tune_cuts_between_words_and_has_the_rest_below) {
    look_at_model(slated_model(), 0);
    answer(INQUIRY_CONFIG, "STAT slab_automove:value utility\r\nSTAT slab_automove:source start\r\nSTAT policy:value s3fifo\r\n"
                           "STAT slab_automove:choices off|ratio|eviction|random|lra|lrc|utility|lua:NAME\r\n"
                           "STAT policy:choices slru|lru|bag|fifo|clock|clock2|clock3|sieve\r\n");
    frame = frame_of(model);
    reset_ui(view_at(&tune_view));
    draw(&frame, 80, 24, false);
    ok(shows(" off|ratio|eviction|…\n") && shows(" slru|lru|bag|fifo|…\n") && shows(" auto, factor N, …\n"), "a text wider than its column ends after a word");
    ok(shows("\none of off, ratio, eviction, random, lra, lrc, utility, lua:NAME\n"), "and stands whole below");
    for (int height = 18; height <= 24; height += 2) { /* the panel's text has ever less room */
        draw(&frame, 80, height, false);
        const char *end = strstr(screen, "\n- + or Enter");
        bool is_cut = end != NULL && strncmp(end - strlen("…"), "…", strlen("…")) == 0;
        ok(end != NULL && (is_cut || end[-1] == '.' || end[-1] == '\n'), "at %d rows the text ends as one that was cut or is whole", height);
    }
    draw(&frame, 160, 50, false);
    ok(shows(" off|ratio|eviction|random|lra|lrc|utility|lua:NAME\n") && !shows("one of off"), "where there is room it stands once");
    snprintf(((struct snapshot *)model_now(model))->store, sizeof model_now(model)->store, "heap");
    draw(&frame, 80, 24, false);
    ok(shows("needs --store=slab; this server has heap\n") && !shows("needs --store=slab; …"), "why a setting cannot change has room at 80 columns, too");
    draw(&frame, 160, 50, false);
    ok(shows(" start    needs --store=slab; this server has heap\n"), "where there is room beside where the value comes from");
}

TEST(test_hot_keys_have_bounds) {
    look(slated_model(), 0, view_at(&hotkeys_view));
    ok(shows("key-0000000000000000000000000000") && shows("3.0-3.2") && shows("389K requests"), "at least and at most, of how many requests");
    press(COMMAND_BOTTOM);
    draw(&frame, 80, 24, false);
    ok(shows(" 20 "), "the last one can be reached");
    answer(INQUIRY_HOTKEYS, "STAT requests 1000\r\nSTAT noted 60\r\nSTAT 1:key one\r\nSTAT 1:requests 300\r\nSTAT 1:error 50\r\nSTAT 1:doubt 100\r\nEND\r\n");
    draw(&frame, 80, 24, false);
    ok(shows("15.0-40.0"), "and chance widens them");
    ok(shows(" -  15.0-40.0       -          -"), "a server without bytes and without a time has no rates");
    answer(INQUIRY_HOTKEYS, "STAT requests 1000\r\nSTAT bytes 4096000\r\nSTAT seconds 10.0\r\nSTAT 1:key user:1\r\nSTAT 1:requests 300\r\nSTAT 1:error 0\r\n"
                            "STAT 1:doubt 50\r\nSTAT 1:bytes 2048000\r\nSTAT 1:bytes_error 0\r\nSTAT 1:bytes_doubt 409600\r\nEND\r\n");
    draw(&frame, 80, 24, false);
    ok(shows("user:1 ") && shows(" 30  25.0-35.0    200K  40.0-60.0"), "requests and bytes a second, each with its share");
    draw(&frame, 40, 10, false);
    ok(shows("user:1 ") && shows(" 30  25.0-35.0"), "a narrow screen has the requests");
    answer(INQUIRY_HOTKEYS, "STAT requests 0\r\nEND\r\n");
    draw(&frame, 80, 24, false);
    ok(shows("no key is hot"), "none is said to be none");
}

TEST(test_one_class_shows_all_there_is) {
    static const char *const wanted[] = {"class 13: ", "18 pages of 708 chunks of 1480 B", "policy s3fifo", "less -31.3", "now: class 5 would gain", "moves_to_cold", "total_pages"};
    look(slated_model(), 0, view_at(&classes_view));
    ui.classes.cursor = 13;
    press(COMMAND_OPEN_CLASS);
    ok(view_current(&ui) == &class_view && ui.focus == 13, "Enter opens the class");
    draw(&frame, 160, 50, false);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        ok(shows(wanted[i]), "it has '%s'", wanted[i]);
    }
    draw(&frame, 80, 24, false);
    ok(!shows("total_pages ") && shows("more: Down"), "a small screen scrolls");
    press(COMMAND_BOTTOM);
    draw(&frame, 80, 24, false);
    ok(shows("touch_hits") && shows("more: Up"), "to the end");
    press(COMMAND_PREVIOUS_CLASS);
    ok(ui.focus != 13 && ui.class_is_open, "N goes to the class before it");
    press(COMMAND_NEXT_CLASS);
    is(ui.focus, 13, "n to the one behind");
    ok(press(COMMAND_MOVE_PAGES).plan.steps[0].to == 13, "m gives it pages");
    press(COMMAND_CLOSE_CLASS);
    ok(view_current(&ui) == &classes_view, "Esc goes back");
    view_open_class(&ui, 200);
    draw(&frame, 80, 24, false);
    ok(shows("class 200: the server does not list it"), "a class that is gone is said to be gone");
}

TEST(test_a_click_chooses_a_row) {
    const struct {
        const struct view *view;
        const unsigned *cursor;
    } views[] = {{&pages_view, &ui.pages.cursor}, {&tune_view, &ui.tune.cursor}, {&sizes_view, &ui.sizes.cursor},
                 {&curves_view, &ui.curves.cursor}, {&hotkeys_view, &ui.hotkeys.cursor}};
    look(slated_model(), 0, 0);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        unsigned wanted = UINT_MAX;
        struct cells *cells = cells_create(80, 24, false);
        reset_ui(view_at(views[i].view));
        screen_draw(&frame, &ui, cells);
        for (int y = 0; y < 24; y++) {
            const struct hotspot *hot = cells_hot_at(cells, y, 40);
            wanted = hot != NULL && hot->kind == HOT_ROW ? hot->value : wanted;
        }
        view_click(views[i].view, &ui, HOT_ROW, wanted);
        screen_draw(&frame, &ui, cells);
        is(*views[i].cursor, wanted, "%s has rows to click on, and the cursor goes there", views[i].view->name);
        cells_destroy(&cells);
    }
}

/* A view of the past shows the tape's data of that moment, if need be an estimate; otherwise it shows that none is recorded. */
TEST(test_the_past_has_recorded_data) {
    static const struct {
        const struct view *view;
        const char *shown;
    } views[] = {{&pages_view, "ESTIMATED"}, {&sizes_view, "ESTIMATED, a bar a class"},
                 {&curves_view, "not recorded"}, {&hotkeys_view, "not recorded"}, {&tune_view, "not recorded"}};
    look(fixture_model("slated-0.1"), 0, 0);
    frame.is_past = true;
    details_forget(model_open_details(model));
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        reset_ui(view_at(views[i].view));
        draw(&frame, 80, 24, false);
        ok(shows(views[i].shown) && !shows("asking"), "%s in the past: %s", views[i].view->name, views[i].shown);
    }
    reset_ui(0);
    view_open_class(&ui, 13);
    draw(&frame, 80, 24, false);
    ok(shows("stats of the class that are recorded") && shows("mem_requested"), "a class: the stats of the tape");
    reset_ui(0);
    ui.why.is_open = true;
    draw(&frame, 80, 24, false);
    ok(shows("The reasons of the past are not recorded"), "and automove's reasons");
}

TEST(test_missing_data_name_their_requirement) {
    static const char refusal[] = "CLIENT_ERROR stats hotkeys not allowed";
    look(fixture_model("memcached-1.6.18"), 0, view_at(&curves_view));
    ok(shows("needs slated"), "on a stock server");
    look(fixture_model("slated-0.1"), 0, view_at(&hotkeys_view));
    ok(shows("waiting for the server"), "replies that are still missing");
    details_take(model_open_details(model), INQUIRY_HOTKEYS, 0, refusal, sizeof refusal - 1, false, 1);
    draw(&frame, 80, 24, false);
    ok(shows("the server refuses: CLIENT_ERROR stats hotkeys not allowed"), "refused requests");
}

int main(void) { return fixture_main(); }
