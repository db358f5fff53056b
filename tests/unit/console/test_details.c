/* Data that only some views need: parsers, and figures computed from them. */
#include "brain/brain_query.h"
#include "brain/sizes.h"
#include "facts/page_summary.h"
#include "facts/stat_line.h"
#include "fixture.h"
#include "tap.h"

#include <math.h>

static bool near(double got, double want) {
    return fabs(got - want) < 1e-6 * fmax(1, fabs(want));
}

static struct model *slated_model(unsigned class_id) {
    struct model *slated = fixture_model("slated-0.1");
    fixture_details(slated, "slated-0.1-second.txt", class_id, 12000);
    return slated;
}

TEST(test_every_group_is_taken_in) {
    look_at_model(slated_model(13), 0);
    const struct details *details = model_details(model);
    for (int group = 0; group < INQUIRY_COUNT; group++) {
        if (group != INQUIRY_STOCK_SIZES && group != INQUIRY_CONFIG &&
            group != INQUIRY_PREDICTIONS && group != INQUIRY_MEMORY) {
            ok(detail_is_known(details, (enum inquiry)group), "group %d is known", group);
        }
    }
    is_str(details->moves.mode, "utility", "the mode that moves pages");
    const struct page_move *last = &details->moves.moves[details->moves.count - 1];
    ok(details->moves.count > 10 && last->from > 0 && last->to > 0 && last->reason[0] != '\0',
       "%u moves with classes and reasons", details->moves.count);
    ok(details->worth.is_weighed && near(details->worth.classes[12].gain, 2.272) && near(details->worth.classes[13].loss, 31.307),
           "what a page is worth");
    is_str(details->policies.active, "s3fifo", "the policy");
    ok(near(details->sizes.items, 152721) && near(details->sizes.bins[size_bin_of(112)], 16273), "items by size");
    ok(details->curve.count == 17 && near(details->curve.points[0].bytes, 8388608) && near(details->curve.at_size[3], 0.9435),
           "the curve of the whole cache");
    is(details->class_curves[12].count, 17, "the curve of a class");
    is(details->class_curves[5].count, 0, "and none where there are too few reads");
    is(details->whatif.count, 11, "eleven policies");
    ok(details->hot.count == 20 && near(details->hot.keys[0].requests.count, 12640) && near(details->hot.keys[0].requests.error, 864),
           "hot keys with their errors");
    is_str(details->geometry.state, "steady", "the geometry");
    const struct class_detail *focus = &details->focus;
    bool has_own = false;
    for (unsigned i = 0; i < focus->count; i++) {
        has_own = has_own || (strcmp(focus->stats[i].name, "moves_to_cold") == 0 && !isnan(focus->stats[i].now));
    }
    ok(focus->count > 40 && has_own, "every stat of the class in focus: %u", focus->count);
}

TEST(test_pages_agree_with_the_classes) {
    unsigned sum = 0;
    struct page_summary summary;
    look_at_model(slated_model(0), 0);
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        page_summary_of(model, id, &summary);
        sum += summary.pages;
        const struct class_stats *stats = snapshot_class(model_now(model), id);
        double used = stat_number(stats->value[CLASS_used_chunks]), chunks = stat_number(stats->value[CLASS_chunks_per_page]);
        double all = page_summary_cost(&summary, summary.pages);
        if (summary.pages > 0) {
            ok(summary.is_exact && all <= chunks * summary.pages && all >= used * 0.9 && page_summary_cost(&summary, 1) * summary.pages <= all + 0.5,
               "class %u: %u pages, %.0f chunks in use, %.0f by the slab stats, the emptiest no fuller than the mean one", id, summary.pages, all, used);
        }
    }
    is(sum, 64, "all pages are in classes");
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    page_summary_of(model, 4, &summary);
    ok(!summary.is_exact && summary.pages == 64 && isnan(summary.oldest_s), "a stock server's are an estimate, without ages");
    ok(near(page_summary_cost(&summary, 64), stat_number(model_now(model)->classes[4].value[CLASS_used_chunks])), "that hold all its chunks in use");
}

