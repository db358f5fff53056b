#include "simulate/simulate.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/settings_change.h"
#include "simulate/cell.h"
#include "simulate/reading.h"
#include "simulate/simulate_report.h"

enum {
    CELLS_MAX = SIMULATE_POLICIES_MAX * SIMULATE_GRID_MAX,
    TWINS_MAX = 1 << 16
};

struct simulation {
    const struct simulate_options *options;
    struct cache *(*make_cache)(const struct settings *);
    struct simulate_report report;
    struct evict_tuning    tuning; /* for cells of objects */
    struct simulate_block  block;
    bool                   warned_bad, warned_over;
};

static int simulate_fail(int status, const char *format, const char *what) {
    fprintf(stderr, "slated: ");
    fprintf(stderr, format, what);
    fprintf(stderr, "\n");
    return status;
}

/* --- reading --- */

/* Opens the trace. Returns an exit status. */
static int simulate_open_trace(struct simulation *s, struct simulate_reading *r) {
    char why[TRACE_WHY_BYTES];
    int  status = simulate_reading_open(r, s->options, why);
    if (status != EXIT_SUCCESS) {
        return simulate_fail(status, "%s", why);
    }
    s->report.format = r->format;
    s->report.has_times = r->has_times;
    s->report.sample = r->sample;
    return EXIT_SUCCESS;
}

/* After a complete reading: reports once what was wrong with the trace. Returns an exit status. */
static int simulate_check_trace(struct simulation *s, const struct trace *t, enum trace_step last) {
    uint64_t bad = trace_bad_lines(t);
    if (last == TRACE_BROKEN) {
        return trace_error(t)[0] != '\0'
                   ? simulate_fail(EX_DATAERR, "%s", trace_error(t))
                   : simulate_fail(EX_OSERR, "%s",
                                   "the trace has more keys than can be remembered");
    }
    if (s->report.requests == 0) {
        return bad == 0 ? simulate_fail(EX_DATAERR, "%s holds no request", s->options->trace)
                        : simulate_fail(EX_DATAERR, "no line of the trace is a request; %s",
                                        trace_first_bad(t));
    }
    if (bad > 0 && !s->warned_bad) {
        fprintf(stderr, "slated: lines of the trace that were skipped: %llu; the first is %s\n",
                (unsigned long long)bad, trace_first_bad(t));
        s->warned_bad = true;
    }
    s->report.bad_lines = bad;
    return EXIT_SUCCESS;
}

/* Reads an opened trace, calls `use` for each block, closes the trace. Returns an exit status. */
static int simulate_read_trace(struct simulation *s, struct simulate_reading *r,
                               bool (*use)(struct simulation *, void *), void *arg) {
    enum trace_step step;
    bool used = true;
    s->report.requests = 0;
    do {
        step = simulate_reading_next(r, &s->block);
        s->report.requests += s->block.count;
        used = use(s, arg);
    } while (used && step == TRACE_REQUEST);
    int status = used ? simulate_check_trace(s, r->trace, step) : EX_OSERR;
    simulate_reading_close(r);
    return status;
}

static bool simulate_can_reread(const struct simulate_options *o) {
    struct stat st;
    return strcmp(o->trace, "-") != 0 && stat(o->trace, &st) == 0 && S_ISREG(st.st_mode);
}

/* Scales a count of a sample up to all keys. */
static uint64_t simulate_scale_up(uint64_t count, double sample) {
    return (uint64_t)llround((double)count / sample);
}

static bool simulate_count_keys(struct simulation *s, void *keys) {
    for (size_t i = 0; i < s->block.count; i++) {
        if (!simulate_recall_put(keys, s->block.requests[i].key.hash, (struct simulate_value){0})) {
            fprintf(stderr, "slated: the trace has more keys than can be counted; give --objects "
                            "as a number\n");
            return false;
        }
    }
    return true;
}

