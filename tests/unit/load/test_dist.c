/* Sizes and popularity: accepted and refused forms, and the shape of the draws. */
#include "tap.h"

#include <math.h>

#include "dist.h"
#include "popularity.h"

#define DRAWS 200000

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Draws, sorted, so that quantiles can be read off. */
static double draws[DRAWS];

static void draw_all(const char *text, uint64_t seed) {
    struct dist d;
    struct rng r = rng_from(seed);
    if (!dist_parse(text, &d)) {
        ok(false, "%s is taken", text);
        return;
    }
    for (size_t i = 0; i < DRAWS; i++) {
        draws[i] = dist_draw(&d, &r);
    }
    qsort(draws, DRAWS, sizeof(*draws), compare_doubles);
}

static double quantile(double share) {
    return draws[(size_t)(share * (DRAWS - 1))];
}

static double mean(void) {
    double sum = 0;
    for (size_t i = 0; i < DRAWS; i++) {
        sum += draws[i];
    }
    return sum / DRAWS;
}

static void near(double got, double want, double tolerance, const char *claim) {
    if (!ok(fabs(got - want) <= tolerance * fabs(want), "%s", claim)) {
        printf("# got %g, want %g within %g %%\n", got, want, 100 * tolerance);
    }
}

static void forms(void) {
    static const char *const good[] = {
        "100", "d100", "0", "u50,500", "u5,5", "l300,1.0", "v30.7984,8.20449,0.078688", "etc", "o16,21"};
    static const char *const bad[] = {
        "",     "d",    "d-1",  "u5",  "u5,4", "u1,2,3", "l0,1", "l1",   "v1,2",     "v1,0,1", "x5",
        "100 ", " 100", "1e5",  "inf", "nan",  "0x10",   "d1,",  "--5",  "etcetera", "u,",     "o1",
        "e200", "n1,1", "p1,1", "g1,1,1",
        "d1000000000000000", "d100000000000000000000000000000000000000000000000000"};
    struct dist d;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        ok(dist_parse(good[i], &d), "'%s' is a size", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ok(!dist_parse(bad[i], &d), "'%s' is refused", bad[i]);
    }
}

static void shapes(uint64_t seed) {
    draw_all("d100", seed);
    ok(draws[0] == 100 && draws[DRAWS - 1] == 100, "d100 is always 100");
    draw_all("u50,500", seed);
    ok(draws[0] == 50 && draws[DRAWS - 1] == 500, "u50,500 reaches both ends and no further");
    near(mean(), 275, 0.01, "u50,500 has mean 275");
    draw_all("o16,21", seed);
    near(mean(), 18.5, 0.01, "o16,21 is as often one as the other");
    draw_all("l300,1", seed);
    near(quantile(0.5), 300, 0.02, "l300,1 has median 300");
    near(quantile(0.8413), 300 * exp(1), 0.03, "l300,1 has sigma 1");
    draw_all("v30.7984,8.20449,0.078688", seed);
    near(quantile(0.5), 30.7984 + 8.20449 * (pow(log(2), -0.078688) - 1) / 0.078688, 0.01,
         "a generalised extreme value distribution has its median");
    draw_all("v10,2,0", seed);
    near(quantile(0.5), 10 - 2 * log(log(2)), 0.01, "shape 0 is Gumbel's distribution");
}

static void etc(uint64_t seed) {
    size_t small = 0, two = 0, between = 0;
    draw_all("etc", seed);
    for (size_t i = 0; i < DRAWS; i++) {
        double size = rint(draws[i]);
        small += size < 15;
        two += size == 2;
        between += draws[i] > 14 && draws[i] < 14.5;
    }
    near((double)small / DRAWS, 0.44155, 0.01, "44.155 % of ETC values are under 15 bytes");
    near((double)two / DRAWS, 0.17820, 0.02, "17.82 % of ETC values have 2 bytes");
    is(between, 0, "the tail of ETC begins where the table ends");
    /* The median of all is the (0.5 - 0.44155)/(1 - 0.44155) quantile of the tail above 14.5. */
    double above = pow(1 + 0.348238 * 14.5 / 214.476, -1 / 0.348238);
    double left = above * (1 - (0.5 - 0.44155) / (1 - 0.44155));
    near(quantile(0.5), 214.476 * (pow(left, -0.348238) - 1) / 0.348238, 0.05, "the tail of ETC is its generalised Pareto");
}

