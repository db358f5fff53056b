/* The model client: see README.md. Speaks TAP. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors.h"
#include "audit.h"
#include "rng.h"
#include "tap.h"

#define CLAIM(name, claim) claim,
static const char *const claims[WRONG_KINDS] = {WRONGS(CLAIM)};

static const struct {
    void *(*run)(void *);
    unsigned count;
} kinds[] = { /* the flusher is last, because it ends first */
    {owner_main, OWNERS}, {sharer_main, SHARERS}, {hammer_main, 2}, {reader_main, 2}, {slow_reader_main, 3}, {guest_main, 2}, {dumper_main, 2},
    {watcher_main, 1}, {operator_main, 1}, {flusher_main, 1},
};
enum { ACTORS_MAX = 32, WATCH_DESCRIPTORS = 1 /* the first watcher opens one that stays, however many watchers follow */ };

static const char *setting(const char *name, const char *otherwise) {
    const char *given = getenv(name);
    return given != NULL && *given != '\0' ? given : otherwise;
}

static void storm(struct world *w, double seconds) {
    static struct actor actors[ACTORS_MAX];
    pthread_t threads[ACTORS_MAX];
    unsigned n = 0;
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (unsigned i = 0; i < kinds[k].count; i++, n++) {
            actors[n] = (struct actor){.world = w, .number = i, .random = mix64(w->seed + n * 7919)};
            if (pthread_create(&threads[n], NULL, kinds[k].run, &actors[n]) != 0) {
                abort();
            }
        }
    }
    world_pass(seconds * 0.7);
    world_end(&w->no_flush);
    pthread_join(threads[--n], NULL); /* items stored from now on are still there for the counts */
    world_pass(seconds * 0.3);
    world_end(&w->done);
    while (n > 0) {
        pthread_join(threads[--n], NULL);
    }
}

static void print_counts(const struct world *w) {
    uint64_t all = 0;
    printf("#");
    for (unsigned i = 0; i < OP_KINDS; i++) {
        uint64_t n = atomic_load(&w->ops[i]);
        all += i < OP_HALF ? n : 0;
        printf(" %" PRIu64 " %s%s", n, op_names[i], i + 1 < OP_KINDS ? "," : "\n");
    }
    printf("# %" PRIu64 " operations\n", all);
}

static void claim_counts(int port, const char *store) {
    struct audit_counts a;
    struct audit_left left;
    if (!ok(audit_rest(port), "the server comes to rest")) {
        audit_tell(port, "stats moves");
        audit_tell(port, "stats geometry");
    }
    audit_counts(port, &a);
    printf("# at rest: %" PRIu64 " items, %" PRIu64 " bytes\n", a.items, a.bytes);
    is(a.dumped, a.items, "the dump has as many items as there are");
    if (a.dumped != a.items) {
        audit_tell(port, "stats moves"); /* did a page move between the two? */
    }
    is(a.in_classes, a.items, "the items of all classes are those there are");
    is(a.in_sizes, a.items, "the items of all sizes are those there are");
    is(a.class_bytes, a.bytes, "the bytes of all classes are those there are");
    if (strcmp(store, "heap") == 0) {
        tap_skip("stats sizehist looks at pages, which a heap has not");
    } else if (a.all_sizes) {
        is(a.size_bytes, a.bytes, "the bytes of all sizes are those there are");
    } else {
        tap_skip("stats sizehist looks at some pages only when there are many");
    }
    is(a.classes_unlike_dump, 0, "each class has the items that the dump has of it");
    is(a.classes_astray, 0, "used and free chunks are all chunks of each class");
    audit_flush(port, &left);
    is(left.items, 0, "after a flush no item is left");
    is(left.bytes, 0, "and no byte");
    is(left.chunks, 0, "and no chunk is in use");
}

int main(int argc, char **argv) {
    static struct world w;
    struct server s;
    char program[600];
    const char *slash = strrchr(argv[0], '/');
    snprintf(program, sizeof program, "%.*s/../bin/slated", slash != NULL ? (int)(slash - argv[0]) : 1, slash != NULL ? argv[0] : ".");
    const char *store = setting("STORE", "slab"), *index = setting("INDEX", "bucket");
    const char *server = argc > 1 ? argv[1] : setting("SLATED", program);
    double seconds = atof(setting("STRESS_SECONDS", "1.5"));
    char store_option[40], index_option[40];
    w.seed = tap_seed();
    w.roomy = strcmp(setting("ROOM", "tight"), "roomy") == 0;
    snprintf(store_option, sizeof store_option, "--store=%s", store);
    snprintf(index_option, sizeof index_option, "--index=%s", index);
    char *options[] = {"-t", "4", "-m", w.roomy ? "1024" : "64", "-I", "4m", "-o", "track_sizes", "-o", "slab_geometry_rate=100", store_option,
                       index_option, NULL};
    if (!server_start(&s, server, options)) {
        ok(false, "the server starts");
        return tap_done();
    }
    printf("# %s, store %s, index %s, %s, %g s\n", server, store, index, w.roomy ? "roomy" : "tight", seconds);
    w.port = s.port;
    audit_stat(s.port, "", "pid"); /* the very first connection may open more than its own descriptor */
    unsigned descriptors = server_descriptors(&s) + WATCH_DESCRIPTORS;
    storm(&w, seconds);
    sharers_check(&w);
    operator_calm(&w);
    print_counts(&w);
    for (unsigned i = 0; i < WRONG_KINDS; i++) {
        is(atomic_load(&w.wrongs[i]), 0, "%s", claims[i]);
    }
    uint64_t evictions = audit_stat(s.port, "", "evictions"), lost = atomic_load(&w.ops[OP_LOST]);
    printf("# %" PRIu64 " evictions\n", evictions);
    if (!ok(lost <= evictions, "no more keys are missing than were evicted")) {
        printf("# %" PRIu64 " missing\n", lost);
    }
    if (w.roomy) {
        if (!ok(evictions == 0, "nothing is evicted while memory is free")) {
            audit_tell(s.port, "stats moves");
            audit_tell(s.port, "stats geometry");
        }
        is(atomic_load(&w.ops[OP_REFUSED]), 0, "nothing is refused while memory is free");
    }
    claim_counts(s.port, store);
    ok(audit_descriptors(&s, descriptors) <= descriptors, "every descriptor that was opened is closed");
    is(audit_stat(s.port, "slated", "draft_bytes"), 0, "and no value that was still coming counts any longer");
    is(audit_stat(s.port, "slated", "uploads_waiting"), 0, "or waits");
    is(server_stop(&s), 0, "the server ends as it should, without a report of a sanitizer");
    return tap_done();
}
