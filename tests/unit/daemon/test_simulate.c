/* The simulator's options, sizes, count of keys and cells. */
#include "tap.h"

#include "base/clock.h"
#include "cache_fixture.h"
#include "simulate/cell.h"
#include "simulate/simulate_options.h"
#include "simulate/trace_format.h"
#include "simulate/trace_recall.h"

/* --- options --- */

static struct simulate_options options;
static char why[SIMULATE_WHY_BYTES];

/* Reads a command line with words between blanks. */
static enum simulate_read read_line(const char *line) {
    static char copy[512];
    char *argv[32] = {copy}, *rest = NULL;
    int argc = 0;
    snprintf(copy, sizeof copy, "slated %s", line);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = word;
    }
    simulate_options_free(&options);
    return simulate_options_read(argc, argv, &options, why);
}

TEST(options_have_defaults) {
    is(read_line("--simulate t.gz"), SIMULATE_RUN, "a trace is enough");
    is_str(options.trace, "t.gz", "it is named");
    ok(options.policy_count == 1 && options.policies[0] == &simulate_s3auto && strcmp(options.settings.policy, simulate_s3auto.name) == 0 &&
           options.size_count == 1 && !options.by_objects && options.sizes[0].memory_bytes == (uint64_t)64 << 20,
       "policy and memory are the server's defaults");
    ok(options.requests_per_s == 10000 && options.values.drawn && options.values.scale == 1, "the clock makes 10000 requests a second, and sizes are drawn");
}

TEST(options_make_a_grid) {
    is(read_line("--simulate=- --policy lru,s3fifo --memory 32,64m,1g --json --rate 50 --scale 0.5 -f 1.5 -o slab_sizes=96-200-1000"),
       SIMULATE_RUN, "lists are read");
    ok(options.policy_count == 2 && options.policies[0] == &evict_lru && options.policies[1] == &evict_s3fifo, "policies in order");
    ok(options.size_count == 3 && options.sizes[0].memory_bytes == 32 << 20 && options.sizes[2].memory_bytes == 1 << 30,
       "three sizes: a plain number is megabytes, as for -m, 1g is more");
    ok(options.settings.factor == 1.5 && strcmp(options.settings.slab_sizes, "96-200-1000") == 0, "the server's settings are read, also those that are texts");
    ok(options.json && options.requests_per_s == 50 && options.values.scale == 0.5, "and the rest");
    ok(read_line("--simulate t --objects 5") == SIMULATE_RUN && options.policies[0] == &evict_s3fifo, "objects alone have the default without samples");
    is(read_line("--simulate t --objects 100,2.5% --policy all"), SIMULATE_RUN, "objects and shares of the keys");
    ok(options.by_objects && options.sizes[0].objects == 100 && options.sizes[1].share == 0.025, "are sizes too");
    unsigned count = options.policy_count, none = 0;
    for (unsigned i = 0; i < count; i++) {
        none += options.policies[i] == &evict_none;
    }
    ok(count >= 10 && none == 0, "all are all that give anything away");
    ok(read_line("--simulate t --policy all,s3auto") == SIMULATE_RUN && options.policy_count == count + 1 && options.policies[count] == &simulate_s3auto,
       "all goes with s3auto, which is none of them");
    ok(read_line("--simulate t -o policy=s3auto") == SIMULATE_RUN && options.policy_count == 1 && options.policies[0] == &simulate_s3auto,
       "where the server has s3auto, it is simulated");
    is(read_line("--simulate t -I 100m --memory 1g"), SIMULATE_RUN, "a limit of items is held against this memory, not the default");
    ok(read_line("--simulate t --automove 1") == SIMULATE_RUN && strcmp(options.automove, "ratio") == 0, "a mode of automove may have a number, it is known by its name");
    ok(read_line("--simulate t -m 128 -o policy=sieve") == SIMULATE_RUN && options.sizes[0].memory_bytes == (uint64_t)128 << 20 && options.policies[0] == &evict_sieve,
       "the server's own options give one cell of that memory and policy");
}

