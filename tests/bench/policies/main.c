/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a mode of automove is worth, without a network, another thread or a clock: loads played to a
 * cache in reckoned time.
 *
 *     build/bench/policies [--seeds N] [--modes NAME,...] [LOAD ...]
 *
 * Prints a row for each load and mode: the load's figure over the seeds, mean, least and most; then
 * means of pages moved, of those to and fro, of live items that moves cost, of pages that a class
 * with nothing took, and of refused sets. README.md says more. */
#include <string.h>

#include "base/clock.h"
#include "world.h"

enum { SEEDS = 3, SEEDS_MAX = 100, MODES_MAX = 16 };

struct wanted {
    unsigned long seeds;
    char         *modes[MODES_MAX];
    unsigned      mode_count;
    char        **loads; /* names; none: all */
    int           load_count;
};

struct sums {
    double figure, least, most, moves, to_and_fro, lost, stolen, refused;
};

static void usage(void) {
    fprintf(stderr, "usage: policies [--seeds N] [--modes NAME,...] [LOAD ...]\nloads:\n");
    for (const struct load *l = loads; l->name != NULL; l++) {
        fprintf(stderr, "  %-13s %s\n", l->name, l->what);
    }
    exit(64);
}

static void read_modes(struct wanted *w, char *list) {
    const char *argument;
    for (char *name = strtok(list, ","); name != NULL; name = strtok(NULL, ",")) {
        if (w->mode_count == MODES_MAX || automove_find(name, &argument) == NULL) {
            usage();
        }
        w->modes[w->mode_count++] = name;
    }
}

static bool is_named(const struct wanted *w, const struct load *l) {
    for (int i = 0; i < w->load_count; i++) {
        if (strcmp(w->loads[i], l->name) == 0) {
            return true;
        }
    }
    return w->load_count == 0;
}

static struct wanted read_words(int argc, char **argv) {
    static char all[] = "off,eviction,utility";
    struct wanted w = {.seeds = SEEDS};
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--seeds") == 0) {
            w.seeds = strtoul(argv[i + 1], NULL, 10);
        } else if (strcmp(argv[i], "--modes") == 0) {
            read_modes(&w, argv[i + 1]);
        } else {
            usage();
        }
    }
    w.loads = argv + i;
    w.load_count = argc - i;
    for (; i < argc; i++) {
        const struct load *l = loads;
        while (l->name != NULL && strcmp(l->name, argv[i]) != 0) {
            l++;
        }
        if (l->name == NULL) {
            usage();
        }
    }
    if (w.seeds < 1 || w.seeds > SEEDS_MAX) {
        usage();
    }
    if (w.mode_count == 0) {
        read_modes(&w, all);
    }
    return w;
}

static bool measure(const struct load *l, const char *mode, unsigned long seeds) {
    struct sums s = {.least = 1e9};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct outcome o;
        if (!world_play(l, mode, seed, &o)) {
            return false;
        }
        s.figure += o.figure;
        s.least = o.figure < s.least ? o.figure : s.least;
        s.most = o.figure > s.most ? o.figure : s.most;
        s.moves += (double)o.moves;
        s.to_and_fro += (double)o.to_and_fro;
        s.lost += (double)o.lost;
        s.stolen += (double)o.stolen;
        s.refused += (double)o.refused;
    }
    double n = (double)seeds;
    printf("%-13s %-9s %8.2f %8.2f %8.2f %8.0f %8.0f %9.0f %7.1f %7.1f\n", l->name, mode,
           s.figure / n, s.least, s.most, s.moves / n, s.to_and_fro / n, s.lost / n, s.stolen / n,
           s.refused / n);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv) {
    struct wanted w = read_words(argc, argv);
    clock_start();
    clock_pause();
    printf("%-13s %-9s %8s %8s %8s %8s %8s %9s %7s %7s\n", "load", "mode", "figure", "least",
           "most", "moves", "to+fro", "lost", "stolen", "refused");
    for (const struct load *l = loads; l->name != NULL; l++) {
        if (!is_named(&w, l)) {
            continue;
        }
        if (!world_has_traces(l)) {
            fprintf(stderr, "policies: no trace for %s: TRACES names the folder\n", l->name);
            continue;
        }
        for (unsigned m = 0; m < w.mode_count; m++) {
            if (!measure(l, w.modes[m], w.seeds)) {
                return EXIT_FAILURE;
            }
        }
    }
    return EXIT_SUCCESS;
}
