/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What moves of pages bring, in time that is reckoned: two caches are played the same requests, and
 * pages move in one of them only. So the move alone is measured: neither what the load would have
 * done anyway nor the chance of which requests came counts. Then the other moves them too, and the
 * next move is drawn by lot.
 *
 *     build/bench/moves-twins SEED MOVES LOAD
 *
 * Prints lines of JSON, as tests/bench/moves/reckoned reads them: snapshots a second apart; before a
 * move { src, dst, pages, curves, before }; after it { after }, with the reads and the hits of both
 * caches in each of the seconds that followed. before: the same of the last ten, for they may
 * differ already by a while. Of 0 moves: the snapshots of ten minutes. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/key.h"
#include "dist.h"
#include "popularity.h"
#include "side.h"
#include "tune/snapshot.h"
#include "tune/state.h"

enum {
    STREAMS_MAX = 4,
    TURN_REQUESTS = 32,
    TEND_US = 20000, /* the tuner looks whether something is due */
    KEY_BYTES = 32,
    WARM_S = 60,   /* before the first move, after the fill */
    MOVE_STEPS = 1000,
    BEFORE_S = 20, /* between moves, beside the time after one: predictions rest on ten seconds */
    LATELY_S = 10,
    AFTER_S = 30,
    STEADY_S = 600,
};

struct stream {
    const char *name; /* the first letters of its keys; NULL: no stream */
    const char *sizes, *popularity;
    uint64_t    keys;
    double      rate; /* requests a second */
    double      reads; /* the share of them that are gets, each with a set after a miss */
};

struct load {
    const char   *name;
    double        mebibytes;
    struct stream fill; /* each of its keys is set once before */
    struct stream streams[STREAMS_MAX];
};

static const struct load loads[] = {
    {"etc", 64, {0}, {{"e", "etc", "zipf:0.99", 1000000, 15000, 0.968}}},
    {"sizes", 48, {0}, {{"a", "u80,200", "zipf:0.9", 400000, 8000, 1},
                        {"b", "u900,1100", "zipf:0.9", 60000, 4000, 1}}},
    {"shift", 64, {"old", "u40,200", NULL, 600000, 0, 0},
     {{"n", "u1000,1800", "zipf:0.9", 60000, 8000, 1}}},
    {"alike", 64, {0}, {{"1", "l110,0.1", "zipf:0.8", 150000, 5000, 1},
                        {"2", "l380,0.1", "zipf:0.8", 50000, 5000, 1},
                        {"3", "l1500,0.1", "zipf:0.8", 13300, 5000, 1},
                        {"4", "l6000,0.1", "zipf:0.8", 3300, 5000, 1}}},
    {"twitter", 32, {0}, {{"t", "l116,1", "zipf:1.2", 1000000, 10000, 0.7}}},
    {"spread", 48, {0}, {{"s", "l300,0.8", "zipf:0.9", 300000, 6000, 0.9},
                         {"u", "u2000,4000", "uniform", 12000, 2000, 1}}},
    {"late", 48, {"old", "u300,500", NULL, 150000, 0, 0},
     {{"s", "u80,120", "zipf:0.8", 300000, 6000, 1}, {"m", "u5000,7000", "zipf:1", 8000, 2000, 1}}},
    {NULL},
};

struct source {
    const struct stream *stream;
    struct dist          sizes;
    struct chooser       chooser;
};

struct twins {
    const struct load *load;
    struct side        stays, moves; /* pages move in the second alone, at first */
    struct rng         random;
    struct source      sources[STREAMS_MAX + 1];
    char              *zeroes;
    uint32_t           value_max;
    uint64_t           now_us, tend_us;
    uint64_t           evicted[SLAB_CLASSES_MAX]; /* as of BEFORE_S before a move */
};

static void take(struct twins *t, struct snapshot *s) {
    static const struct class_set none;
    snapshot_take(t->moves.cache, &none, s);
}

/* --- what is told --- */

static void tell_field(void *first, const char *name, uint64_t value) {
    printf("%s\"%s\":%" PRIu64, *(bool *)first ? "" : ",", name, value);
    *(bool *)first = false;
}