TEST(bad_options_are_refused_with_the_permitted_ones) {
    static const char *const bad[][2] = {
        {"--simulate", "--simulate needs a value: --simulate=TRACE"},
        {"--simulate t --policy lru,quux", "--policy wants all, or some of slru, lru"},
        {"--simulate t --policy lru,lru", "--policy names lru twice"},
        {"--simulate t --policy s3auto --objects 5", "policy s3auto follows miniatures"},
        {"--simulate t --policy s3auto -o sample_rate=0", "policy s3auto follows miniatures"},
        {"--simulate t --automove quux", "--automove wants one of off|ratio|"},
        {"--simulate t --automove ratio --objects 5", "--automove moves pages of slab classes"},
        {"--simulate t --automove ratio --store=heap", "--automove moves pages of slab classes"},
        {"--simulate t --automove lua:quux -o policy_dir=/tmp", "--automove lua:quux: there is no policy quux in /tmp"},
        {"--simulate t --memory 3q", "--memory wants a number of megabytes"},
        {"--simulate t --memory 64m,", "--memory wants a number of megabytes"},
        {"--simulate t --objects 0", "--objects wants a number from 1 to 2147483647"},
        {"--simulate t --objects 1.5", "--objects wants a whole number"},
        {"--simulate t --objects 0%", "--objects wants a number from 0.0001 to 10000"},
        {"--simulate t --objects 5 --memory 64m", "--memory and --objects exclude each other"},
        {"--simulate t --value-bytes many", "--value-bytes wants a number of bytes or lMEDIAN,SIGMA"},
        {"--simulate t --value-bytes l300,1x", "--value-bytes wants"},
        {"--simulate t --scale 0", "--scale wants a number from 1e-06 to 1000000"},
        {"--simulate t --rate 0", "--rate wants a number from 1 to 1000000000"},
        {"--simulate t --json=yes", "--json takes no value"},
        {"--simulate t --quux", "--quux is not an option"},
        {"--simulate t -f 0.5", "-f wants"},
        {"--simulate t --memory 64m -I 40m", "must be at most half of -m"},
        {"--simulate t more", "more is not an option"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(read_line(bad[i][0]) == SIMULATE_BAD && strstr(why, bad[i][1]) != NULL, "%s: %s", bad[i][0], why);
    }
    is(read_line("--simulate --help"), SIMULATE_HELP, "help needs no trace");
    char many[2000] = "--simulate t --objects 1";
    for (unsigned i = 0; i < SIMULATE_GRID_MAX; i++) {
        strcat(many, ",1");
    }
    ok(read_line(many) == SIMULATE_BAD && strstr(why, "at most 64 sizes"), "a grid has its limit: %s", why);
    simulate_options_free(&options);
}

/* --- sizes --- */

TEST(sizes_follow_the_key) {
    struct simulate_sizes s = {.scale = 1};
    ok(simulate_sizes_parse("l300,1", &s), "log-normal sizes are read");
    uint64_t below = 0, again = 0, sigma = 0;
    enum { KEYS = 20000 };
    for (uint64_t i = 0; i < KEYS; i++) {
        uint32_t bytes = simulate_sizes_of(&s, key_hash((char *)&i, sizeof i), -1);
        below += bytes < 300;
        sigma += bytes < 815; /* 300 e */
        again += bytes == simulate_sizes_of(&s, key_hash((char *)&i, sizeof i), -1);
    }
    ok(below > KEYS * 0.49 && below < KEYS * 0.51, "half of the sizes are below the median (%" PRIu64 ")", below);
    ok(sigma > KEYS * 0.831 && sigma < KEYS * 0.851, "and 84 %% below a sigma more (%" PRIu64 ")", sigma);
    is(again, KEYS, "a key keeps its size");
    static const struct { double scale; uint32_t bytes, told; } scaled[] = {{1, 1000, 1000}, {0.1, 1000, 100}, {1e6, 1 << 30, 1 << 30}};
    for (unsigned i = 0; i < 3; i++) {
        s.scale = scaled[i].scale;
        is(simulate_sizes_of(&s, 5, scaled[i].bytes), scaled[i].told, "the trace's own size counts, scaled by %g, to 1 GiB at most", s.scale);
    }
    s.scale = 1;
    ok(simulate_sizes_parse("100", &s) && simulate_sizes_of(&s, 9, -1) == 100, "a fixed size is fixed");
    static const char *const bad[] = {"", "l", "l,", "l300", "l300,", "l0,1", "l300,9", "-1", "2e9", "1x", "0x10", "inf", "nan", "l0x10,1"};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!simulate_sizes_parse(bad[i], &s), "'%s' is no size", bad[i]);
    }
}

