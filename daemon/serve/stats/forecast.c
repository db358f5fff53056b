/* stats forecast: the hit ratio to expect with other amounts of memory, each with its band, and how
 * forecasts came true after the memory or the policy had changed. */
#include <inttypes.h>

#include "serve/stats/stats.h"
#include "tune/whatif/whatif.h"

/* clang-format off */
#define FORECAST_STATS(X) \
    X(enough, text, state, TEXT, t->enough ? "yes" : "no", \
      "yes: the sample has enough for a forecast; no: there are no figures") \
    X(lacks, text, reason, TEXT, t->lacks[0] ? t->lacks : "nothing", \
      "the missing part of the sample") \
    X(reads, gauge, reads, U64, t->reads, \
      "sampled reads that the forecasts are made from; old ones count less") \
    X(made, counter, forecasts, U64, log.made, \
      "forecasts made of a memory limit or a policy that was set afterwards") \
    X(came, counter, forecasts, U64, log.came, \
      "forecasts that were compared with the hit ratio that came") \
    X(within, counter, forecasts, U64, log.within, \
      "forecasts whose hit ratio came true within the band; four of five are meant to")

/* Rows of each size, as x0.5, x1, x2 and x4. */
#define SIZE_FIELDS(X) \
    X(hit_ratio, gauge, ratio, "%.4f", t->hit_ratio[i], \
      "hit ratio to expect with a multiple of the memory, by miniature caches of today's policy") \
    X(low, gauge, ratio, "%.4f", at_least(t->hit_ratio[i] - t->band[i]), \
      "lower end of the band of hit_ratio, in which four of five forecasts are meant to come " \
      "true") \
    X(high, gauge, ratio, "%.4f", at_most(t->hit_ratio[i] + t->band[i]), \
      "upper end of the band of hit_ratio")

/* Rows of one forecast that was kept, as NUMBER:field. */
#define KEPT_FIELDS(X) \
    X(time, gauge, seconds, "%" PRIi64, f->unix_s, "when the change was made, as unix time") \
    X(was, text, cache, "%s", was, "memory in bytes, or the policy, before the change") \
    X(is, text, cache, "%s", is, "memory in bytes, or the policy, after the change") \
    X(before, gauge, ratio, "%.4f", f->before, "hit ratio before the change") \
    X(expected, gauge, ratio, "%.4f", f->expected, \
      "hit ratio that was forecast for after the change") \
    X(band, gauge, ratio, "%.4f", f->band, "half of the band around expected") \
    X(reached, gauge, ratio, "%.4f", f->came, \
      "hit ratio that came true, once the cache had settled") \
    X(state, text, state, "%s", states[f->state], \
      "waits: the cache has not settled; came: reached is known; overtaken: another change came " \
      "before")
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