static void tell_snapshot(struct twins *t) {
    static struct snapshot s;
    struct cache_facts facts;
    uint64_t hits, misses, evicted = 0, stored = 0;
    bool is_first_class = true;
    take(t, &s);
    cache_facts(t->moves.cache, &facts);
    cache_reads(t->moves.cache, &hits, &misses);
    for (unsigned id = 1; id <= s.class_count; id++) {
        evicted += s.classes[id].evicted;
        stored += s.classes[id].cmd_set;
    }
    printf("{\"schema\":\"slate/snapshot/1\",\"time_s\":%" PRIu64 ",\"server\":\"twin\","
           "\"slated\":\"0\",\"pages_limit\":%" PRIu32 ",\"pages_free\":%" PRIu32
           ",\"general\":{\"pid\":1,\"uptime\":%" PRIu64 ",\"cmd_get\":%" PRIu64
           ",\"get_hits\":%" PRIu64 ",\"get_misses\":%" PRIu64 ",\"cmd_set\":%" PRIu64
           ",\"evictions\":%" PRIu64 ",\"curr_items\":%" PRIu64 ",\"limit_maxbytes\":%zu},"
           "\"settings\":{\"slab_automove\":0},\"classes\":[",
           t->now_us / 1000000, s.pages_limit, s.pages_free, t->now_us / 1000000, hits + misses,
           hits, misses, stored, evicted, facts.items, facts.limit_bytes);
    for (unsigned id = 1; id <= s.class_count; id++) {
        if (snapshot_class_listed(&s.classes[id])) {
            bool is_first = true;
            printf("%s{", is_first_class ? "" : ",");
            snapshot_class_each(&s.classes[id], id, tell_field, &is_first);
            printf("}");
            is_first_class = false;
        }
    }
    printf("]}\n");
}

/* Of a class, or of the whole cache: SLAB_CLASS_NONE, which is 0. */
static void tell_curve(struct twins *t, unsigned id, bool *first) {
    struct whatif_curve c;
    if (!whatif_curve(tuner_whatif(t->moves.tuner), id, &c)) {
        return;
    }
    printf("%s\"%u\":{\"reads\":%.0f,\"bytes\":%" PRIu64 ",\"points\":[", *first ? "" : ",",
           id, c.reads, c.bytes);
    for (unsigned i = 0; i < WHATIF_POINTS; i++) {
        printf("%s[%" PRIu64 ",%.4f]", i > 0 ? "," : "", c.points[i].bytes, c.points[i].hit_ratio);
    }
    printf("]}");
    *first = false;
}

/* --- requests --- */

static struct source source_of(const struct load *load, const struct stream *s) {
    struct source source = {.stream = s};
    struct popularity popularity = {0};
    if (!dist_parse(s->sizes, &source.sizes) ||
        (s->popularity != NULL && !popularity_parse(s->popularity, &popularity))) {
        fprintf(stderr, "twins: %s has a stream that is none: %s\n", load->name, s->name);
        exit(EXIT_FAILURE);
    }
    chooser_init(&source.chooser, &popularity, s->keys);
    return source;
}

static void serve_one(struct twins *t, struct side *s, const struct key *key, bool reads,
                      uint32_t value_bytes) {
    const struct cache_fetch fetch = {.want_value = false};
    const struct cache_store set = {
        .mode = CACHE_SET, .value = t->zeroes, .value_bytes = value_bytes};
    struct cache_view view;
    if (!reads || cache_fetch(s->ct, key, &fetch, NULL, &view) != CACHE_OK) {
        cache_store(s->ct, key, &set, &view);
    }
}

static void serve(struct twins *t, struct source *from, uint64_t number, bool reads) {
    char text[KEY_BYTES];
    int bytes = snprintf(text, sizeof text, "%s-%09" PRIu64, from->stream->name, number);
    struct key key = key_make(text, (size_t)bytes);
    struct rng of_key = rng_from(key.hash);
    uint32_t value_bytes = (uint32_t)dist_draw_within(&from->sizes, &of_key, 1, t->value_max);
    serve_one(t, &t->stays, &key, reads, value_bytes);
    serve_one(t, &t->moves, &key, reads, value_bytes);
}

