/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "loads.h"

#define FULL_SPEED 0

#define GET(prefix, bytes, count, which, weight) \
    {.name = prefix, .sizes = bytes, .keys = count, .popularity = which, .share = weight}
#define SET(prefix, bytes, count, which, weight) \
    {.name = prefix, .sizes = bytes, .keys = count, .popularity = which, .share = weight,         \
     .stores = true}
#define SET_NEW(prefix, bytes, weight)                                                            \
    {.name = prefix, .sizes = bytes, .share = weight, .stores = true}
#define PLAY(count, a_second, ...) \
    {.requests = count, .rate = a_second, .counts = true, .streams = {__VA_ARGS__}}
#define WARM(count, a_second, ...) {.requests = count, .rate = a_second, .streams = {__VA_ARGS__}}
#define TWICE(file, bytes, times)                                                                 \
    {.requests = 500000, .trace = file, .values = bytes, .scale = times},                        \
    {.requests = 500000, .trace = file, .values = bytes, .scale = times, .counts = true}

/* 100 MB each. */
#define CALCIFY(bytes_a_second)                                        \
    PLAY(1000000, bytes_a_second / 1e2, SET_NEW("1", "d100", 1)),      \
    PLAY(100000, bytes_a_second / 1e3, SET_NEW("2", "d1000", 1)),      \
    PLAY(10000, bytes_a_second / 1e4, SET_NEW("3", "d10000", 1)),      \
    PLAY(1000, bytes_a_second / 1e5, SET_NEW("4", "d100000", 1))
/* 200 MB each. */
#define SMALL  GET("s", "l130,0.3", 1470000, "zipf:0.9", 1)
#define MIDDLE GET("m", "l1400,0.3", 136500, "zipf:0.9", 1)
#define GREAT  GET("g", "l11000,0.3", 17400, "zipf:0.9", 1)
#define SHIFT(a_second)                                                                         \
    PLAY(525000, a_second, SMALL), PLAY(525000, a_second, MIDDLE), PLAY(525000, a_second, GREAT), \
    PLAY(525000, a_second, SMALL, MIDDLE, GREAT)
#define RACE(count) WARM(count, 100000, GET("l", "d10000", 4000, "uniform", 1))
#define IN_TURN(count)                                                                            \
    PLAY(count, 20000, GET("d", "l130,0.3", 500000, "zipf:0.9", 1)),                              \
    PLAY(count, 20000, GET("n", "l1400,0.3", 60000, "zipf:0.9", 1))
#define ETC   GET("e", "etc", 800000, "zipf:0.99", 1)
#define ALIKE                                                                                   \
    GET("1", "l110,0.1", 150000, "zipf:0.8", 1), GET("2", "l200,0.1", 90000, "zipf:0.8", 1),    \
    GET("3", "l380,0.1", 50000, "zipf:0.8", 1), GET("4", "l750,0.1", 26000, "zipf:0.8", 1),     \
    GET("5", "l1500,0.1", 13300, "zipf:0.8", 1), GET("6", "l3000,0.1", 6700, "zipf:0.8", 1)
#define SCAN  GET("w", "l1000,0.2", 100000, "zipf:0.9", 1), SET_NEW("n", "d5000", 1)
#define FLAT  GET("f", "l300,0.1", 400000, "zipf:0.6", 4)
#define LARGE                                                                                     \
    GET("s", "l300,0.8", 300000, "zipf:0.9", 300),                                                \
    GET("l", "u300000,900000", 60, "zipf:0.9", 1)
#define WRITTEN(third, fourth)                                                                    \
    PLAY(200000, 20000, SET("1", "d200", 200000, "uniform", 1),                                   \
         SET("2", "d1000", 60000, "uniform", 1), SET("3", "d4000", 15000, "uniform", third),      \
         SET("4", "d16000", 4000, "uniform", fourth))

const struct load loads[] = {
    {.name = "calcify",
     .what = "the experiment of 2012: new values of 100 B, 1 kB, 10 kB, 100 kB, 100 MB each",
     .figure = FIGURE_PAGES,
     .phases = {CALCIFY(FULL_SPEED)}},
    {.name = "calcify-slow",
     .what = "the same at 10 MB a second",
     .figure = FIGURE_PAGES,
     .phases = {CALCIFY(1e7)}},
    {.name = "race",
     .what = "full of 100 B; then 4,000 values of 10 kB are asked for: hits of their third second",
     .phases = {WARM(400000, FULL_SPEED, SET_NEW("f", "d100", 1)), RACE(200000),
                PLAY(100000, 100000, GET("l", "d10000", 4000, "uniform", 1)), RACE(200000)}},
    {.name = "shift",
     .what = "working sets of 200 MB of 130 B, 1.4 kB, 11 kB, then all",
     .phases = {SHIFT(FULL_SPEED)}},
    {.name = "shift-slow", .what = "the same at 20,000 a second", .phases = {SHIFT(20000)}},
    {.name = "day-night",
     .what = "two working sets of 70 and 90 MB in turn, 5 s each",
     .rounds = 4,
     .phases = {IN_TURN(100000)}},
    {.name = "flicker",
     .what = "the same, 0.8 s each: four windows of utility",
     .rounds = 25,
     .phases = {IN_TURN(16384)}},
    {.name = "mix",
     .what = "sizes of the ETC pool, a fifth of them at a time: the second half",
     .phases = {WARM(500000, FULL_SPEED, ETC), PLAY(500000, FULL_SPEED, ETC)}},
    {.name = "kvreg",
     .what = "a trace drawn from a production's distributions, second pass",
     .phases = {TWICE("meta_kvreg_syn", "100", 4)}},
    {.name = "recs",
     .what = "a trace of a web shop's recommendations, second pass",
     .phases = {TWICE("scarab_recs", "l1500,1", 1)}},
    {.name = "cdn",
     .what = "a CDN's trace, second pass",
     .phases = {TWICE("adaptsize_cdn", "100", 1)}},
    {.name = "io",
     .what = "a trace of a virtual machine's block I/O, second pass",
     .phases = {TWICE("cloudphysics_io", "100", 1)}},
    {.name = "alike",
     .what = "six sizes that want their pages alike: the second half",
     .phases = {WARM(300000, 20000, ALIKE), PLAY(500000, 20000, ALIKE)}},
    {.name = "scan",
     .what = "a working set of 1 kB beside new values of 5 kB that nobody reads",
     .phases = {WARM(200000, 20000, SCAN), PLAY(400000, 20000, SCAN)}},
    {.name = "cliff",
     .what = "a flat working set of 300 B; then a loop over 22 MB of 2 kB beside it",
     .phases = {WARM(300000, 20000, FLAT),
                PLAY(600000, 20000, FLAT, GET("c", "d2000", 11000, "sequential", 1))}},
    {.name = "large",
     .what = "values of 300 to 900 kB among small ones",
     .phases = {WARM(300000, 20000, LARGE), PLAY(300000, 20000, LARGE)}},
    {.name = "written",
     .what = "four sizes that are only written, in shares that change twice",
     .figure = FIGURE_IN_USE,
     .phases = {WRITTEN(1, 1), WRITTEN(0.02, 2), WRITTEN(1, 1)}},
    {.name = NULL},
};
