/* SPDX-License-Identifier: BSD-3-Clause */
#include "world.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/key.h"
#include "dist.h"
#include "popularity.h"
#include "simulate/simulate_sizes.h"
#include "simulate/trace.h"

enum {
    /* The time of a request at full speed: a get and its fill, a set alone, and 1000 bytes of either, for one worker with a
     * core, and a client with another: 100,000 sets of 1 kB take 0.2 s, 10,000 of 10 kB 0.1 s. */
    GET_NS = 5000,
    SET_NS = 1000,
    KB_NS = 1000,
    /* The time of a page move, and of each live item in the page: 500 pages a second of 5,461 items each, as measured
     * (tests/bench/memory, latency). */
    PAGE_NS = 300 * 1000,
    ITEM_NS = 300,
    TURN_REQUESTS = 32,
    TEND_NS = 250 * 1000, /* how often the tuner checks for due tasks */
    SECOND_NS = 1000 * 1000 * 1000,
    KEY_BYTES = 32,
};

struct source {
    const struct stream *stream;
    struct dist          sizes;
    struct chooser       chooser;
    uint64_t             next; /* new key */
};

struct world {
    const struct load  *load;
    const struct phase *phase;
    struct side         side;
    struct rng          random;
    struct source       sources[STREAMS_MAX];
    unsigned            source_count;
    char               *zeroes;
    uint32_t            value_max;
    uint64_t            now_ns, tend_ns, requests;
    int64_t             shown_s;
    uint64_t            moved, looked;          /* counts of the mover, now and at its last reading */
    uint64_t            gets, hits, refused;    /* of counting phases; refused: of all */
    struct second       by_second[SECONDS_MAX]; /* gets and hits of all phases */
    uint64_t            sets[SLAB_CLASSES_MAX]; /* sets of the phase */
    double              least_pages;
};

static const char *trace_path(const char *name) {
    static char path[512];
    const char *folder = getenv("TRACES");
    snprintf(path, sizeof path, "%s/%s.txt.gz", folder != NULL ? folder : "../shared/traces", name);
    return path;
}

bool world_has_traces(const struct load *load) {
    for (const struct phase *p = load->phases; p < load->phases + PHASES_MAX; p++) {
        if (p->requests > 0 && p->trace != NULL && access(trace_path(p->trace), R_OK) != 0) {
            return false;
        }
    }
    return true;
}

/* --- time --- */

static void show_time(struct world *w, uint64_t at_ns) {
    int64_t at_s = (int64_t)(at_ns / SECOND_NS);
    if (at_s != w->shown_s) {
        clock_shift(at_s - w->shown_s);
        w->shown_s = at_s;
    }
}

/* The mover's work is done at once; its time passes before the tuner runs again. */
static void tend(struct world *w) {
    struct tuner_facts f;
    show_time(w, w->now_ns);
    side_tend(&w->side, w->now_ns / 1000);
    tuner_facts(w->side.tuner, &f);
    uint64_t looked = f.moved.did.rescued + f.moved.did.chunks_rescued + f.moved.did.expired + f.moved.did.evicted;
    w->tend_ns = w->now_ns + TEND_NS + (f.moved.pages - w->moved) * PAGE_NS +
                 (looked - w->looked) * ITEM_NS;
    w->moved = f.moved.pages;
    w->looked = looked;
}

static void spend(struct world *w, bool stores, uint32_t value_bytes) {
    uint64_t busy_ns = (stores ? SET_NS : GET_NS) + (uint64_t)value_bytes * KB_NS / 1000;
    w->now_ns += w->phase->rate > 0 ? (uint64_t)(SECOND_NS / w->phase->rate) : busy_ns;
    if (++w->requests % TURN_REQUESTS == 0 || w->now_ns >= w->tend_ns + TEND_NS) {
        cache_turn_end(w->side.ct);
        if (w->now_ns >= w->tend_ns) {
            tend(w);
        }
        cache_turn_begin(w->side.ct);
    }
}

/* --- requests --- */

static void store(struct world *w, const struct key *key, uint32_t value_bytes) {
    struct cache_view view;
    const struct cache_store set = {
        .mode = CACHE_SET, .value = w->zeroes, .value_bytes = value_bytes};
    if (cache_store(w->side.ct, key, &set, &view) == CACHE_OK) {
        w->sets[view.class_id]++;
    } else {
        w->refused++;
    }
}

