/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The effect of each automove mode, without a network, another thread or a clock: loads played to a
 * cache in reckoned time.
 *
 *     build/bench/policies [--seeds N] [--modes NAME,...] [--fit yes] [LOAD ...]
 *
 * Prints a row for each load and mode: the load's figure over the seeds, mean, least and most; then means of pages moved, of those to and
 * fro, of live items that moves cost, of pages that a class with nothing took, and of refused sets. With --fit yes a second row has
 * adaptive chunk sizes; the row ends with the number of size changes, and with the worst second's hits minus those of the same second
 * without, in points. README.md says more. */
#include <string.h>

#include "own_clock.h"
#include "world.h"

enum {
    SEEDS = 3,
    SEEDS_MAX = 100,
    MODES_MAX = 16,
    SECOND_GETS_LEAST = 9000, /* gets that a second must have to be compared; fewer show too little */
};

struct wanted {
    unsigned long seeds;
    char         *modes[MODES_MAX];
    unsigned      mode_count;
    bool          fit; /* also with fitted chunk sizes */
    char        **loads; /* names; none: all */
    int           load_count;
};

struct sums {
    double figure, least, most, moves, to_and_fro, lost, stolen, refused, changes, worst;
};

static void usage(void) {
    fprintf(stderr, "usage: policies [--seeds N] [--modes NAME,...] [--fit yes] [LOAD ...]\n"
                    "loads:\n");
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
        } else if (strcmp(argv[i], "--fit") == 0 && strcmp(argv[i + 1], "yes") == 0) {
            w.fit = true;
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

static void add(struct sums *s, const struct outcome *o) {
    s->figure += o->figure;
    s->least = o->figure < s->least ? o->figure : s->least;
    s->most = o->figure > s->most ? o->figure : s->most;
    s->moves += (double)o->moves;
    s->to_and_fro += (double)o->to_and_fro;
    s->lost += (double)o->lost;
    s->stolen += (double)o->stolen;
    s->refused += (double)o->refused;
    s->changes += (double)o->changes;
}

/* The worst second's hits of a hundred gets, minus those of the same second in the other run. */
static double worst_second(const struct outcome *o, const struct outcome *beside) {
    double worst = 0;
    for (unsigned i = 0; i < o->seconds && i < beside->seconds; i++) {
        const struct second *a = &o->by_second[i], *b = &beside->by_second[i];
        if (a->gets >= SECOND_GETS_LEAST && b->gets >= SECOND_GETS_LEAST) {
            double less = 100.0 * (double)a->hits / (double)a->gets -
                          100.0 * (double)b->hits / (double)b->gets;
            worst = less < worst ? less : worst;
        }
    }
    return worst;
}

static void print_row(const struct load *l, const char *mode, const char *with,
                      const struct sums *s, double n) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", mode, with);
    printf("%-13s %-9s %8.2f %8.2f %8.2f %8.0f %8.0f %9.0f %7.1f %7.1f", l->name, name,
           s->figure / n, s->least, s->most, s->moves / n, s->to_and_fro / n, s->lost / n,
           s->stolen / n, s->refused / n);
}

static bool measure(const struct load *l, const char *mode, const struct wanted *w) {
    struct sums given = {.least = 1e9}, fitted = {.least = 1e9};
    for (uint64_t seed = 1; seed <= w->seeds; seed++) {
        static struct outcome o, with;
        struct play play = {.load = l, .mode = mode, .seed = seed};
        if (!world_play(&play, &o)) {
            return false;
        }
        add(&given, &o);
        play.fits_sizes = true;
        if (w->fit && world_play(&play, &with)) {
            double worst = worst_second(&with, &o);
            add(&fitted, &with);
            fitted.worst = worst < fitted.worst ? worst : fitted.worst;
        }
    }
    double n = (double)w->seeds;
    print_row(l, mode, "", &given, n);
    printf("\n");
    if (w->fit) {
        print_row(l, mode, "+fit", &fitted, n);
        printf(" %7.1f %7.2f\n", fitted.changes / n, fitted.worst);
    }
    fflush(stdout);
    return true;
}

int main(int argc, char **argv) {
    struct wanted w = read_words(argc, argv);
    own_reading_us = 1; /* the world does not follow the machine's pace */
    clock_start();
    clock_pause();
    printf("%-13s %-9s %8s %8s %8s %8s %8s %9s %7s %7s%s\n", "load", "mode", "figure", "least",
           "most", "moves", "to+fro", "lost", "stolen", "refused",
           w.fit ? " changes   worst" : "");
    for (const struct load *l = loads; l->name != NULL; l++) {
        if (!is_named(&w, l)) {
            continue;
        }
        if (!world_has_traces(l)) {
            fprintf(stderr, "policies: no trace for %s: TRACES names the folder\n", l->name);
            continue;
        }
        for (unsigned m = 0; m < w.mode_count; m++) {
            if (!measure(l, w.modes[m], &w)) {
                return EXIT_FAILURE;
            }
        }
    }
    return EXIT_SUCCESS;
}