/* --- cells --- */

enum { CELL_KEYS = 100, CELL_REQUESTS = 10000 };
static const struct tuner_config at_rest = {.automove = "off", .settings = {.automove_ratio = 0.8, .automove_window_s = 30}, .reassign = true};
static const struct tuner_config follows = {.automove = "off", .reassign = true,
    .settings = {.automove_ratio = 0.8, .automove_window_s = 30, .sample_rate = 1, .sample_follow = true}};
static struct simulate_request requests[CELL_REQUESTS];
static char names[CELL_REQUESTS][64];

static void make_requests(uint64_t keys, uint32_t value_bytes) {
    for (uint64_t i = 0; i < CELL_REQUESTS; i++) {
        requests[i] = (struct simulate_request){.key = fixture_key(names[i], i % keys), .value_bytes = value_bytes,
                                                .fills = true};
    }
}

/* So many requests a second, the first of them after so many others. */
static void set_times(uint64_t before, uint64_t a_second) {
    for (uint64_t i = 0; i < CELL_REQUESTS; i++) {
        requests[i].at_us = (before + i) * 1000000 / a_second;
    }
}

static struct simulate_result play(struct simulate_cell *cell, size_t piece) {
    struct simulate_result r;
    for (size_t i = 0; i < CELL_REQUESTS; i += piece) {
        simulate_cell_play(cell, requests + i, CELL_REQUESTS - i < piece ? CELL_REQUESTS - i : piece);
    }
    simulate_cell_result(cell, &r);
    simulate_cell_destroy(&cell);
    return r;
}

TEST(a_cell_of_objects_holds_so_many) {
    struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 2, 0};
    make_requests(CELL_KEYS, 0);
    struct simulate_result r = play(simulate_cell_objects(&evict_fifo, &tuning, CELL_KEYS), 33);
    ok(r.requests == CELL_REQUESTS && r.hits == CELL_REQUESTS - CELL_KEYS && r.items == CELL_KEYS && r.evictions + r.refused + r.memory_bytes == 0, "a fitting working set misses once, and stays");
    r = play(simulate_cell_objects(&evict_fifo, &tuning, CELL_KEYS - 1), 33);
    ok(r.hits == 0 && r.evictions == CELL_REQUESTS - (CELL_KEYS - 1), "a loop that does not fit misses always in a fifo");
    r = play(simulate_cell_objects(&evict_none, &tuning, CELL_KEYS / 2), 33);
    ok(r.hits == (CELL_REQUESTS / CELL_KEYS - 1) * CELL_KEYS / 2 && r.evictions == 0 &&
           r.refused == CELL_REQUESTS / 2, "a policy that gives nothing away refuses the rest");
}

TEST(a_cell_of_memory_is_the_servers_cache) {
    struct cache_config config = fixture_config(2 << 20);
    simulate_cell_stop_clock();
    make_requests(CELL_KEYS, 1000);
    struct simulate_result r = play(simulate_cell_memory(cache_create(&config), &at_rest), 1024);
    ok(r.hits == CELL_REQUESTS - CELL_KEYS && r.items == CELL_KEYS && r.memory_bytes == 2 << 20, "a fitting working set misses once");
    make_requests(CELL_REQUESTS, 1000);
    r = play(simulate_cell_memory(cache_create(&config), &at_rest), 1024);
    ok(r.hits == 0 && r.evictions > 0 && r.items + r.evictions == CELL_REQUESTS, "items without room are evicted");
    make_requests(2, 100000); /* larger than the copy's buffer */
    r = play(simulate_cell_memory(cache_create(&config), &at_rest), 1024);
    ok(r.hits == CELL_REQUESTS - 2 && r.items == 2, "large values are kept too");
    make_requests(2, 2 << 20);
    r = play(simulate_cell_memory(cache_create(&config), &at_rest), 1024);
    ok(r.hits == 0 && r.refused == CELL_REQUESTS && r.items == 0, "those that are too large are refused and counted");
    ok(simulate_cell_memory(NULL, &at_rest) == NULL, "no cache, no cell");
}