/* Counts the trace's keys and requests, if a size or the warm-up is a share of them. */
static int simulate_learn_keys(struct simulation *s) {
    const struct simulate_options *o = s->options;
    bool wanted = o->warmup_share > 0;
    s->report.warmup_requests = o->warmup_requests;
    for (unsigned i = 0; i < s->options->size_count; i++) {
        wanted = wanted || s->options->sizes[i].share > 0;
    }
    if (!wanted) {
        return EXIT_SUCCESS;
    }
    if (!simulate_can_reread(s->options)) {
        return simulate_fail(
            EX_USAGE, "a share of the trace needs a file that can be read twice, and %s is none",
            s->options->trace);
    }
    struct simulate_recall *keys = simulate_recall_create();
    if (keys == NULL) {
        return simulate_fail(EX_OSERR, "%s", "out of memory");
    }
    struct simulate_reading r;
    int status = simulate_open_trace(s, &r);
    if (status == EXIT_SUCCESS) {
        status = simulate_read_trace(s, &r, simulate_count_keys, keys);
        s->report.keys = simulate_scale_up(simulate_recall_count(keys), s->report.sample);
        if (o->warmup_share > 0) {
            s->report.warmup_requests =
                (uint64_t)llround(o->warmup_share * (double)s->report.requests);
        }
    }
    simulate_recall_destroy(&keys);
    return status;
}

/* --- the grid: every size with every policy --- */

static const struct simulate_size *simulate_size_of(const struct simulate_options *o,
                                                    unsigned cell) {
    return &o->sizes[cell / o->policy_count];
}

static uint32_t simulate_objects(const struct simulation *s, const struct simulate_size *size) {
    double objects =
        size->share > 0 ? floor(size->share * (double)s->report.keys + 0.5) : size->objects;
    return objects < 1 ? 1 : objects > INT32_MAX ? INT32_MAX : (uint32_t)objects;
}

/* The least memory for a played cache of pages: with fewer than 64 pages the classes of a usual
 * load have one page each, and the result says nothing about the complete cache. */
#define PLAYED_BYTES_MIN (UINT64_C(64) << 20)

/* Keys played for each key. A trace of one key in 64 is played to a cache of a 64th of the memory,
 * with one key for each. If that memory is too small, twins and memory grow together. */
static unsigned simulate_twins(const struct simulate_size *size, double sample) {
    double twins = 1, most = floor(1 / sample + 1e-9);
    while (twins < most && (double)size->memory_bytes * sample * twins < PLAYED_BYTES_MIN) {
        twins = twins * 2 < most ? twins * 2 : most;
    }
    return (unsigned)fmin(twins, TWINS_MAX);
}

static uint64_t simulate_played_bytes(const struct simulate_size *size, double sample) {
    double bytes = (double)size->memory_bytes * sample * simulate_twins(size, sample);
    return bytes >= (double)size->memory_bytes ? size->memory_bytes
           : bytes < PAGE_BYTES                ? PAGE_BYTES
                                               : (uint64_t)bytes / PAGE_BYTES * PAGE_BYTES;
}

static uint32_t simulate_played_objects(const struct simulation *s,
                                        const struct simulate_size *size) {
    double objects = floor(simulate_objects(s, size) * s->report.sample + 0.5);
    return objects < 1 ? 1 : (uint32_t)objects;
}

/* The least memory that a sample represents: that of some ten items. */
enum { SAMPLED_BYTES_MIN = 4096 };

/* Refuses sizes for which the sample is too small: each of its keys would stand for tens of
 * thousands. */
static bool simulate_is_sampled_enough(const struct simulation *s) {
    double one_in = 1 / s->report.sample;
    char cache[32], least[32];
    for (unsigned i = 0; i < s->options->size_count; i++) {
        const struct simulate_size *size = &s->options->sizes[i];
        if (s->options->by_objects) {
            if (floor(simulate_objects(s, size) / one_in + 0.5) >= 1) {
                continue;
            }
            snprintf(cache, sizeof cache, "%" PRIu32 " objects", simulate_objects(s, size));
            snprintf(least, sizeof least, "%.0f", ceil(one_in / 2));
        } else {
            if ((double)size->memory_bytes >= SAMPLED_BYTES_MIN * one_in) {
                continue;
            }
            setting_format_bytes(cache, (double)size->memory_bytes);
            setting_format_bytes(least, ceil(SAMPLED_BYTES_MIN * one_in / 0x1p20) * 0x1p20);
        }
        fprintf(stderr,
                "slated: a trace of one key in %.0f says nothing of a cache of %s: give %s at "
                "least\n",
                one_in, cache, least);
        return false;
    }
    return true;
}

