/* Plays each specification of tests/isolation/specs in all its orders: the outcomes must be those of the file, no more and no fewer, and
 * after each order every chunk must be accounted for. Run from the top folder.
 *
 *     SPEC=name           only those with NAME in their name
 *     ALL=1               with every kind of index where the specification asks for that
 *     PREEMPTIONS=3       another bound than the specification's
 *     WRITE_OUTCOMES=1    writes the seen outcomes into the files; read the difference before you commit */
#include "tap.h"

#include <dirent.h>
#include <sched.h>

#include "control/tuner_state.h"
#include "session_fixture.h"
#include "spec.h"

enum { RUNS_MOST = 20 * 1000, TENDS_MOST = 100000, TURNS_LOOK_US = 20, FILL_BYTES = 64 * 1024, OUTCOME_BYTES = ACTORS_MAX * SPEC_TEXT_BYTES };

/* A client or the tuner, in one run. */
struct actor {
    const struct spec_part *part;
    struct rig    rig; /* a rig of its own on the shared server */
    struct client client;
    bool          holds; /* does not take replies */
    char          said[SPEC_TEXT_BYTES]; /* results of the tuner's steps */
};

struct seen {
    char *text, *path; /* of the first run with this outcome */
    unsigned long runs;
};

struct stage {
    const struct spec *spec;
    const struct index_kind *index;
    struct rig    rig; /* the server's rig; its worker plays set-up and aftermath */
    struct actor   roles[ACTORS_MAX];
    struct client aftermath;
    struct seen   seen[SPEC_OUTCOMES_MAX];
    unsigned      seen_count;
    unsigned long leaks; /* runs after which a chunk was not accounted for */
    char          leak[512];
};

/* --- a run's world --- */

static unsigned partitions;
static const struct index_kind *index_kind;

static void isolation_adjust(struct cache_config *cache, struct tuner_config *tune) {
    cache->partitions = partitions;
    cache->index = index_kind;
    cache->huge_pages = true; /* two page faults a run instead of hundreds */
    tune->by_hand = true;
    tune->settings.geometry.rate_pct = 100;
}

static bool role_open(struct actor *r, const struct rig *server, const struct spec_part *part) {
    memset(r, 0, sizeof *r);
    r->part = part;
    r->rig = *server;
    r->rig.ct = cache_thread_create(server->server.cache);
    r->rig.batch = r->rig.ct ? batch_create((struct server *)(uintptr_t)&server->server, r->rig.ct, &r->rig.counters) : NULL;
    client_open(&r->client);
    return r->rig.batch != NULL;
}

static void role_close(struct actor *r) {
    client_close(&r->rig, &r->client);
    batch_destroy(&r->rig.batch);
    cache_thread_destroy(&r->rig.ct);
}

/* Stores so many values of so many bytes, under keys that begin with the word. Many go out together: turns of one set each took most of the
 * time of all orders. */
static void isolation_fill(struct stage *st, const char *words) {
    char word[SPEC_NAME_BYTES];
    unsigned count, bytes;
    if (sscanf(words, "fill %31s %u %u", word, &count, &bytes) != 3) {
        ok(false, "set-up knows no '%s'", words);
        return;
    }
    char *lines = malloc(FILL_BYTES + SPEC_NAME_BYTES + 64 + bytes);
    size_t n = 0;
    for (unsigned i = 0; i < count; i++) {
        n += (size_t)snprintf(lines + n, SPEC_NAME_BYTES + 62, "set %s%u 0 0 %u noreply\r\n", word, i, bytes);
        memset(lines + n, word[0], bytes);
        memcpy(lines + n + bytes, "\r\n", 2);
        n += bytes + 2;
        if (n >= FILL_BYTES || i + 1 == count) {
            client_send(&st->rig, &st->aftermath, lines, n);
            n = 0;
        }
    }
    free(lines);
}

static void isolation_set_up(struct stage *st) {
    const struct spec_part *part = &st->spec->setup;
    for (unsigned i = 0; i < part->step_count; i++) {
        if (part->steps[i].send) {
            client_send(&st->rig, &st->aftermath, part->steps[i].bytes, part->steps[i].n);
        } else {
            isolation_fill(st, part->steps[i].bytes);
        }
    }
    st->aftermath.out_bytes = 0;
}