/* A loop larger than the cache gives most hits to a policy that retains its items. */
TEST(s3auto_follows_the_miniatures) {
    struct simulate_result r[2];
    for (unsigned i = 0; i < 2; i++) {
        struct cache_config config = fixture_config(2 << 20);
        config.policy = &evict_s3fifo;
        simulate_cell_stop_clock();
        make_requests(4000, 1000);
        struct simulate_cell *cell = simulate_cell_memory(cache_create(&config), i == 0 ? &follows : &at_rest);
        for (unsigned round = 0; round < 20; round++) {
            set_times(round * 8000, 1000);
            simulate_cell_play(cell, requests, CELL_REQUESTS / 4000 * 4000);
        }
        simulate_cell_result(cell, &r[i]);
        simulate_cell_destroy(&cell);
    }
    ok(strcmp(r[0].policy, "s3auto") == 0 && r[0].changes >= 1 && strcmp(r[0].policy_now, "s3loop") == 0,
       "s3auto leaves a policy that misses more than another (%s now)", r[0].policy_now);
    ok(r[0].hits > r[1].hits, "and hits more for it: %" PRIu64 " to %" PRIu64, r[0].hits, r[1].hits);
    ok(strcmp(r[1].policy, "s3fifo") == 0 && r[1].policy_now == NULL, "a fixed policy stays");
}

/* Half of the trace has small values, the other half larger ones; of each as many keys as fit once the pages have followed. */
static struct simulate_result play_shift(const char *automove) {
    struct tuner_config tune = at_rest;
    tune.automove = automove;
    struct cache_config config = fixture_config(8 << 20);
    simulate_cell_stop_clock();
    struct simulate_cell *cell = simulate_cell_memory(cache_create(&config), &tune);
    make_requests(CELL_REQUESTS, 1000);
    set_times(0, 1000);
    simulate_cell_play(cell, requests, CELL_REQUESTS);
    make_requests(400, 10000);
    for (unsigned round = 0; round < 5; round++) {
        set_times((round + 1) * CELL_REQUESTS, 1000);
        simulate_cell_play(cell, requests, CELL_REQUESTS);
    }
    struct simulate_result r;
    simulate_cell_result(cell, &r);
    simulate_cell_destroy(&cell);
    return r;
}

TEST(pages_move_by_the_traces_clock) {
    struct simulate_result off = play_shift("off"), ratio = play_shift("ratio"), eviction = play_shift("eviction"),
                           again = play_shift("eviction");
    ok(off.pages_moved == 0 && off.lost == 0 && strcmp(off.automove, "off") == 0, "off moves nothing, and is named");
    ok(ratio.pages_moved >= 3 && ratio.hits > off.hits, "ratio moves %" PRIu64 " pages within its minute", ratio.pages_moved);
    ok(eviction.pages_moved >= 3 && eviction.hits > ratio.hits, "eviction moves as memory is needed, and hits more");
    ok(eviction.lost > 0 && eviction.evictions >= eviction.lost, "items lost by moves are among the evictions");
    ok(eviction.hits == again.hits && eviction.pages_moved == again.pages_moved, "the same trace does the same again");
    ok(off.failed[0] == '\0' && ratio.failed[0] == '\0', "nothing failed");
}

TEST(the_clock_is_the_traces) {
    struct cache_config config = fixture_config(2 << 20);
    simulate_cell_stop_clock();
    uint32_t begun_s = clock_now_s();
    make_requests(CELL_KEYS, 10);
    struct simulate_cell *one = simulate_cell_memory(cache_create(&config), &at_rest);
    struct simulate_cell *two = simulate_cell_memory(cache_create(&config), &at_rest);
    set_times(0, 100);
    simulate_cell_play(one, requests, CELL_REQUESTS);
    is(clock_now_s() - begun_s, 99, "10000 requests at 100 a second end in second 99");
    simulate_cell_play(two, requests, 1);
    is(clock_now_s() - begun_s, 0, "another cell has a time of its own");
    set_times(CELL_REQUESTS, 100);
    simulate_cell_play(one, requests, 1);
    is(clock_now_s() - begun_s, 100, "and each goes on where it was");
    simulate_cell_destroy(&one);
    simulate_cell_destroy(&two);
    simulate_cell_stop_clock();
    is(clock_now_s() - begun_s, 0, "a new trace begins anew");
}