TEST(bounds) {
    struct dist d;
    struct rng r = rng_from(1);
    bool inside = true;
    dist_parse("l10,3", &d);
    for (int i = 0; i < 10000; i++) {
        uint64_t n = dist_draw_within(&d, &r, 5, 50);
        inside = inside && n >= 5 && n <= 50;
    }
    ok(inside, "bounded draws stay inside, whatever the distribution says");
    ok(!dist_parse("u0,1e12", &d), "exponents are no part of a size");
}

TEST(stable) {
    struct dist d;
    dist_parse("l300,1", &d);
    struct rng a = rng_from(77), b = rng_from(77), c = rng_from(78);
    double first = dist_draw(&d, &a);
    ok(first == dist_draw(&d, &b), "the same seed draws the same size");
    ok(first != dist_draw(&d, &c), "another seed draws another");
}

TEST(popularity_forms) {
    static const char *const good[] = {"uniform", "zipf", "zipf:1", "zipf:1.2", "sequential"};
    static const char *const bad[] = {"",        "zip",     "zipf:",     "zipf:0", "zipf:-1",
                                      "zipf:11", "zipf:1x", "uniform:1", "zipfy",  "sequential:"};
    struct popularity p;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        ok(popularity_parse(good[i], &p), "'%s' is a law", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ok(!popularity_parse(bad[i], &p), "'%s' is refused", bad[i]);
    }
}

#define KEYS 1000
static uint32_t counts[KEYS];

static void choose_all(const char *text, uint64_t n, uint64_t seed) {
    struct popularity p;
    struct chooser c;
    struct rng r = rng_from(seed);
    popularity_parse(text, &p);
    chooser_init(&c, &p, n);
    memset(counts, 0, sizeof(counts));
    for (int i = 0; i < DRAWS; i++) {
        uint64_t key = chooser_draw(&c, &r);
        if (key >= n) {
            ok(false, "%s stays below %" PRIu64, text, n);
            return;
        }
        counts[key]++;
    }
}

static void zipf(double theta, uint64_t seed) {
    char text[32];
    double sum = 0, hundred = 0, drawn_hundred = 0;
    snprintf(text, sizeof(text), "zipf:%g", theta);
    choose_all(text, KEYS, seed);
    for (int i = 1; i <= KEYS; i++) {
        sum += pow(i, -theta);
        hundred += i <= 100 ? pow(i, -theta) : 0;
        drawn_hundred += i <= 100 ? counts[i - 1] : 0;
    }
    printf("# %s\n", text);
    near(counts[0], DRAWS / sum, 0.02, "zipf gives the first key its share");
    near(counts[9], DRAWS * pow(10, -theta) / sum, 0.06, "zipf gives the tenth key its share");
    near(drawn_hundred, DRAWS * hundred / sum, 0.01, "zipf gives the first hundred theirs");
}

static void popularity(uint64_t seed) {
    uint32_t least = UINT32_MAX, most = 0;
    zipf(0.5, seed);
    zipf(0.99, seed);
    zipf(1, seed);
    zipf(1.2, seed);
    choose_all("zipf", 1, seed);
    is(counts[0], DRAWS, "zipf over one key is that key");
    choose_all("uniform", KEYS, seed);
    for (int i = 0; i < KEYS; i++) {
        least = counts[i] < least ? counts[i] : least;
        most = counts[i] > most ? counts[i] : most;
    }
    /* 200 each, standard deviation 14: six of them on either side. */
    ok(least > 110 && most < 290, "uniform is even: %u to %u of 200", least, most);
    choose_all("sequential", KEYS, seed);
    ok(counts[0] == DRAWS / KEYS && counts[KEYS - 1] == DRAWS / KEYS, "sequential goes around");
}

int main(void) {
    uint64_t seed = tap_sample_seed();
    forms();
    shapes(seed);
    etc(seed);
    tap_run_tests();
    popularity(seed);
    return tap_done();
}