static bool stage_open(void *arg) {
    struct stage *st = arg;
    char options[sizeof st->spec->options + 32];
    /* Automove is off from the start: otherwise the first client that changes a setting would turn it on, at the price of 256 locks. */
    snprintf(options, sizeof options, "-o slab_automove=0 %s", st->spec->options);
    partitions = st->spec->partitions;
    index_kind = st->index;
    rig_adjust = isolation_adjust;
    bool good = rig_open(&st->rig, options);
    if (!good) {
        return false;
    }
    clock_pause();
    client_open(&st->aftermath);
    isolation_set_up(st);
    for (unsigned i = 0; i < st->spec->part_count; i++) {
        good = role_open(&st->roles[i], &st->rig, &st->spec->parts[i]) && good;
    }
    return good;
}

/* --- the clients' steps --- */

static void isolation_take(struct actor *r) {
    if (r->client.kept) {
        cache_turn_begin(r->rig.ct);
        client_take_kept(&r->rig, &r->client);
        cache_turn_end(r->rig.ct);
    }
}

/* A turn after which the replies stay unsent. */
static void isolation_send_and_hold(struct actor *r, const struct spec_step *step) {
    struct output *out = client_begin(&r->rig, &r->client, step->bytes, step->n);
    r->client.kept = out ? output_save(out, "") : NULL;
    cache_turn_end(r->rig.ct);
}

static void isolation_act_client(struct actor *r) {
    for (unsigned i = 0; i < r->part->step_count; i++) {
        const struct spec_step *step = &r->part->steps[i];
        if (step->send && r->holds) {
            isolation_send_and_hold(r, step);
        } else if (step->send) {
            client_send(&r->rig, &r->client, step->bytes, step->n);
        } else if (strcmp(step->bytes, "hold") == 0) {
            r->holds = true;
        } else if (strcmp(step->bytes, "take") == 0) {
            r->holds = false;
            isolation_take(r);
        } else {
            ok(false, "a client knows no '%s'", step->bytes);
        }
    }
}

/* --- the tuner's steps --- */

static void isolation_print(struct actor *r, const char *format, ...) {
    size_t used = strlen(r->said);
    va_list ap;
    va_start(ap, format);
    vsnprintf(r->said + used, sizeof r->said - used, format, ap);
    va_end(ap);
}

/* The class of a value of so many bytes under a key of one byte. */
static unsigned class_of(const struct rig *rig, unsigned value_bytes) {
    return slab_class_of(cache_slab(rig->server.cache), item_total_bytes(ITEM_CAS, 1, value_bytes));
}

static uint64_t isolation_earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void isolation_pause_until(uint64_t due_us) {
    if (due_us > clock_mono_us() && due_us != PACE_NEVER) {
        explore_sleep_until(due_us);
    }
}

static void isolation_move_pages(struct actor *r, unsigned from_bytes, unsigned to_bytes, unsigned pages) {
    struct page_move move = {.from = class_of(&r->rig, from_bytes), .pages = pages,
                             .to = to_bytes ? class_of(&r->rig, to_bytes) : SLAB_CLASS_NONE};
    struct tuner *t = r->rig.server.tuner;
    const struct move_result *result = &t->mover.result;
    mover_begin(&t->mover, &move, clock_mono_us());
    for (uint64_t due_us = 0; due_us != PACE_NEVER;) {
        due_us = mover_step(&t->mover, clock_mono_us());
        if (due_us == PACE_DONE) {
            due_us = cache_handover_step(t->ct)         ? clock_mono_us()
                     : cache_handover_waiting(t->cache) > 0 ? clock_mono_us() + TURNS_LOOK_US
                                                        : PACE_NEVER;
        } else {
            due_us = isolation_earlier(due_us, pace_step(&t->pace, clock_mono_us()));
        }
        isolation_pause_until(due_us);
    }
    isolation_print(r, "%" PRIu64 " moved, %" PRIu64 " lost%s%s. ", result->pages, result->did.evicted, result->why_not ? ", " : "", result->why_not ? result->why_not : "");
}

static void isolation_order_done(struct geometry_order *o) { o->done = NULL; }

static void isolation_change_sizes(struct actor *r, const char *words) {
    struct geometry_order o = {.verb = GEOMETRY_SIZES, .force = true, .done = isolation_order_done};
    struct geometry_facts f;
    for (char *end; *words; words = *end == ',' ? end + 1 : end) {
        o.sizes[o.size_count++] = (uint32_t)strtoul(words, &end, 10);
    }
    struct geometry_change *g = r->rig.server.tuner->geometry;
    geometry_order_take(g, &o);
    for (int i = 0; i < TENDS_MOST; i++) {
        uint64_t due_us = geometry_step(g, clock_mono_us());
        geometry_facts(g, &f);
        if (o.done == NULL && f.state == GEOMETRY_STEADY) {
            break;
        }
        isolation_pause_until(isolation_earlier(due_us, pace_step(&r->rig.server.tuner->pace, clock_mono_us())));
    }
    isolation_print(r, "%s; %" PRIu64 " dropped. ", f.state == GEOMETRY_STEADY ? "sizes changed" : f.why, f.did.evicted);
}