/* --- traces with stores, deletes and times --- */

TEST(stores_and_deletes_are_played) {
    struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 2, 0};
    struct cache_config config = fixture_config(2 << 20);
    simulate_cell_stop_clock();
    make_requests(CELL_KEYS, 100);
    for (unsigned i = 0; i < CELL_REQUESTS; i++) { /* each key: set, then get, then delete, then get */
        static const uint8_t verbs[] = {TRACE_SET, TRACE_GET, TRACE_DELETE, TRACE_GET};
        requests[i].verb = verbs[i / CELL_KEYS % 4];
        requests[i].fills = false;
    }
    struct simulate_result r = play(simulate_cell_memory(cache_create(&config), &at_rest), 100);
    ok(r.requests == CELL_REQUESTS / 2 && r.stores == CELL_REQUESTS / 4 && r.deletes == CELL_REQUESTS / 4,
       "only reads are requests; stores and deletes are counted apart");
    is(r.hits, CELL_REQUESTS / 4, "stored keys are hit, deleted ones are not");
    is(r.items, 0, "and where no size is known, nothing is stored after a miss");
    r = play(simulate_cell_objects(&evict_fifo, &tuning, CELL_KEYS), 100);
    ok(r.requests == CELL_REQUESTS / 2 && r.hits == CELL_REQUESTS / 4, "a cell of objects plays them too");
    ok(r.evictions == 0 && r.refused == 0, "and counts no delete as an eviction");
}

TEST(values_live_as_long_as_the_trace_says) {
    struct cache_config config = fixture_config(2 << 20);
    simulate_cell_stop_clock();
    make_requests(10, 100);
    set_times(0, 100); /* for 100 seconds every key is read ten times a second */
    for (unsigned i = 0; i < CELL_REQUESTS; i++) {
        requests[i].ttl_s = i % 10 == 0 ? 5 : 0;
    }
    struct simulate_result r = play(simulate_cell_memory(cache_create(&config), &at_rest), 1024);
    uint64_t misses = r.requests - r.hits;
    ok(misses >= 9 + 15 && misses <= 9 + 21, "a key of five seconds misses as often as these are over (%" PRIu64 ")", misses);
}

TEST(twins_make_a_sample_whole) {
    struct cache_config config = fixture_config(4 << 20);
    simulate_cell_stop_clock();
    make_requests(CELL_KEYS, 1000);
    struct simulate_cell *cell = simulate_cell_memory(cache_create(&config), &at_rest);
    simulate_cell_set_twins(cell, 8);
    struct simulate_result r = play(cell, 1024);
    ok(r.requests == 8 * CELL_REQUESTS && r.items == 8 * CELL_KEYS, "eight keys for each, in their turn");
    is(r.requests - r.hits, 8 * CELL_KEYS, "each misses once");
}

TEST(stored_values_are_recalled) {
    struct simulate_recall *recall = simulate_recall_create();
    struct simulate_value v;
    bool put = true, right = true;
    for (uint32_t i = 0; i < 30000; i++) {
        put = put && simulate_recall_put(recall, i * 0x9e3779b97f4a7c15u, (struct simulate_value){i, 1});
        put = put && simulate_recall_put(recall, i * 0x9e3779b97f4a7c15u, (struct simulate_value){i, i + 2});
    }
    for (uint32_t i = 0; i < 30000; i++) {
        right = right && simulate_recall_get(recall, i * 0x9e3779b97f4a7c15u, &v) && v.value_bytes == i && v.ttl_s == i + 2;
    }
    ok(put && right, "of each of 30000 keys the last value is known");
    is(simulate_recall_count(recall), 30000, "each is counted once");
    ok(!simulate_recall_get(recall, 12345, &v), "of another none");
    simulate_recall_destroy(&recall);
}

int main(void) {
    clock_start();
    return tap_main();
}