static void get(struct world *w, const struct key *key, uint32_t value_bytes) {
    struct cache_view view;
    const struct cache_fetch fetch = {.want_value = false};
    bool hit = cache_fetch(w->side.ct, key, &fetch, NULL, &view) == CACHE_OK;
    if (!hit) {
        store(w, key, value_bytes);
    }
    w->gets += w->phase->counts;
    w->hits += hit && w->phase->counts;
    if (w->now_ns / SECOND_NS < SECONDS_MAX) {
        struct second *s = &w->by_second[w->now_ns / SECOND_NS];
        s->gets++;
        s->hits += hit;
    }
}

static void serve(struct world *w, const struct key *key, bool stores, uint32_t value_bytes) {
    value_bytes = value_bytes < w->value_max ? value_bytes : w->value_max;
    if (stores) {
        store(w, key, value_bytes);
    } else {
        get(w, key, value_bytes);
    }
    spend(w, stores, value_bytes);
}

/* --- phases --- */

static struct source *source_of(struct world *w, const struct stream *s) {
    for (unsigned i = 0; i < w->source_count; i++) {
        if (strcmp(w->sources[i].stream->name, s->name) == 0) {
            return &w->sources[i];
        }
    }
    struct source *source = &w->sources[w->source_count++];
    struct popularity popularity = {0};
    source->stream = s;
    if (!dist_parse(s->sizes, &source->sizes) ||
        (s->popularity != NULL && !popularity_parse(s->popularity, &popularity))) {
        fprintf(stderr, "policies: %s has a stream that is none: %s\n", w->load->name, s->name);
        exit(EXIT_FAILURE);
    }
    chooser_init(&source->chooser, &popularity, s->keys);
    return source;
}

static const struct stream *draw_stream(struct world *w, double shares) {
    double at = rng_unit(&w->random) * shares;
    const struct stream *s = w->phase->streams;
    while (s + 1 < w->phase->streams + STREAMS_MAX && s[1].name != NULL && at >= s->share) {
        at -= s->share;
        s++;
    }
    return s;
}

static void play_streams(struct world *w) {
    double shares = 0;
    for (unsigned i = 0; i < STREAMS_MAX; i++) {
        shares += w->phase->streams[i].share;
    }
    for (uint64_t n = 0; n < w->phase->requests; n++) {
        const struct stream *s = draw_stream(w, shares);
        struct source *source = source_of(w, s);
        uint64_t number = s->popularity == NULL
                              ? source->next++
                              : chooser_draw(&source->chooser, &w->random);
        char text[KEY_BYTES];
        int bytes = snprintf(text, sizeof text, "policies-%s-%09" PRIu64, s->name, number);
        struct key key = key_make(text, (size_t)bytes);
        struct rng of_key = rng_from(key.hash);
        uint64_t value_bytes = dist_draw_within(&source->sizes, &of_key, 1, w->value_max);
        serve(w, &key, s->stores, (uint32_t)value_bytes);
    }
}

static bool play_trace(struct world *w) {
    const struct phase *p = w->phase;
    struct simulate_sizes sizes;
    struct trace_request q;
    char why[TRACE_WHY_BYTES] = "its sizes are none";
    struct trace *t =
        simulate_sizes_parse(p->values, &sizes) ? trace_open(trace_path(p->trace), why) : NULL;
    if (t == NULL) {
        fprintf(stderr, "policies: %s\n", why);
        return false;
    }
    sizes.scale = p->scale;
    for (uint64_t n = 0; n < p->requests && trace_next(t, &q) == TRACE_REQUEST; n++) {
        struct key key = key_make(q.key, q.key_bytes);
        int64_t given_bytes = q.has_size ? (int64_t)q.value_bytes : -1;
        serve(w, &key, false, simulate_sizes_of(&sizes, key.hash, given_bytes));
    }
    trace_close(&t);
    return true;
}

/* --- results --- */