static struct source *draw_source(struct twins *t, double rate) {
    double at = rng_unit(&t->random) * rate;
    struct source *s = t->sources;
    while (s[1].stream != NULL && at >= s->stream->rate) {
        at -= s++->stream->rate;
    }
    return s;
}

static void turn_end(struct twins *t) {
    cache_turn_end(t->stays.ct);
    cache_turn_end(t->moves.ct);
    if (t->now_us >= t->tend_us) {
        side_tend(&t->stays, t->now_us);
        side_tend(&t->moves, t->now_us);
        t->tend_us = t->now_us + TEND_US;
    }
}

static void turn_begin(struct twins *t) {
    cache_turn_begin(t->stays.ct);
    cache_turn_begin(t->moves.ct);
}

static void play_second(struct twins *t) {
    double rate = 0;
    for (const struct source *s = t->sources; s->stream != NULL; s++) {
        rate += s->stream->rate;
    }
    uint64_t begun_us = t->now_us, requests = (uint64_t)rate;
    turn_begin(t);
    for (uint64_t n = 1; n <= requests; n++) {
        struct source *from = draw_source(t, rate);
        uint64_t number = chooser_draw(&from->chooser, &t->random);
        serve(t, from, number, rng_unit(&t->random) < from->stream->reads);
        t->now_us = begun_us + n * 1000000 / requests;
        if (n % TURN_REQUESTS == 0) {
            turn_end(t);
            turn_begin(t);
        }
    }
    turn_end(t);
    clock_shift(1);
}

static void fill(struct twins *t) {
    const struct stream *s = &t->load->fill;
    if (s->name == NULL) {
        return;
    }
    struct source from = source_of(t->load, s);
    for (uint64_t n = 0; n < s->keys; n++) {
        turn_begin(t);
        serve(t, &from, n, false);
        turn_end(t);
    }
}

/* --- moves --- */

static uint32_t draw_of(struct twins *t, unsigned n) {
    return (uint32_t)(rng_unit(&t->random) * n);
}

static void note_evictions(struct twins *t) {
    static struct snapshot s;
    take(t, &s);
    for (unsigned id = 1; id <= s.class_count; id++) {
        t->evicted[id] = s.classes[id].evicted;
    }
}

/* A giver with more pages and a getter that evicted since note_evictions. False: none. */
static bool draw_move(struct twins *t, unsigned pages, unsigned *src, unsigned *dst) {
    static struct snapshot s;
    unsigned givers[SLAB_CLASSES_MAX], getters[SLAB_CLASSES_MAX], n = 0, m = 0;
    take(t, &s);
    for (unsigned id = 1; id <= s.class_count; id++) {
        if (s.classes[id].evicted > t->evicted[id]) {
            getters[m++] = id;
        }
    }
    if (m == 0) {
        return false;
    }
    *dst = getters[draw_of(t, m)];
    for (unsigned id = 1; id <= s.class_count; id++) {
        if (id != *dst && s.classes[id].pages > pages) {
            givers[n++] = id;
        }
    }
    *src = n > 0 ? givers[draw_of(t, n)] : 0;
    return n > 0;
}

static unsigned moved_by(struct side *s) {
    struct tune_facts facts;
    tuner_facts(s->tuner, &facts);
    return (unsigned)facts.moved.pages;
}

static void move(struct side *s, unsigned src, unsigned dst, unsigned pages) {
    unsigned before = moved_by(s);
    if (tuner_reassign(s->tuner, (int)src, (int)dst, pages) != TUNE_OK) {
        return;
    }
    for (unsigned i = 0; i < MOVE_STEPS && moved_by(s) - before < pages; i++) {
        tuner_tend_pages(s->tuner, tuner_now_us(s->tuner));
    }
}

