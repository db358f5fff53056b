#include "driver.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct run;

struct thread {
    pthread_t id;
    bool started;
    struct run *run;
    struct worker_config config;
    struct progress progress;
    struct tally tally;
    struct failure failure;
};

struct run {
    const struct options *options;
    FILE *progress;
    struct thread *threads;
    unsigned thread_count;
    atomic_bool stop;
    int done_event, signals;
    uint64_t start_ns;
    bool interrupted;
    struct histogram reads_before; /* latencies of reads up to the end of the last interval */
};

/* One worker's trouble ends the run for all. */
static void *thread_main(void *argument) {
    struct thread *t = argument;
    uint64_t one = 1;
    worker_run(&t->config, &t->tally, &t->failure);
    if (t->failure.exit_code != LOAD_OK) {
        atomic_store_explicit(&t->run->stop, true, memory_order_relaxed);
    }
    (void)!write(t->run->done_event, &one, sizeof(one));
    return NULL;
}

static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void fail(struct phase_result *result, const char *text) {
    result->failure.exit_code = LOAD_IO;
    snprintf(result->failure.text, sizeof(result->failure.text), "%s: %s", text, strerror(errno));
}

/* The counts of all workers up to now. */
static struct interval read_progress(const struct run *r, double elapsed_s) {
    struct interval c = {.end_s = elapsed_s};
    for (unsigned i = 0; i < r->thread_count; i++) {
        const struct progress *p = &r->threads[i].progress;
        c.requests += atomic_load_explicit(&p->requests, memory_order_relaxed);
        c.hits += atomic_load_explicit(&p->hits, memory_order_relaxed);
        c.misses += atomic_load_explicit(&p->misses, memory_order_relaxed);
        c.errors += atomic_load_explicit(&p->errors, memory_order_relaxed);
        c.wrong += atomic_load_explicit(&p->wrong, memory_order_relaxed);
    }
    return c;
}

/* Latencies of the reads that were answered since the last call. */
static void read_latencies(struct run *r, struct interval *i) {
    struct histogram now = {0}, since;
    for (unsigned t = 0; t < r->thread_count; t++) {
        histogram_merge_running(&now, &r->threads[t].tally.read_latency);
    }
    histogram_since(&since, &now, &r->reads_before);
    memcpy(&r->reads_before, &now, sizeof(now));
    i->reads = since.count;
    i->read_p50_ns = histogram_percentile_ns(&since, 50);
    i->read_p99_ns = histogram_percentile_ns(&since, 99);
    i->read_max_ns = since.max_ns;
}

/* `last` counts from the interval's begin, `now` from that of the run. */
static void print_progress(const struct run *r, const struct interval *now, const struct interval *last,
                           double seconds) {
    fprintf(r->progress, "%8.1f s  %10.0f requests/s", now->end_s, (double)last->requests / seconds);
    if (last->hits + last->misses > 0) {
        fprintf(r->progress, "  hit ratio %.4f", (double)last->hits / (double)(last->hits + last->misses));
    }
    if (last->reads > 0) {
        fprintf(r->progress, "  reads p50 %.1f p99 %.1f us", (double)last->read_p50_ns / 1e3,
                (double)last->read_p99_ns / 1e3);
    }
    fprintf(r->progress, "  errors %llu  wrong %llu\n", (unsigned long long)now->errors,
            (unsigned long long)now->wrong);
    fflush(r->progress);
}

