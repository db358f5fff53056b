/* stats automove: the value of a page to each class, if the mode measures it. */
#include <inttypes.h>

#include "server/stats/stats.h"

/* clang-format off */
#define AUTOMOVE_STATS(X) \
    X(mode, text, name, TEXT, words.mode, "mode of automove") \
    X(weighed, gauge, flag, U64, w.known, \
      "1: the mode weighs pages and its first window has ended; the lines of the classes follow") \
    X(requests, counter, operations, U64, w.requests, \
      "hits, misses and stores that had been counted when the last window ended")

/* Rows of each class with pages, shown as CLASS:field. */
#define WORTH_FIELDS(X) \
    X(pages, gauge, pages, "%u", w->pages[i], "pages of the class") \
    X(gain, gauge, hits, "%.3f", c->gain, \
      "hits per 1000 requests that a page more would bring, by misses of keys that were evicted") \
    X(gain_doubt, gauge, hits, "%.3f", c->gain_doubt, "how far gain may be wrong") \
    X(gain_pages, gauge, pages, "%u", c->gain_pages, \
      "pages over which gain is the mean; 0: no number of pages would bring hits") \
    X(loss, gauge, hits, "%.3f", c->loss, \
      "hits per 1000 requests that a page less would cost, by hits on the items to be evicted " \
      "next") \
    X(loss_doubt, gauge, hits, "%.3f", c->loss_doubt, "how far loss may be wrong") \
    X(average, gauge, hits, "%.3f", c->average, \
      "hits per 1000 requests on the mean page of the class")
/* clang-format on */

#define WORTH_INFO(field, kind, unit, format, value, help) {#field, #kind, #unit, help},
#define WORTH_PUT(field, kind, unit, format, value, help) \
    text_out_printf(out, "STAT %u:" #field " " format "\r\n", i, value);

const struct counter_info stats_automove_info[] = {
    AUTOMOVE_STATS(STATS_INFO) WORTH_FIELDS(WORTH_INFO){NULL, NULL, NULL, NULL}};

static void automove_put_class(struct text_out *out, const struct tuner_worth *w, unsigned i) {
    const struct page_worth *c = &w->classes[i];
    WORTH_FIELDS(WORTH_PUT)
}

void stats_automove(struct command_context *ctx) {
    struct text_out *out = ctx->out;
    struct tuner_words words;
    struct tuner_worth w;
    tuner_words(ctx->server->tuner, &words);
    tuner_worth(ctx->server->tuner, &w);
    AUTOMOVE_STATS(STATS_PUT)
    for (unsigned i = 1; w.known && i <= w.class_count; i++) {
        if (w.pages[i] > 0) {
            automove_put_class(out, &w, i);
        }
    }
}