/* Refuses a simulation that needs more memory than the machine has. */
static bool simulate_fits_machine(const struct simulation *s, unsigned first, unsigned count) {
    double bytes = 0, most = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    for (unsigned i = first; i < first + count; i++) {
        const struct simulate_size *size = simulate_size_of(s->options, i);
        bytes += s->options->by_objects
                     ? (double)simulate_played_objects(s, size) * SIMULATE_OBJECT_BYTES
                     : (double)simulate_played_bytes(size, s->report.sample);
    }
    if (bytes > most) {
        char want[32], have[32];
        setting_format_bytes(want, floor(bytes / 0x1p20) * 0x1p20);
        setting_format_bytes(have, floor(most / 0x1p20) * 0x1p20);
        fprintf(stderr,
                "slated: this simulation would take %s of memory, and the machine has %s; "
                "simulate fewer caches at a time, or smaller ones\n",
                want, have);
    }
    return bytes <= most;
}

static struct simulate_cell *simulate_make_cell(struct simulation *s, unsigned i) {
    const struct simulate_options *o = s->options;
    const struct simulate_size *size = simulate_size_of(o, i);
    const struct evict_policy *policy = o->policies[i % o->policy_count];
    if (o->by_objects) {
        return simulate_cell_objects(policy, &s->tuning, simulate_played_objects(s, size));
    }
    static struct settings with_policy;
    with_policy = o->settings;
    snprintf(with_policy.policy, sizeof with_policy.policy, "%s", policy->name);
    with_policy.maxbytes = simulate_played_bytes(size, s->report.sample);
    simulate_cell_stop_clock();
    struct tuner_config tune = {
        .settings = settings_of_tuner(&with_policy),
        .automove = o->automove,
        .policy_dir = o->policy_dir[0] != '\0' ? o->policy_dir : NULL,
        .reassign = o->settings.slab_reassign,
    };
    if (!tune.settings.sample_follow) {
        tune.settings.sample_rate = 0;
    }
    struct simulate_cell *cell = simulate_cell_memory(s->make_cache(&with_policy), &tune);
    if (cell != NULL) {
        simulate_cell_set_twins(cell, simulate_twins(size, s->report.sample));
    }
    return cell;
}

/* Scales the result of a cell that was played smaller up to its full size. */
static void simulate_extrapolate(const struct simulation *s, unsigned i,
                                 struct simulate_result *r) {
    const struct simulate_size *size = simulate_size_of(s->options, i);
    double sample = s->report.sample;
    if (sample >= 1) {
        return;
    }
    sample *= s->options->by_objects ? 1 : simulate_twins(size, sample);
    r->objects = s->options->by_objects ? simulate_objects(s, size) : 0;
    r->memory_bytes = s->options->by_objects ? 0 : size->memory_bytes;
    uint64_t *const counts[] = {&r->requests, &r->hits,        &r->stores, &r->deletes,
                                &r->items,    &r->evictions,   &r->refused, &r->held_bytes,
                                &r->lost,     &r->pages_moved, &r->pages_stolen};
    for (unsigned c = 0; c < sizeof counts / sizeof *counts; c++) {
        *counts[c] = simulate_scale_up(*counts[c], sample);
    }
}

/* Warns once, for the first such cell: its figures are those of a larger cache. */
static void simulate_warn_over(struct simulation *s, const struct simulate_result *r) {
    if (r->held_bytes > r->memory_bytes && !s->warned_over) {
        char held[32], memory[32];
        setting_format_bytes(held, (double)r->held_bytes);
        setting_format_bytes(memory, (double)r->memory_bytes);
        fprintf(stderr,
                "slated: more than its memory was held, since every class with items keeps a page: "
                "%s had %s of %s; fewer "
                "classes (-f) need less\n",
                r->policy, held, memory);
        s->warned_over = true;
    }
}

struct simulate_pass {
    struct simulate_cell *cells[CELLS_MAX];
    unsigned count;
};

static bool simulate_play_block(struct simulation *s, void *arg) {
    const struct simulate_pass *pass = arg;
    uint64_t warmup = s->report.warmup_requests, before = s->report.requests - s->block.count;
    size_t   uncounted = 0;
    if (warmup > before) {
        uncounted = warmup - before < s->block.count ? (size_t)(warmup - before) : s->block.count;
    }
    for (unsigned i = 0; i < pass->count; i++) {
        struct simulate_cell *cell = pass->cells[i];
        simulate_cell_play(cell, s->block.requests, uncounted);
        if (uncounted > 0) {
            simulate_cell_count_from_here(cell);
        }
        simulate_cell_play(cell, s->block.requests + uncounted, s->block.count - uncounted);
    }
    return true;
}