/* A cache of several parts: the map is complete when all have come, and a page that moved is in one class only. */
TEST(test_the_page_list_comes_in_parts) {
    static const char first[] = "STAT page:0 4 owned 10 20 5 -\r\nSTAT page:1 5 draining 3 20 9 7\r\n"
                                "STAT pages_limit 64\r\nSTAT pages_out 3\r\nSTAT next 7\r\nEND\r\n";
    static const char second[] = "STAT page:9 5 owned 20 20 5 -\r\nSTAT next 0\r\nEND\r\n";
    static const char again[] = "STAT page:1 6 owned 1 20 1 -\r\nSTAT next 7\r\nEND\r\n";
    struct page_list list = {0};
    page_list_parse(&list, first, sizeof first - 1);
    ok(!list.is_complete && list.next == 7, "the first part says where the next begins");
    is(list.pages[1].state, PAGE_STATE_DRAINING, "a page that is being emptied");
    is(list.pages[1].unused_s, 7, "with its time unused");
    ok(list.notes_use && list.pages[0].unused_s == UINT32_MAX, "where the server notes it");
    page_list_parse(&list, second, sizeof second - 1);
    ok(list.is_complete && list.next == 0 && list.pages[9].class_id == 5, "the last part makes it whole");
    page_list_parse(&list, again, sizeof again - 1);
    is(list.pages[0].state, PAGE_STATE_NONE, "a page that is not listed any more has no class");
    is(list.pages[1].class_id, 6, "one that moved has its new class");
    is(list.pages[9].class_id, 5, "the other part stays");
    page_list_fini(&list);
}

TEST(test_curves_are_read_between_their_points) {
    static const char text[] = "STAT bytes 100\r\nSTAT reads 9\r\nSTAT lru_hit_ratio 0.5\r\n"
                               "STAT point:50 0.25\r\nSTAT point:100 0.5\r\nSTAT point:200 0.6\r\n"
                               "STAT point:150 0.9\r\nSTAT point:300 1.9\r\nEND\r\n";
    struct curve curve;
    curve_parse(&curve, text, sizeof text - 1);
    is(curve.count, 3, "points that do not ascend, or are no ratio, are left out");
    ok(near(curve_value_at(&curve, 75), 0.375) && near(curve_value_at(&curve, 200), 0.6), "between the points");
    ok(isnan(curve_value_at(&curve, 49)) && isnan(curve_value_at(&curve, 201)), "nothing outside of them");
    ok(isnan(curve.at_size[0]), "missing figures are unknown, not zero");
}

/* The rules are tested in tests/spec; here are the data that the bridge hands over and returns. */
TEST(test_results_of_lua_come_through) {
    const struct class_worth *worth;
    look_at_model(slated_model(0), 0);
    is(brain_worth(model, &worth), 2, "the classes that have a curve");
    ok(worth[0].class_id == 12 && worth[0].gain > worth[1].gain, "by their gain");
    const struct size_plan *plan = brain_sizes(model);
    ok(plan->now.count == 39 && plan->count == 7, "slated lists its sizes, and gets queries for seven orders");
    ok(!plan->of[0].is_known && strcmp(plan->of[0].order, "factor 1.04") == 0, "of which nothing is known yet");
    struct prediction_list *predictions = &((struct details *)model_details(model))->predictions;
    static const char answer[] = "PREDICTED 61 classes would hold 9.3 % more items in 64 pages, 109310 instead of 100000, "
                                 "and waste 6.2 % of their memory instead of 12.8 %\r\n";
    char line[PREDICTION_ORDER_BYTES + 24], orders[SIZE_CHOICES_MOST][PREDICTION_ORDER_BYTES];
    prediction_want(predictions, (const char[1][PREDICTION_ORDER_BYTES]){"factor 1.04"}, 1);
    prediction_next(predictions, 1, line);
    prediction_take(predictions, predictions->of[0].ticket, answer, sizeof answer - 1, 5000);
    plan = brain_sizes(model);
    const struct size_choice *choice = &plan->of[0];
    ok(choice->is_known && choice->is_worth_it && choice->is_best && near(choice->classes, 61) && near(choice->items_change, 0.093) &&
           near(choice->waste_ratio, 0.062), "an answer that comes is taken in at once");
    ok(plan->best.count > plan->now.count, "the sizes of the best are there to be drawn");
    is(brain_size_orders(orders), plan->count, "the server gets queries for those that are shown");
    is_str(orders[6], "auto", "the last of which is its own choice");
    look_at_model(fixture_model("memcached-1.6.18"), 0);
    plan = brain_sizes(model);
    ok(plan->count == 0 && plan->now.count == 39, "a stock server that does not track sizes has those of memcached's defaults, and none to choose from");
}

TEST(test_bins_are_an_eighth_of_an_octave) {
    for (double bytes = 1; bytes < 1e8; bytes = bytes * 1.01 + 1) {
        unsigned bin = size_bin_of(bytes);
        if (size_bin_end(bin) < bytes || (bin > 0 && size_bin_end(bin - 1) >= bytes)) {
            ok(false, "%.0f bytes are in bin %u up to %.0f", bytes, bin, size_bin_end(bin));
        }
    }
    ok(size_bin_end(size_bin_of(104)) == 104 && size_bin_end(size_bin_of(1152)) == 1152, "with the server's own ends");
}