static void isolation_change_limit(struct actor *r, unsigned megabytes) {
    bool set = cache_set_limit(r->rig.server.cache, (size_t)megabytes << 20);
    struct tuner *t = r->rig.server.tuner;
    for (int i = 0; i < TENDS_MOST && set && limit_pages_over(t) > 0; i++) {
        isolation_pause_until(moves_step_all(t, clock_mono_us()));
    }
    isolation_print(r, "%s, %u pages over. ", set ? "limit set" : "limit refused",
                    limit_pages_over(t));
}

static void isolation_act_control(struct actor *r) {
    for (unsigned i = 0; i < r->part->step_count; i++) {
        const char *words = r->part->steps[i].bytes;
        unsigned a, b, c;
        if (sscanf(words, "move %u %u %u", &a, &b, &c) == 3) {
            isolation_move_pages(r, a, b, c);
        } else if (strncmp(words, "sizes ", 6) == 0) {
            isolation_change_sizes(r, words + 6);
        } else if (sscanf(words, "limit %u", &a) == 1) {
            isolation_change_limit(r, a);
        } else if (strncmp(words, "policy ", 7) == 0) {
            cache_set_policy(r->rig.server.cache, evict_find(words + 7), SLAB_CLASS_NONE);
            isolation_print(r, "policy set. ");
        } else {
            ok(false, "the tuner knows no '%s'", words);
        }
    }
}

static void isolation_act(void *arg, unsigned actor) {
    struct actor *r = &((struct stage *)arg)->roles[actor];
    if (r->part->tuner) {
        isolation_act_control(r);
    } else {
        isolation_act_client(r);
    }
}

/* --- after a run --- */

/* After a flush and a walk, the chunks that are neither free nor gone. */
static void isolation_account(struct stage *st, const char *path) {
    static struct cache_class_facts facts[SLAB_CLASSES_MAX];
    static struct cache_walked walked[64];
    struct class_set all = class_set_all();
    struct cache *c = st->rig.server.cache;
    struct cache_walk walk = {0};
    struct cache_facts total;
    cache_flush_now(c);
    cache_turn_begin(st->rig.ct);
    while (cache_walk_next(st->rig.ct, &walk, walked, 64) >= 0) {
    }
    cache_turn_end(st->rig.ct);
    cache_classes_facts(c, &all, facts);
    cache_facts(c, &total);
    uint64_t lost_chunks = 0, bytes = total.bytes, items = total.items, pages = 0;
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        const struct cache_class_facts *f = &facts[i];
        lost_chunks += (uint64_t)f->slab.pages * f->slab.chunks_per_page - f->slab.free_chunks - f->magazine_chunks;
        bytes += f->requested_bytes;
        items += f->items;
        pages += f->slab.pages;
    }
    if (lost_chunks != 0 || bytes != 0 || items != 0 || pages > total.pages_out) {
        st->leaks++;
        snprintf(st->leak, sizeof st->leak, "%" PRIu64 " chunks, %" PRIu64 " bytes, %" PRIu64 " items left: %.300s", lost_chunks, bytes, items, path);
    }
}

static size_t isolation_put_outcome(char *text, size_t used, const char *name, const struct client *c, const char *said) {
    char shown[SPEC_TEXT_BYTES];
    spec_show(c->out, c->out_bytes, shown, sizeof shown);
    return used + (size_t)snprintf(text + used, OUTCOME_BYTES - used, "%s: %s%s\n", name, said, shown);
}

static void isolation_note(struct stage *st, const char *text, const char *path) {
    unsigned i = 0;
    while (i < st->seen_count && strcmp(st->seen[i].text, text) != 0) {
        i++;
    }
    if (i == st->seen_count) {
        if (i == SPEC_OUTCOMES_MAX) {
            return;
        }
        st->seen[st->seen_count++] = (struct seen){strdup(text), strdup(path), 0};
    }
    st->seen[i].runs++;
}

static void stage_close(void *arg, const char *path) {
    struct stage *st = arg;
    char text[OUTCOME_BYTES];
    size_t used = 0;
    for (unsigned i = 0; i < st->spec->part_count; i++) {
        struct actor *r = &st->roles[i];
        isolation_take(r);
        used = isolation_put_outcome(text, used, r->part->name, &r->client, r->said);
        role_close(r);
    }
    for (unsigned i = 0; i < st->spec->after.step_count; i++) {
        client_send(&st->rig, &st->aftermath, st->spec->after.steps[i].bytes, st->spec->after.steps[i].n);
    }
    if (st->spec->after.step_count > 0) {
        isolation_put_outcome(text, used, "after", &st->aftermath, "");
    }
    isolation_note(st, text, path);
    client_close(&st->rig, &st->aftermath);
    isolation_account(st, path);
    clock_resume();
    rig_close(&st->rig);
}

