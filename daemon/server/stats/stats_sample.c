/* stats curve, stats whatif and stats hotkeys: results of the sampled keys. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "control/sampling/whatif.h"
#include "server/admin/admin.h"
#include "server/stats/stats.h"
#include "watch/event_line.h"

enum { HOT_SHOWN = 20 };

/* clang-format off */
#define WHATIF_STATS(X) \
    X(sampling, gauge, flag, U64, f.on, "1: keys are sampled") \
    X(policy, text, name, TEXT, (f.running ? f.running : cache_policy(ctx->server->cache))->name, \
      "the policy that evicts, to which the others are compared") \
    X(s3auto, gauge, flag, U64, f.follows, \
      "1: the policy is s3auto, which follows the figures of s3fifo, s3skip, s3wide and s3loop") \
    X(rate, gauge, ratio, RATE, f.rate, "share of the keys that are in the sample now") \
    X(keys, gauge, keys, U64, f.keys, "keys in the miniature cache of today's policy") \
    X(windows, counter, windows, U64, f.windows, \
      "windows that were compared, each a quarter of a turnover of the cache") \
    X(real_hit_ratio, gauge, ratio, COUNTED4, f.hit_ratio, \
      "hit ratio of the cache itself of late; absent until a window was counted") \
    X(records, counter, records, U64, f.records, "events of sampled keys") \
    X(records_dropped, counter, records, U64, f.dropped, \
      "requests noted for the hot keys that were lost because they came too fast; of sampled " \
      "keys none is lost: the rate falls") \
    X(memory_bytes, gauge, bytes, U64, f.memory_bytes, "memory that sampling takes") \
    X(memory_bytes_max, gauge, bytes, U64, f.memory_most_bytes, "memory that sampling may take") \
    X(why, text, reason, TEXT, f.why, "result of the latest comparison") \
    X(changes, counter, changes, U64, f.changes, "changes of the policy by s3auto") \
    X(changed, text, reason, TEXT, f.changed[0] ? f.changed : "never", \
      "why s3auto changed the policy last")

/* A row of each policy with s3fifo's structure, as NAME:record. */
#define RECORD_FIELD(X) \
    X(record, text, numbers, "small_percent=%u,ghost_percent=%u,promote_hits=%u,skip_percent=%u," \
      "readmit_percent=%u", record, "numbers of a policy of s3fifo's structure; s3fifo's are " \
      "settings but readmit_percent, others are fixed")

/* Rows of each policy, as NAME:field; for classes with enough reads also as class:ID:NAME:field. */
#define POLICY_FIELDS(X) \
    X(hit_ratio, gauge, ratio, "%.4f", p->hit_ratio, "hit ratio to expect under this policy") \
    X(difference, gauge, ratio, "%+.4f", p->difference, \
      "hit ratio under this policy less that under today's") \
    X(doubt, gauge, ratio, "%.4f", p->doubt, \
      "half of the band around difference: 19 of 20 are meant to be true within it") \
    X(reads, gauge, reads, "%.0f", p->tally.reads, \
      "sampled reads that the hit ratio is made from; old ones count less")

#define CURVE_STATS(X) \
    X(bytes, gauge, bytes, U64, c.bytes, \
      "memory of today: of a class its pages, of the whole cache its limit in whole pages") \
    X(used_bytes, gauge, bytes, U64, c.used_bytes, "memory of the pages that classes have") \
    X(reads, gauge, reads, U64, c.reads, \
      "sampled reads that the curve is made from; old ones count less") \
    X(first_reads, gauge, reads, KNOWN, c.first_reads, \
      "sampled reads of keys that were never used before: no memory makes them hits; absent " \
      "while the sample has no room for the keys that expired") \
    X(lru_hit_ratio, gauge, ratio, RATIO4, c.now.hit_ratio, \
      "hit ratio under the LRU with this memory; point:BYTES lines give it for other sizes") \
    X(lru_band, gauge, ratio, RATIO4, c.now.band, \
      "half of the band around lru_hit_ratio: 19 of 20 are meant to be true within it; " \
      "band:BYTES lines give it for other sizes")

/* Rows of the whole cache under its own policy, once the sample is large enough: of half the memory
 * from a miniature cache, of more from the curves. */