/* Plays the trace once to `count` cells of the grid, and reports on each. */
static int simulate_play(struct simulation *s, unsigned first, unsigned count) {
    struct simulate_pass pass = {.count = 0};
    struct simulate_reading r;
    int status = simulate_open_trace(s, &r); /* first, because it reads the sample's share */
    if (status != EXIT_SUCCESS) {
        return status;
    }
    status = simulate_is_sampled_enough(s) && simulate_fits_machine(s, first, count) ? EXIT_SUCCESS
                                                                                     : EX_USAGE;
    while (status == EXIT_SUCCESS && pass.count < count) {
        pass.cells[pass.count] = simulate_make_cell(s, first + pass.count);
        if (pass.cells[pass.count] == NULL) {
            status = simulate_fail(EX_OSERR, "cannot have a cache: %s", strerror(errno));
        } else {
            pass.count++;
        }
    }
    if (status == EXIT_SUCCESS) {
        status = simulate_read_trace(s, &r, simulate_play_block, &pass);
        if (status == EXIT_SUCCESS && s->report.requests <= s->report.warmup_requests) {
            status = simulate_fail(EX_USAGE, "--warmup takes all requests of %s, and none counts",
                                   s->options->trace);
        }
    } else {
        simulate_reading_close(&r);
    }
    for (unsigned i = 0; i < pass.count; i++) {
        struct simulate_result result;
        if (status == EXIT_SUCCESS) {
            simulate_cell_result(pass.cells[i], &result);
            if (result.failed[0] != '\0') {
                status = simulate_fail(EX_DATAERR, "automove %s", result.failed);
            } else {
                simulate_extrapolate(s, first + i, &result);
                simulate_report_row(&s->report, &result);
                simulate_warn_over(s, &result);
            }
        }
        simulate_cell_destroy(&pass.cells[i]);
    }
    return status;
}

static int simulate_play_all(struct simulation *s) {
    const struct settings *first = &s->options->settings;
    unsigned all = s->options->size_count * s->options->policy_count;
    unsigned at_once = s->options->by_objects || !simulate_can_reread(s->options) ? all : 1;
    s->tuning = (struct evict_tuning){(uint32_t)first->hot_lru_pct, (uint32_t)first->warm_lru_pct,
                                      (uint32_t)lround(first->hot_max_factor * 100),
                                      (uint32_t)lround(first->warm_max_factor * 100),
                                      (uint32_t)first->s3fifo_small_percent,
                                      (uint32_t)first->s3fifo_ghost_percent,
                                      (uint32_t)first->s3fifo_promote_hits,
                                      (uint32_t)first->s3fifo_skip_percent};
    log_set_verbosity(first->verbosity);
    int status = simulate_learn_keys(s);
    for (unsigned i = 0; i < all && status == EXIT_SUCCESS; i += at_once) {
        status = simulate_play(s, i, at_once);
    }
    if (status == EXIT_SUCCESS && (fflush(s->report.to) != 0 || ferror(s->report.to))) {
        status = simulate_fail(EX_IOERR, "cannot write the result: %s", strerror(errno));
    }
    return status;
}

int simulate_run(int argc, char **argv, struct cache *(*make_cache)(const struct settings *),
                 FILE *to) {
    static struct simulate_options options;
    static struct simulation simulation;
    char why[SIMULATE_WHY_BYTES];
    int  status = EXIT_SUCCESS;
    switch (simulate_options_read(argc, argv, &options, why)) {
    case SIMULATE_HELP:
        simulate_options_help(to);
        break;
    case SIMULATE_BAD:
        status = simulate_fail(EX_USAGE, "%s", why);
        break;
    case SIMULATE_RUN:
        clock_start();
        simulation = (struct simulation){.options = &options, .make_cache = make_cache,
                                         .report = {.to = to, .options = &options}};
        status = simulate_play_all(&simulation);
        break;
    }
    simulate_options_free(&options);
    return status;
}
