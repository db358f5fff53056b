/* stats forecast: what other amounts of memory would hit, each with its band, and what came true of
 * forecasts after the memory or the policy had become another. */
#include <inttypes.h>

#include "serve/stats/stats.h"
#include "tune/whatif/whatif.h"

/* clang-format off */
#define FORECAST_STATS(X) \
    X(enough, text, state, TEXT, t->enough ? "yes" : "no", \
      "whether the sample has enough for a forecast; without it there is no figure") \
    X(lacks, text, reason, TEXT, t->lacks[0] ? t->lacks : "nothing", \
      "of what there is not enough") \
    X(reads, gauge, reads, U64, t->reads, \
      "sampled ones the forecasts are made from, those of long ago counting less") \
    X(made, counter, forecasts, U64, log.made, \
      "forecasts of a memory limit or a policy that then was set") \
    X(came, counter, forecasts, U64, log.came, \
      "of these, those that were held against what then was hit") \
    X(within, counter, forecasts, U64, log.within, \
      "of these, those whose hit ratio lay within the band; four of five are meant to")

/* Rows of each size, as x0.5, x1, x2 and x4. */
#define SIZE_FIELDS(X) \
    X(hit_ratio, gauge, ratio, "%.4f", t->hit_ratio[i], \
      "to expect with so many times the memory, by miniatures of today's policy") \
    X(low, gauge, ratio, "%.4f", at_least(t->hit_ratio[i] - t->band[i]), \
      "where its band begins, in which four of five forecasts are meant to come true") \
    X(high, gauge, ratio, "%.4f", at_most(t->hit_ratio[i] + t->band[i]), "where it ends")

/* Rows of one forecast that was kept, as NUMBER:field. */
#define KEPT_FIELDS(X) \
    X(time, gauge, seconds, "%" PRIi64, f->unix_s, "of the change, as unix time") \
    X(was, text, cache, "%s", was, "memory in bytes, or the policy, before the change") \
    X(is, text, cache, "%s", is, "and after it") \
    X(before, gauge, ratio, "%.4f", f->before, "hit ratio before the change") \
    X(expected, gauge, ratio, "%.4f", f->expected, "hit ratio that was forecast") \
    X(band, gauge, ratio, "%.4f", f->band, "what it was given, or taken") \
    X(reached, gauge, ratio, "%.4f", f->came, "hit ratio that came, once the cache had settled") \
    X(state, text, state, "%s", states[f->state], \
      "waits, came, or overtaken by a further change before it could")
/* clang-format on */

#define FIELD_INFO(field, kind, unit, format, value, help) {#field, #kind, #unit, help},
#define SIZE_PUT(field, kind, unit, format, value, help) \
    text_out_printf(out, "STAT x%g:" #field " " format "\r\n", forecast_factor[i], value);
#define KEPT_PUT(field, kind, unit, format, value, help) \
    text_out_printf(out, "STAT %" PRIu64 ":" #field " " format "\r\n", number, value);

const struct counter_info stats_forecast_info[] = {
    FORECAST_STATS(STATS_INFO) SIZE_FIELDS(FIELD_INFO)
        KEPT_FIELDS(FIELD_INFO){NULL, NULL, NULL, NULL}};

static double at_least(double ratio) { return ratio > 0 ? ratio : 0; }
static double at_most(double ratio) { return ratio < 1 ? ratio : 1; }

static void put_kept(struct text_out *out, uint64_t number, const struct forecast *f) {
    static const char *const states[] = {[FORECAST_WAITS] = "waits",
                                         [FORECAST_CAME] = "came",
                                         [FORECAST_OVERTAKEN] = "overtaken"};
    char was[32], is[32];
    bool sizes = f->bytes_was != f->bytes_is;
    if (sizes) {
        snprintf(was, sizeof was, "%" PRIu64, f->bytes_was);
        snprintf(is, sizeof is, "%" PRIu64, f->bytes_is);
    } else {
        snprintf(was, sizeof was, "%s", f->policy_was->name);
        snprintf(is, sizeof is, "%s", f->policy_is->name);
    }
    KEPT_FIELDS(KEPT_PUT)
}

void stats_forecast(struct command_context *ctx) {
    struct text_out *out = ctx->out;
    struct forecast_log log;
    const struct forecast_told *t = &log.told;
    whatif_forecasts(tuner_whatif(ctx->server->tuner), &log);
    FORECAST_STATS(STATS_PUT)
    for (unsigned i = 0; t->enough && i < FORECAST_POINTS; i++) {
        SIZE_FIELDS(SIZE_PUT)
    }
    for (unsigned i = 0; i < log.count; i++) {
        put_kept(out, log.made - log.count + 1 + i, &log.kept[i]);
    }
}