/* Saves the interval for the report; the array doubles when full. */
static bool keep_interval(struct phase_result *result, const struct interval *last) {
    size_t n = result->interval_count;
    if ((n & (n - 1)) == 0) {
        struct interval *grown = realloc(result->intervals, (n ? 2 * n : 1) * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        result->intervals = grown;
    }
    result->intervals[result->interval_count++] = *last;
    return true;
}

void phase_result_fini(struct phase_result *result) {
    free(result->intervals);
    result->intervals = NULL;
    result->interval_count = 0;
}

/* Ends the interval that began with `before`: saves it and, while the run goes on, prints it. */
static void end_interval(struct run *r, struct interval *before, uint64_t now_ns, bool goes_on,
                         struct phase_result *result) {
    struct interval now = read_progress(r, (double)(now_ns - r->start_ns) / 1e9);
    struct interval last = {.end_s = now.end_s,
                            .requests = now.requests - before->requests,
                            .hits = now.hits - before->hits,
                            .misses = now.misses - before->misses,
                            .errors = now.errors - before->errors,
                            .wrong = now.wrong - before->wrong};
    read_latencies(r, &last);
    if (goes_on) {
        print_progress(r, &now, &last, now.end_s - before->end_s);
    }
    if (!keep_interval(result, &last)) {
        errno = ENOMEM;
        fail(result, "cannot keep the intervals");
        atomic_store_explicit(&r->stop, true, memory_order_relaxed);
    }
    *before = now;
}

/* Sleeps until all workers have ended; on the way prints progress and passes signals on. */
static void watch_workers(struct run *r, unsigned running, struct phase_result *result) {
    uint64_t interval_ns = (uint64_t)(r->options->interval_s * 1e9);
    uint64_t printed_ns = r->start_ns;
    struct interval before = {0};
    struct pollfd fds[2] = {{.fd = r->done_event, .events = POLLIN},
                            {.fd = r->signals, .events = POLLIN}};

    while (running > 0) {
        int timeout_ms = -1;
        if (interval_ns > 0) {
            uint64_t now_ns = clock_ns();
            if (now_ns >= printed_ns + interval_ns) {
                end_interval(r, &before, now_ns, true, result);
                printed_ns = now_ns;
            }
            timeout_ms = (int)((printed_ns + interval_ns - now_ns) / 1000000) + 1;
        }
        if (poll(fds, 2, timeout_ms) < 0) {
            continue;
        }
        uint64_t ended;
        struct signalfd_siginfo info;
        if ((fds[0].revents & POLLIN) && read(r->done_event, &ended, sizeof(ended)) > 0) {
            running -= (unsigned)ended;
        }
        if ((fds[1].revents & POLLIN) && read(r->signals, &info, sizeof(info)) > 0) {
            r->interrupted = true;
            atomic_store_explicit(&r->stop, true, memory_order_relaxed);
        }
    }
    if (interval_ns > 0) {
        end_interval(r, &before, clock_ns(), false, result);
    }
}

static bool start_worker(struct run *r, unsigned i, enum source_kind source,
                         const struct address *address) {
    struct thread *t = &r->threads[i];
    t->run = r;
    t->config = (struct worker_config){.options = r->options,
                                       .address = address,
                                       .source = source,
                                       .thread = i,
                                       .stop = &r->stop,
                                       .progress = &t->progress,
                                       .start_ns = r->start_ns};
    return pthread_create(&t->id, NULL, thread_main, t) == 0;
}

/* Starts the workers, waits for them and adds up their counts. */
static void run_workers(struct run *r, enum source_kind source, const struct address *address,
                        struct phase_result *result) {
    unsigned started = 0;
    while (started < r->thread_count && start_worker(r, started, source, address)) {
        started++;
    }
    if (started < r->thread_count) {
        errno = EAGAIN;
        fail(result, "cannot start a thread");
        atomic_store_explicit(&r->stop, true, memory_order_relaxed);
    }
    watch_workers(r, started, result);
    for (unsigned i = 0; i < started; i++) {
        struct thread *t = &r->threads[i];
        pthread_join(t->id, NULL);
        tally_merge(&result->tally, &t->tally);
        if (result->failure.exit_code == LOAD_OK) {
            result->failure = t->failure;
        }
    }
}

void driver_run(const char *name, enum source_kind source, const struct options *o,
                const struct address *address, FILE *progress, struct phase_result *result) {
    struct run r = {.options = o,
                    .progress = progress,
                    .thread_count = (unsigned)o->threads,
                    .done_event = -1,
                    .signals = -1};
    sigset_t wanted, before;
    double cpu_before = cpu_seconds();

    memset(result, 0, sizeof(*result));
    result->name = name;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGTERM);
    /* The workers inherit the mask, so only the descriptor gets the signals. */
    pthread_sigmask(SIG_BLOCK, &wanted, &before);
    r.threads = calloc(o->threads, sizeof(*r.threads));
    r.done_event = eventfd(0, EFD_CLOEXEC);
    r.signals = signalfd(-1, &wanted, SFD_CLOEXEC);
    r.start_ns = clock_ns();
    if (r.threads == NULL || r.done_event < 0 || r.signals < 0) {
        fail(result, "cannot start the run");
    } else {
        run_workers(&r, source, address, result);
    }
    result->seconds = (double)(clock_ns() - r.start_ns) / 1e9;
    result->cpu_seconds = cpu_seconds() - cpu_before;
    result->interrupted = r.interrupted;
    if (r.done_event >= 0) {
        close(r.done_event);
    }
    if (r.signals >= 0) {
        close(r.signals);
    }
    free(r.threads);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