/* --- all runs of a specification --- */

static bool isolation_expected(const struct spec *s, const char *text) {
    for (unsigned i = 0; i < s->outcome_count; i++) {
        if (strcmp(s->outcomes[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static unsigned isolation_print_unexpected(const struct stage *st) {
    unsigned n = 0;
    for (unsigned i = 0; i < st->seen_count; i++) {
        const struct seen *seen = &st->seen[i];
        if (!isolation_expected(st->spec, seen->text)) {
            n++;
            printf("# not expected, %lu times, first in: %s\n", seen->runs, seen->path);
            char *text = strdup(seen->text), *rest = text;
            for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
                printf("#   %s\n", line);
            }
            free(text);
        }
    }
    return n;
}

static int isolation_by_text(const void *a, const void *b) { return strcmp(((const struct seen *)a)->text, ((const struct seen *)b)->text); }

static void isolation_judge(struct stage *st, const char *name, const char *path, const struct explored *e) {
    if (getenv("WRITE_OUTCOMES")) {
        char *texts[SPEC_OUTCOMES_MAX];
        qsort(st->seen, st->seen_count, sizeof *st->seen, isolation_by_text);
        for (unsigned i = 0; i < st->seen_count; i++) {
            texts[i] = st->seen[i].text;
        }
        ok(spec_write_outcomes(path, texts, st->seen_count), "%s: outcomes written", name);
        return;
    }
    ok(e->complete, "%s: %lu orders, %lu steps: all with its number of preemptions", name, e->runs, e->points);
    is(isolation_print_unexpected(st), 0, "%s: %s", name, st->spec->claim);
    is(st->seen_count, st->spec->outcome_count, "%s: each outcome in the file happens in some order", name);
    is(st->leaks, 0, "%s: after each order every chunk, byte and item is accounted for", name);
    if (st->leaks > 0) {
        printf("# %s\n", st->leak);
    }
}

static void isolation_play(const struct spec *spec, const struct index_kind *index, const char *name, const char *path) {
    static struct stage st;
    char title[300];
    memset(&st, 0, sizeof st);
    st.spec = spec;
    st.index = index;
    struct scene scene = {.arg = &st, .actor_count = spec->part_count, .open = stage_open, .act = isolation_act, .close = stage_close};
    for (unsigned i = 0; i < spec->part_count; i++) {
        scene.names[i] = spec->parts[i].name;
    }
    const char *preemptions = getenv("PREEMPTIONS");
    struct explored e = explore(&scene, preemptions ? (unsigned)atoi(preemptions) : spec->preemptions, RUNS_MOST);
    snprintf(title, sizeof title, "%s%s%s", name, spec->every_index ? ", " : "", spec->every_index ? index->name : "");
    isolation_judge(&st, title, path, &e);
    for (unsigned i = 0; i < st.seen_count; i++) {
        free(st.seen[i].text);
        free(st.seen[i].path);
    }
}

static void isolation_play_file(const char *name) {
    static struct spec spec;
    char path[512], why[700];
    snprintf(path, sizeof path, "tests/isolation/specs/%s", name);
    if (!spec_read(&spec, path, why, sizeof why)) {
        ok(false, "%s", why);
    } else {
        for (unsigned i = 0; index_kinds[i] != NULL && (i == 0 || (spec.every_index && getenv("ALL"))); i++) {
            isolation_play(&spec, index_kinds[i], name, path);
        }
    }
    spec_free(&spec);
}

static int is_wanted(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.'), *only = getenv("SPEC");
    return dot && strcmp(dot, ".txt") == 0 && (!only || strstr(entry->d_name, only));
}

/* One actor runs at a time. On one processor none waits for another to wake up, and freeing memory interrupts no other. */
static void isolation_pin_processor(void) {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here); /* refused: slower */
}

int main(void) {
    isolation_pin_processor();
    struct dirent **names;
    int count = scandir("tests/isolation/specs", &names, is_wanted, alphasort);
    for (int i = 0; i < count; i++) {
        isolation_play_file(names[i]->d_name);
        free(names[i]);
    }
    free(count >= 0 ? names : NULL);
    ok(count > 0, "specifications were found under tests/isolation/specs: %d", count);
    return tap_done();
}