#define SIZES_STATS(X) \
    X(hit_ratio_x0.5, gauge, ratio, RATIO4, log.made.hit_ratio[PREDICTION_HALF], \
      "hit ratio to expect with half the memory") \
    X(hit_ratio_x1, gauge, ratio, RATIO4, f.hit_ratio_longer, \
      "hit ratio with today's memory, over some five turnovers of the cache, as the others") \
    X(hit_ratio_x2, gauge, ratio, RATIO4, log.made.hit_ratio[PREDICTION_NOW + 1], \
      "hit ratio to expect with twice the memory") \
    X(hit_ratio_x4, gauge, ratio, RATIO4, log.made.hit_ratio[PREDICTION_NOW + 2], \
      "hit ratio to expect with four times the memory") \
    X(hit_ratio_x8, gauge, ratio, RATIO4, log.made.hit_ratio[PREDICTION_NOW + 3], \
      "hit ratio to expect with eight times the memory") \
    X(band_x0.5, gauge, ratio, RATIO4, log.made.band[PREDICTION_HALF], \
      "half of the band around hit_ratio_x0.5: 19 of 20 predictions are meant to come " \
      "true within it") \
    X(band_x2, gauge, ratio, RATIO4, log.made.band[PREDICTION_NOW + 1], \
      "half of the band around hit_ratio_x2") \
    X(band_x4, gauge, ratio, RATIO4, log.made.band[PREDICTION_NOW + 2], \
      "half of the band around hit_ratio_x4") \
    X(band_x8, gauge, ratio, RATIO4, log.made.band[PREDICTION_NOW + 3], \
      "half of the band around hit_ratio_x8")

/* Rows shown for the whole cache only. */
#define CACHE_STATS(X) \
    X(lacks, text, reason, TEXT, log.made.enough ? "nothing" : log.made.lacks, \
      "missing part of the sample, without which there is no hit_ratio_x and no band_x") \
    X(compulsory_ratio, gauge, ratio, COUNTED4, c.compulsory_ratio, \
      "share of all reads that any memory would miss: of new keys, and of keys that had expired; " \
      "of late; absent while the curve has no points") \
    X(predictions, counter, changes, U64, log.came, \
      "predictions of a change of the memory limit or the policy that were compared with the hit " \
      "ratio that came; stats audit has each") \
    X(predictions_within, counter, changes, U64, log.within, \
      "predictions that came true within the band; 19 of 20 are meant to")
/* clang-format on */
#define STATS_PUT_RATE(name, value) text_out_printf(out, "STAT %s %.6f\r\n", name, (double)(value));
#define STATS_PUT_RATIO4(name, value) \
    text_out_printf(out, "STAT %s %.4f\r\n", name, (double)(value));
#define STATS_PUT_COUNTED4(name, value)   \
    if (!isnan(value)) {                  \
        STATS_PUT_RATIO4(name, value)     \
    }
#define STATS_PUT_KNOWN(name, value) \
    if ((value) >= 0) {              \
        STATS_PUT_U64(name, value)   \
    }
