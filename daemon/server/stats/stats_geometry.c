/* stats geometry: the change of chunk sizes in progress, with its old and new classes. */
#include <inttypes.h>

#include "server/stats/stats.h"

struct geometry_stats {
    struct geometry_facts facts;
    const char           *state, *follows;
    uint32_t              pages_old, pages_new; /* pages of retired classes, and of active ones */
    unsigned              classes_old, classes_new;
};

/* clang-format off */
#define GEOMETRY_STATS(X) \
    X(state, text, name, TEXT, s->state, \
      "steady: no change is under way; draining: one is; paused: it rests; starting: items of a " \
      "process before were taken over, and whether a change goes on is not known yet") \
    X(why, text, reason, TEXT, s->facts.why, "what the change does, or why it waits") \
    X(generation, counter, changes, U64, s->facts.generation, "changes begun since the start") \
    X(classes, gauge, classes, U64, s->classes_new, "classes that take new items") \
    X(classes_retired, gauge, classes, U64, s->classes_old, \
      "retired classes, which are being emptied") \
    X(classes_wanted, gauge, classes, U64, s->facts.to.count, \
      "classes that there will be when the change is complete") \
    X(ranges, gauge, ranges, U64, s->facts.ranges, \
      "ranges of sizes that the change converts, one after the other") \
    X(ranges_done, gauge, ranges, U64, s->facts.ranges_done, \
      "ranges of sizes that are converted or under way") \
    X(pages_old, gauge, pages, U64, s->pages_old, "pages of retired classes") \
    X(pages_new, gauge, pages, U64, s->pages_new, "pages of classes that take new items") \
    X(pages_held, gauge, pages, U64, s->facts.pages_held, \
      "pages of no class, kept for one that runs out; the pool counts them") \
    X(pages_drained, gauge, pages, U64, s->facts.pages_drained, \
      "pages that this change has emptied") \
    X(pages_in_use, gauge, pages, U64, s->facts.pages_in_use, \
      "times that a page was passed over or put back because something in it was in use") \
    X(items_copied, gauge, items, U64, s->facts.did.rescued, "items that this change has copied") \
    X(chunks_copied, gauge, chunks, U64, s->facts.did.chunks_rescued, \
      "pieces of large values that this change has copied") \
    X(items_dropped, gauge, items, U64, s->facts.did.evicted, \
      "live items that this change has evicted to make room") \
    X(items_expired, gauge, items, U64, s->facts.did.expired, \
      "expired items that this change has freed") \
    X(waste_before, gauge, percent, RATIO, s->facts.waste_before_pct, \
      "share of the memory of items that ends of chunks and pages wasted before the change") \
    X(waste_predicted, gauge, percent, RATIO, s->facts.waste_predicted_pct, \
      "share that the wanted sizes are predicted to waste for the same items") \
    X(waste_now, gauge, percent, RATIO, s->facts.waste_now_pct, \
      "share that was wasted when last measured: at the latest step, at the end, or in the last " \
      "minute") \
    X(items_before, gauge, items, U64, s->facts.items_before, \
      "items that all pages hold with the old sizes, if they are like those before the change") \
    X(items_predicted, gauge, items, U64, s->facts.items_predicted, \
      "items that all pages are predicted to hold with the wanted sizes, if they are like those " \
      "before the change") \
    X(auto, text, state, TEXT, s->follows, \
      "yes: slab_geometry_auto fits the sizes again when other items come; no: it is off") \
    X(auto_gain, gauge, percent, RATIO, s->facts.auto_gain_pct, \
      "how many more items sizes fitted anew would hold, predicted each minute while no change " \
      "is under way") \
    X(seconds, gauge, seconds, RATIO, s->facts.seconds, \
      "time that the change has taken so far, without pauses")

#define GEOMETRY_CLASS_STATS(X) \
    X(chunk_size, gauge, bytes, "%u", f->chunk_bytes, "bytes of a chunk of the class") \
    X(class_state, text, name, "%s", f->retired ? "retired" : "active", \
      "active: the class takes new items; retired: its size is not wanted any more") \
    X(total_pages, gauge, pages, "%u", f->pages, "pages of the class")
/* clang-format on */

const struct counter_info stats_geometry_info[] = {
    GEOMETRY_STATS(STATS_INFO) GEOMETRY_CLASS_STATS(STATS_INFO){NULL, NULL, NULL, NULL}};

#define PUT_CLASS(name, kind, unit, format, value, help) \
    text_out_printf(out, "STAT %u:" #name " " format "\r\n", id, value);

static void geometry_put_class(struct text_out *out, unsigned id,
                               const struct slab_class_facts *f) {
    GEOMETRY_CLASS_STATS(PUT_CLASS)
}

void stats_geometry(struct command_context *ctx) {
    static const char *const states[] = {[GEOMETRY_STEADY] = "steady",
                                         [GEOMETRY_DRAINING] = "draining",
                                         [GEOMETRY_PAUSED] = "paused",
                                         [GEOMETRY_STARTING] = "starting"};
    struct text_out *out = ctx->out;
    const struct slab *slab = cache_slab(ctx->server->cache);
    struct slab_class_facts facts[SLAB_CLASSES_MAX];
    struct geometry_stats here = {.pages_old = 0}, *const s = &here;
    /* the other stores have a single class, which is not shown */
    unsigned count =
        cache_store_kind(ctx->server->cache) == CACHE_STORE_SLAB ? slab->class_count : 0;
    struct settings settings;
    tuner_geometry(ctx->server->tuner, &s->facts);
    s->state = states[s->facts.state];
    server_settings(ctx->server, &settings);
    s->follows = settings.slab_geometry_auto ? "yes" : "no";
    for (unsigned id = 1; id <= count; id++) {
        slab_facts(slab, id, &facts[id]);
        bool active = slab_class_state(slab, id) == SLAB_CLASS_ACTIVE;
        s->classes_old += facts[id].retired;
        s->classes_new += active;
        s->pages_old += facts[id].retired ? facts[id].pages : 0;
        s->pages_new += active ? facts[id].pages : 0;
    }
    GEOMETRY_STATS(STATS_PUT)
    for (unsigned id = 1; id <= count; id++) {
        if (slab_class_state(slab, id) != SLAB_CLASS_UNUSED) {
            geometry_put_class(out, id, &facts[id]);
        }
    }
}