/* slated's replies about other chunk sizes. */
TEST(test_predictions_are_the_servers) {
    static const char orders[][PREDICTION_ORDER_BYTES] = {"factor 1.08", "auto"};
    static const char *const said[] = {
        "PREDICTED 61 classes would hold 9.3 % more items in 64 pages, 109310 instead of 100000, and waste 4.1 % of their memory instead of 12.0 %\r\n",
        ("PREDICTED 40 classes would hold 1.5 % fewer items in 64 pages, 98500 instead of 100000, and waste 9.0 % of their memory instead of "
         "12.0 %; it would be refused without force\r\n"), "SAME these are the chunk sizes already\r\n",
        "CLIENT_ERROR slab reassignment disabled\r\n", "BUSY currently processing another geometry request\r\n"};
    struct prediction_list list = {0};
    char line[PREDICTION_ORDER_BYTES + 24];
#define HEAR(ticket, n) prediction_take(&list, ticket, said[n], strlen(said[n]), 2000)
    prediction_want(&list, orders, 2);
    unsigned first = prediction_next(&list, 1000, line)->ticket;
    is_str(line, "slabs geometry factor 1.08 dry", "the line of the query, which changes nothing");
    unsigned second = prediction_next(&list, 1000, line)->ticket;
    is_str(line, "slabs geometry auto dry", "one after the other");
    ok(prediction_next(&list, 1000 + PREDICTION_EVERY_MS - 1, line) == NULL,
       "not again for a while");
    prediction_want(&list, orders + 1, 1);
    HEAR(first, 0);
    ok(prediction_of(&list, "auto") == NULL,
       "an answer that nobody wants any more is not taken for another's");
    HEAR(second, 1);
    const struct prediction *prediction = prediction_of(&list, "auto");
    ok(prediction != NULL && !prediction->would_be_made && near(prediction->items_pct, -1.5) &&
           near(prediction->waste_pct, 9.0) && near(prediction->classes, 40),
       "what saves more of the chunks, but holds fewer items, is no gain");
    prediction_next(&list, 1000 + PREDICTION_EVERY_MS, line);
    HEAR(list.of[0].ticket, 0);
    ok(prediction->would_be_made && near(prediction->items_pct, 9.3), "a gain");
    HEAR(list.of[0].ticket, 2);
    ok(!prediction->would_be_made && isnan(prediction->items_pct), "nothing to change");
    is_str(prediction->words, "these are the chunk sizes already", "in the server's words");
    HEAR(list.of[0].ticket, 3);
    is_str(prediction->words, "CLIENT_ERROR slab reassignment disabled", "an error as it came");
    prediction_next(&list, 1000 + 2 * PREDICTION_EVERY_MS, line);
    HEAR(list.of[0].ticket, 4);
    ok(strncmp(prediction->words, "CLIENT_ERROR", 12) == 0 && prediction->known_ms == 2000,
       "that the server is busy is no answer");
    ok(prediction_next(&list, 1001 + 2 * PREDICTION_EVERY_MS, line) == prediction,
       "and the question is asked again");
#undef HEAR
}

TEST(test_a_refusal_keeps_the_servers_words) {
    struct details *details = details_create();
    details_take(details, INQUIRY_HOTKEYS, 0, "CLIENT_ERROR not allowed\r\n", 26, false, 1);
    is(details->answers.of[INQUIRY_HOTKEYS].state, ANSWER_REFUSED, "refused");
    is_str(details->answers.of[INQUIRY_HOTKEYS].refusal, "CLIENT_ERROR not allowed", "with its words");
    details_forget(details);
    is(details->answers.of[INQUIRY_HOTKEYS].state, ANSWER_NONE, "another server has no query yet");
    details_destroy(&details);
}

TEST(test_lines_are_words_and_numbers) {
    ok(near(stat_line_number("-1.5"), -1.5) && near(stat_line_number("+0.25"), 0.25), "signs");
    static const char *const wrong[] = {"", "-", "1x", "nan", "inf", "0x10", "1e999", " 1", "--1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ok(isnan(stat_line_number(wrong[i])), "'%s' is no number", wrong[i]);
    }
    unsigned number;
    const char *rest;
    ok(stat_line_numbered("12:chunk_size", 256, &number, &rest) && number == 12 && strcmp(rest, "chunk_size") == 0,
           "a number and a field");
    ok(!stat_line_numbered("256:a", 256, &number, &rest) && !stat_line_numbered("a:b", 256, &number, &rest) &&
           !stat_line_numbered("99999999999999999999:a", 256, &number, &rest), "what is out of range is none");
}

int main(void) { return fixture_main(); }