static uint64_t hits_of(const struct side *s, uint64_t *reads) {
    uint64_t hits, misses;
    cache_reads(s->cache, &hits, &misses);
    *reads = hits + misses;
    return hits;
}

/* Reads, and the hits of both. */
struct counted {
    uint64_t reads, stays, moves;
};

static struct counted count(struct twins *t) {
    struct counted c;
    c.stays = hits_of(&t->stays, &c.reads);
    c.moves = hits_of(&t->moves, &c.reads);
    return c;
}

static struct counted tell_since(struct twins *t, struct counted was) {
    struct counted now = count(t);
    printf("[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", now.reads - was.reads, now.stays - was.stays,
           now.moves - was.moves);
    return now;
}

static void tell_after(struct twins *t) {
    struct counted was = count(t);
    printf("{\"after\":");
    for (unsigned i = 0; i < AFTER_S; i++) {
        play_second(t);
        printf("%c", i == 0 ? '[' : ',');
        was = tell_since(t, was);
    }
    printf("]}\n");
}

static void play_told(struct twins *t, unsigned seconds) {
    for (unsigned i = 0; i < seconds; i++) {
        play_second(t);
        tell_snapshot(t);
    }
}

static void one_move(struct twins *t, unsigned pages) {
    unsigned src, dst;
    bool first = true;
    note_evictions(t);
    play_told(t, BEFORE_S - LATELY_S);
    struct counted was = count(t);
    play_told(t, LATELY_S);
    if (!draw_move(t, pages, &src, &dst)) {
        return;
    }
    printf("{\"src\":%u,\"dst\":%u,\"pages\":%u,\"curves\":{", src, dst, pages);
    tell_curve(t, SLAB_CLASS_NONE, &first);
    tell_curve(t, src, &first);
    tell_curve(t, dst, &first);
    printf("},\"before\":");
    tell_since(t, was);
    printf("}\n");
    move(&t->moves, src, dst, pages);
    tell_after(t);
    move(&t->stays, src, dst, pages);
}

static struct twins *twins_make(const struct load *load, uint64_t seed) {
    struct twins *t = calloc(1, sizeof *t);
    static struct settings defaults;
    settings_init(&defaults);
    if (t == NULL) {
        exit(EXIT_FAILURE);
    }
    t->load = load;
    t->random = rng_from(seed);
    for (unsigned i = 0; i < STREAMS_MAX && load->streams[i].name != NULL; i++) {
        t->sources[i] = source_of(load, &load->streams[i]);
    }
    t->stays = side_make(load->mebibytes, evict_find("s3fifo"), 0, false, false);
    t->moves = side_make(load->mebibytes, evict_find("s3fifo"), defaults.sample_rate, false, false);
    tuner_set_automove(t->stays.tuner, "off");
    tuner_set_automove(t->moves.tuner, "off");
    t->value_max = (uint32_t)cache_item_bytes_max(t->stays.cache) - 1024;
    t->zeroes = calloc(1, t->value_max);
    if (t->zeroes == NULL) {
        exit(EXIT_FAILURE);
    }
    return t;
}

int main(int argc, char **argv) {
    const struct load *load = loads;
    while (argc == 4 && load->name != NULL && strcmp(load->name, argv[3]) != 0) {
        load++;
    }
    if (argc != 4 || load->name == NULL) {
        fprintf(stderr, "usage: moves-twins SEED MOVES LOAD\n");
        return 64;
    }
    uint64_t seed = strtoull(argv[1], NULL, 10);
    unsigned long moves = strtoul(argv[2], NULL, 10);
    key_hash_seed(seed);
    clock_start();
    clock_pause();
    struct twins *t = twins_make(load, seed);
    fill(t);
    for (unsigned i = 0; i < WARM_S; i++) {
        play_second(t);
    }
    play_told(t, moves == 0 ? STEADY_S : 0);
    for (unsigned long i = 0; i < moves; i++) {
        one_move(t, 1u << i % 3); /* 1, 2, 4 in turn */
    }
    side_end(&t->stays);
    side_end(&t->moves);
    free(t->zeroes);
    free(t);
    return EXIT_SUCCESS;
}