static void pages_of(struct world *w, uint32_t pages[SLAB_CLASSES_MAX]) {
    const struct slab *slab = cache_slab(w->side.cache);
    memset(pages, 0, SLAB_CLASSES_MAX * sizeof *pages);
    for (unsigned i = 1; i <= slab->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(slab, i, &f);
        pages[i] = f.pages - f.draining;
    }
}

static void note_pages(struct world *w, const uint32_t pages[SLAB_CLASSES_MAX]) {
    unsigned most = 0;
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        most = w->sets[i] > w->sets[most] ? i : most;
    }
    w->least_pages = pages[most] < w->least_pages ? pages[most] : w->least_pages;
}

static double in_use(struct world *w) {
    struct class_set all = class_set_first(cache_slab(w->side.cache)->class_count);
    static struct cache_class_facts facts[SLAB_CLASSES_MAX];
    double free_bytes = 0;
    cache_classes_facts(w->side.cache, &all, facts);
    for (unsigned i = 1; i <= cache_slab(w->side.cache)->class_count; i++) {
        double chunks = (double)facts[i].slab.free_chunks + (double)facts[i].magazine_chunks;
        free_bytes += chunks * facts[i].slab.chunk_bytes;
    }
    return 100 * (1 - free_bytes / (LOAD_MEBIBYTES * 1048576.0));
}

static double figure(struct world *w) {
    switch (w->load->figure) {
    case FIGURE_HITS: return w->gets > 0 ? 100.0 * (double)w->hits / (double)w->gets : 0;
    case FIGURE_PAGES: return w->least_pages;
    case FIGURE_IN_USE: return in_use(w);
    }
    return 0;
}

static bool play_phase(struct world *w, const struct phase *phase, struct outcome *out) {
    uint32_t before[SLAB_CLASSES_MAX], after[SLAB_CLASSES_MAX];
    uint64_t moved = w->moved, gained = 0;
    bool played = true;
    w->phase = phase;
    memset(w->sets, 0, sizeof w->sets);
    pages_of(w, before);
    cache_turn_begin(w->side.ct);
    if (phase->trace != NULL) {
        played = play_trace(w);
    } else {
        play_streams(w);
    }
    cache_turn_end(w->side.ct);
    pages_of(w, after);
    if (phase->counts) {
        note_pages(w, after);
        for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
            gained += after[i] > before[i] ? after[i] - before[i] : 0;
        }
        out->to_and_fro += w->moved - moved > gained ? w->moved - moved - gained : 0;
    }
    return played;
}

static void *take(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "policies: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static void tell(struct world *w, struct outcome *out) {
    struct cache_facts facts;
    struct tuner_facts tuned;
    struct geometry_facts sizes;
    uint64_t seconds = w->now_ns / SECOND_NS;
    cache_facts(w->side.cache, &facts);
    tuner_facts(w->side.tuner, &tuned);
    tuner_geometry(w->side.tuner, &sizes);
    out->figure = figure(w);
    out->changes = sizes.generation;
    out->seconds = seconds < SECONDS_MAX ? (unsigned)seconds : SECONDS_MAX;
    memcpy(out->by_second, w->by_second, sizeof out->by_second);
    out->moves = tuned.moved.pages;
    out->lost = tuned.moved.did.evicted;
    out->stolen = facts.counters.page_steals;
    out->refused = w->refused;
}

bool world_play(const struct play *play, struct outcome *out) {
    const struct load *load = play->load;
    key_hash_seed(play->seed);
    struct world *w = take(sizeof *w);
    w->load = load;
    w->random = rng_from(play->seed);
    w->least_pages = LOAD_MEBIBYTES;
    w->side = side_make(LOAD_MEBIBYTES, evict_find("s3fifo"), 0, play->fits_sizes);
    w->value_max = (uint32_t)cache_item_bytes_max(w->side.cache) - 1024;
    w->zeroes = take(w->value_max);
    tuner_set_automove(w->side.tuner, play->mode);
    *out = (struct outcome){0};
    bool played = true;
    for (unsigned round = 0; round == 0 || round < load->rounds; round++) {
        for (unsigned i = 0; played && i < PHASES_MAX && load->phases[i].requests > 0; i++) {
            played = play_phase(w, &load->phases[i], out);
        }
    }
    tell(w, out);
    show_time(w, 0);
    side_end(&w->side);
    free(w->zeroes);
    free(w);
    return played;
}