#define POLICY_INFO(field, kind, unit, format, value, help) {#field, #kind, #unit, help},
#define POLICY_PUT(field, kind, unit, format, value, help) \
    text_out_printf(out, "STAT %s%s:" #field " " format "\r\n", prefix, p->policy->name, value);

#define RECORD_PUT(field, kind, unit, format, value, help)                                   \
    text_out_printf(out, "STAT %s:" #field " " format "\r\n", p->name, k.small_pct, k.ghost_pct, \
                    k.promote_hits, k.skip_pct, k.readmit_pct);

const struct counter_info stats_whatif_info[] = {
    WHATIF_STATS(STATS_INFO) POLICY_FIELDS(POLICY_INFO)
    RECORD_FIELD(POLICY_INFO){NULL, NULL, NULL, NULL}};
const struct counter_info stats_curve_info[] = {CURVE_STATS(STATS_INFO) CACHE_STATS(
    STATS_INFO) SIZES_STATS(STATS_INFO){NULL, NULL, NULL, NULL}};

static void sample_put_policy(struct text_out *out, const char *prefix,
                              const struct whatif_policy *p) {
    POLICY_FIELDS(POLICY_PUT)
}

static void sample_put_record(struct text_out *out, const struct cache *cache,
                              const struct evict_policy *p) {
    struct evict_s3fifo_knobs k;
    if (evict_same_structure(p, &evict_s3fifo)) {
        cache_s3fifo(cache, &k);
        k = p->record != NULL ? *p->record : k;
        RECORD_FIELD(RECORD_PUT)
    }
}

static bool sample_write_policies(struct command_context *ctx, uint32_t *next, void *state) {
    struct whatif_policy policies[SHADOW_POLICIES_MAX];
    (void)state;
    while (*next <= cache_slab(ctx->server->cache)->class_count) {
        char prefix[24] = "";
        unsigned id = (*next)++,
                 n = whatif_policies(tuner_whatif(ctx->server->tuner), id, policies);
        if (id != SLAB_CLASS_NONE) {
            snprintf(prefix, sizeof prefix, "class:%u:", id);
        }
        for (unsigned i = 0; i < n; i++) {
            sample_put_policy(ctx->out, prefix, &policies[i]);
            if (id == SLAB_CLASS_NONE) {
                sample_put_record(ctx->out, ctx->server->cache, policies[i].policy);
            }
        }
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    return false;
}

void stats_whatif(struct command_context *ctx) {
    struct text_out *out = ctx->out;
    struct whatif_facts f;
    whatif_facts(tuner_whatif(ctx->server->tuner), &f);
    WHATIF_STATS(STATS_PUT)
    command_answer_pieces(ctx, sample_write_policies, SLAB_CLASS_NONE, NULL, 0);
}

/* --- stats curve [class] --- */

void stats_curve(struct command_context *ctx, const struct words *w) {
    struct whatif *whatif = tuner_whatif(ctx->server->tuner);
    struct text_out *out = ctx->out;
    unsigned most = cache_slab(ctx->server->cache)->class_count;
    uint32_t class_id = SLAB_CLASS_NONE;
    struct whatif_curve c;
    struct whatif_facts f;
    struct prediction_log log;
    if (w->count > 3) {
        text_out_str(out, "CLIENT_ERROR usage: stats curve [class]\r\n");
        return;
    }
    if (w->count == 3 && (!word_u32(&w->word[2], &class_id) || class_id < 1 || class_id > most)) {
        text_out_printf(out, "CLIENT_ERROR class must be from 1 to %u\r\n", most);
        return;
    }
    bool known = whatif_curve(whatif, class_id, &c);
    whatif_facts(whatif, &f);
    whatif_predictions(whatif, &log);
    CURVE_STATS(STATS_PUT)
    if (class_id == SLAB_CLASS_NONE) {
        CACHE_STATS(STATS_PUT)
    }
    if (known && class_id == SLAB_CLASS_NONE && log.made.enough) {
        SIZES_STATS(STATS_PUT)
    }
    for (unsigned i = 0; known && i < WHATIF_POINTS; i++) {
        const struct whatif_point *p = &c.points[i];
        text_out_printf(out, "STAT point:%" PRIu64 " %.4f\r\nSTAT band:%" PRIu64 " %.4f\r\n",
                        p->bytes, p->hit_ratio, p->bytes, p->band);
    }
    text_out_str(out, "END\r\n");
}

/* --- stats hotkeys [count] --- */

/* The key as it was typed; bytes that do not print, blanks and % as %XX. */
static size_t sample_key_text(char *to, const struct hot_key *k) {
    size_t n = 0;
    for (unsigned i = 0; i < k->key_bytes; i++) {
        bool as_is = k->key[i] > ' ' && k->key[i] <= '~' && k->key[i] != '%';
        n += as_is ? (to[n] = k->key[i], 1) : line_escape(to + n, k->key + i, 1);
    }
    return n;
}

static void sample_put_hot_key(struct text_out *out, unsigned number, const struct hot_key *k) {
    char name[3 * HOT_KEY_BYTES_MAX];
    size_t n = sample_key_text(name, k);
    text_out_printf(out, "STAT %u:key %.*s\r\n", number, (int)n, name);
    const struct hot_figure *r = &k->requests, *b = &k->bytes;
    text_out_printf(out,
                    "STAT %u:requests %" PRIu64 "\r\nSTAT %u:error %" PRIu64
                    "\r\nSTAT %u:doubt %" PRIu64 "\r\n",
                    number, r->count, number, r->error, number, r->doubt);
    text_out_printf(out,
                    "STAT %u:bytes %" PRIu64 "\r\nSTAT %u:bytes_error %" PRIu64
                    "\r\nSTAT %u:bytes_doubt %" PRIu64 "\r\n",
                    number, b->count, number, b->error, number, b->doubt);
}

struct hot_keys_copy {
    uint32_t       count;
    struct hot_key keys[HOT_KEYS];
};

static bool sample_write_hot_keys(struct command_context *ctx, uint32_t *next, void *state) {
    const struct hot_keys_copy *all = state;
    while (*next < all->count) {
        sample_put_hot_key(ctx->out, *next + 1, &all->keys[*next]);
        ++*next;
        if (command_piece_full(ctx)) {
            return true;
        }
    }
    return false;
}

void stats_hotkeys(struct command_context *ctx, const struct words *w) {
    struct hot_keys_copy all;
    struct hot_totals totals;
    uint32_t most = HOT_SHOWN;
    if (!ctx->server->at_start.dump_enabled) {
        text_out_str(ctx->out, "CLIENT_ERROR stats hotkeys not allowed\r\n");
        return;
    }
    if (w->count > 3 ||
        (w->count == 3 && (!word_u32(&w->word[2], &most) || most < 1 || most > HOT_KEYS))) {
        text_out_printf(ctx->out, "CLIENT_ERROR usage: stats hotkeys [count], from 1 to %d\r\n",
                        HOT_KEYS);
        return;
    }
    all.count =
        whatif_hot(tuner_whatif(ctx->server->tuner), clock_mono_us(), &totals, all.keys, most);
    text_out_printf(ctx->out,
                    "STAT requests %" PRIu64 "\r\nSTAT noted %" PRIu64 "\r\nSTAT bytes %" PRIu64
                    "\r\nSTAT seconds %.3f\r\n",
                    totals.requests, totals.noted, totals.bytes,
                    (double)totals.window_us / CLOCK_SECOND_US);
    command_answer_pieces(ctx, sample_write_hot_keys, 0, &all, sizeof all);
}
