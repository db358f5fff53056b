#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/trace.h"
#include "simulate/trace_recall.h"
#include "value.h"

struct source {
    enum source_kind kind;
    const struct options *options;
    struct rng rng;
    struct chooser chooser;
    uint64_t yielded;    /* keys yielded so far */
    uint64_t id_max;     /* largest possible key number, for the width of its digits */
    uint64_t next_id;    /* insert: next key of this thread */
    unsigned group_left; /* mix: gets that remain of a multi-get */
    unsigned phase;
    double elapsed_s;
    struct trace *trace;
    struct trace_request line; /* the last line of the trace, and */
    uint64_t line_left;        /* how often it will still be yielded */
    uint64_t twins, twin;      /* by so many keys each time */
    struct simulate_recall *recall; /* the trace's own stores; NULL: the trace has none */
    char failure[TRACE_WHY_BYTES];
};

#define SIZE_SEED 1 /* with the key's text decides the sizes that go by key */
#define TTL_MAX_S (UINT64_C(30) * 24 * 3600)

struct source *source_create(enum source_kind kind, const struct options *o, unsigned thread,
                             char *why, size_t why_bytes) {
    struct source *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        snprintf(why, why_bytes, "out of memory");
        return NULL;
    }
    s->kind = kind;
    s->options = o;
    s->rng = rng_from(mix64(o->seed) + thread);
    s->next_id = thread;
    s->id_max = o->keys * (o->shift.count > 0 ? o->shift.count : 1) - 1;
    chooser_init(&s->chooser, &o->popularity, o->keys);
    if (kind == SOURCE_TRACE) {
        char said[TRACE_WHY_BYTES];
        s->trace = trace_open(o->replay, said);
        if (s->trace == NULL) {
            snprintf(why, why_bytes, "%s", said);
            free(s);
            return NULL;
        }
        trace_set_format(s->trace, o->trace_format);
        s->twins = (uint64_t)(1 / trace_sample(s->trace) + 0.5);
        if (o->speed > 0 && !trace_format_has_times(trace_format(s->trace))) {
            snprintf(why, why_bytes, "%s has no times, and --speed needs them", o->replay);
            source_destroy(&s);
            return NULL;
        }
    }
    return s;
}

static unsigned digits_of(uint64_t n) {
    unsigned digits = 1;
    for (; n >= 10; n /= 10) {
        digits++;
    }
    return digits;
}

static void put_digits(char *into, unsigned width, uint64_t n) {
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233"
        "34353637383940414243444546474849505152535455565758596061626364656667"
        "6869707172737475767778798081828384858687888990919293949596979899";
    while (width >= 2 && n > 0) {
        width -= 2;
        memcpy(into + width, pairs + 2 * (n % 100), 2);
        n /= 100;
    }
    if (n > 0) {
        into[--width] = (char)('0' + n % 10);
    }
    memset(into, '0', width);
}

unsigned source_key_text(const struct options *o, uint64_t id, uint64_t id_max, char *into) {
    unsigned prefix_bytes = (unsigned)strlen(o->key_prefix);
    unsigned shortest = prefix_bytes + digits_of(id_max);
    uint64_t key_bytes;
    if (o->key_bytes.kind == DIST_FIXED) {
        key_bytes = (uint64_t)o->key_bytes.a;
        key_bytes = key_bytes < shortest        ? shortest
                    : key_bytes > KEY_MAX_BYTES ? KEY_MAX_BYTES
                                                : key_bytes;
    } else {
        struct rng r = rng_from(mix64(id) ^ SIZE_SEED);
        key_bytes = dist_draw_within(&o->key_bytes, &r, shortest, KEY_MAX_BYTES);
    }
    memcpy(into, o->key_prefix, prefix_bytes);
    put_digits(into + prefix_bytes, (unsigned)key_bytes - prefix_bytes, id);
    return (unsigned)key_bytes;
}

static uint64_t value_bytes_for(struct source *s, uint64_t key_hash) {
    const struct options *o = s->options;
    if (o->shift.count > 0) {
        return o->shift.value_bytes[s->phase];
    }
    if (o->sizes.kind == DIST_FIXED) {
        return (uint64_t)o->sizes.a < VALUE_MAX_BYTES ? (uint64_t)o->sizes.a : VALUE_MAX_BYTES;
    }
    if (o->size_by_request) {
        return dist_draw_within(&o->sizes, &s->rng, 0, VALUE_MAX_BYTES);
    }
    struct rng r = rng_from(key_hash ^ mix64(SIZE_SEED));
    return dist_draw_within(&o->sizes, &r, 0, VALUE_MAX_BYTES);
}

static void yield_key(struct source *s, uint64_t id, struct request *out) {
    out->key_bytes = source_key_text(s->options, id, s->id_max, out->key);
    out->key_hash = value_key_hash(out->key, out->key_bytes);
    out->value_bytes = value_bytes_for(s, out->key_hash);
    out->ttl_s = s->options->ttl_s;
    out->is_filled = true;
    s->yielded++;
}

static void advance_phase(struct source *s) {
    const struct options *o = s->options;
    double phase = o->shift_every.seconds > 0
                       ? s->elapsed_s / o->shift_every.seconds
                       : (double)(s->yielded * o->threads) / (double)o->shift_every.requests;
    s->phase = phase < (double)o->shift.count ? (unsigned)phase : o->shift.count - 1;
}

static enum source_step mix_next(struct source *s, struct request *out) {
    const struct options *o = s->options;
    if (o->shift.count > 0) {
        advance_phase(s);
    }
    if (s->group_left > 0) {
        s->group_left--;
        out->verb = VERB_GET;
    } else if (o->reads_pct >= 100 || rng_unit(&s->rng) * 100 < o->reads_pct) {
        s->group_left = (unsigned)o->mget - 1;
        out->verb = VERB_GET;
    } else {
        out->verb = o->method;
    }
    yield_key(s, chooser_draw(&s->chooser, &s->rng) + s->phase * o->keys, out);
    return SOURCE_REQUEST;
}

static enum source_step insert_next(struct source *s, struct request *out) {
    if (s->next_id >= s->options->keys) {
        return SOURCE_END;
    }
    out->verb = VERB_SET;
    yield_key(s, s->next_id, out);
    s->next_id += s->options->threads;
    return SOURCE_REQUEST;
}

/* A line of a trace of one key in 64 stands for 64 keys: itself, and itself with a number behind. */
static void put_twin(struct request *out, uint64_t twin) {
    char text[24];
    unsigned bytes = (unsigned)snprintf(text, sizeof(text), "~%llu", (unsigned long long)twin);
    unsigned at = out->key_bytes + bytes <= KEY_MAX_BYTES ? out->key_bytes : KEY_MAX_BYTES - bytes;
    memcpy(out->key + at, text, bytes);
    out->key_bytes = at + bytes;
}

/* The next line of the trace, unless the last one is to be yielded again. A replay is exact, so an unreadable line ends it. */
static enum source_step next_line(struct source *s) {
    if (s->line_left == 0) {
        switch (trace_next(s->trace, &s->line)) {
        case TRACE_BROKEN:
            snprintf(s->failure, sizeof(s->failure), "%s", trace_error(s->trace));
            return SOURCE_FAILED;
        case TRACE_END:
            break;
        case TRACE_REQUEST:
            s->line_left = s->line.times * s->twins;
            break;
        }
    }
    if (trace_bad_lines(s->trace) > 0) {
        snprintf(s->failure, sizeof(s->failure), "%.200s, %.300s", s->options->replay,
                 trace_first_bad(s->trace));
        return SOURCE_FAILED;
    }
    return s->line_left > 0 ? SOURCE_REQUEST : SOURCE_END;
}

/* A miss is filled with the trace's last store of the key, because a read has no time to live and may have no size. False: no memory. */
static bool recall_value(struct source *s, struct request *out) {
    struct simulate_value value = {(uint32_t)out->value_bytes, (uint32_t)out->ttl_s};
    if (out->verb == VERB_SET) {
        if (s->recall == NULL) {
            s->recall = simulate_recall_create();
        }
        return s->recall != NULL && simulate_recall_put(s->recall, out->key_hash, value);
    }
    if (out->verb == VERB_GET && s->recall != NULL &&
        simulate_recall_get(s->recall, out->key_hash, &value)) {
        out->value_bytes = s->line.has_size ? out->value_bytes : value.value_bytes;
        out->ttl_s = value.ttl_s;
        out->is_filled = true;
    }
    return true;
}

static void set_value(struct source *s, struct request *out) {
    const struct options *o = s->options;
    const struct trace_request *line = &s->line;
    out->value_bytes = line->has_size ? line->value_bytes : value_bytes_for(s, out->key_hash);
    if (o->scale != 1) {
        double scaled = (double)out->value_bytes * o->scale + 0.5;
        out->value_bytes =
            scaled < (double)TRACE_VALUE_BYTES_MAX ? (uint64_t)scaled : TRACE_VALUE_BYTES_MAX;
    }
    /* a client's seconds beyond a month would be a date */
    out->ttl_s = line->ttl_s == 0 ? o->ttl_s : line->ttl_s < TTL_MAX_S ? line->ttl_s : TTL_MAX_S;
    out->is_filled = line->has_size || !trace_format_has_verbs(trace_format(s->trace));
}

static enum source_step trace_step(struct source *s, struct request *out) {
    static const enum verb verbs[] = {
        [TRACE_GET] = VERB_GET, [TRACE_SET] = VERB_SET, [TRACE_DELETE] = VERB_DELETE};
    const struct options *o = s->options;
    if (o->limit > 0 && s->yielded == o->limit) {
        return SOURCE_END;
    }
    enum source_step step = next_line(s);
    if (step != SOURCE_REQUEST) {
        return step;
    }
    uint64_t twin = s->twin;
    s->twin = (s->twin + 1) % s->twins;
    s->line_left--;
    out->verb = verbs[s->line.verb];
    memcpy(out->key, s->line.key, s->line.key_bytes);
    out->key_bytes = s->line.key_bytes;
    if (twin > 0) {
        put_twin(out, twin);
    }
    out->key_hash = value_key_hash(out->key, out->key_bytes);
    out->time_ms = s->line.time_ms;
    set_value(s, out);
    if (!recall_value(s, out)) {
        snprintf(s->failure, sizeof(s->failure), "out of memory for the keys of the trace");
        return SOURCE_FAILED;
    }
    s->yielded++;
    return SOURCE_REQUEST;
}

enum source_step source_next(struct source *s, struct request *out) {
    switch (s->kind) {
    case SOURCE_MIX:
        return mix_next(s, out);
    case SOURCE_INSERT:
        return insert_next(s, out);
    case SOURCE_TRACE:
        return trace_step(s, out);
    }
    return SOURCE_END;
}

void source_set_time(struct source *s, double elapsed_s) {
    s->elapsed_s = elapsed_s;
}

unsigned source_phase(const struct source *s) {
    return s->phase;
}

const char *source_error(const struct source *s) {
    return s->failure;
}

void source_destroy(struct source **s) {
    if (*s != NULL) {
        trace_close(&(*s)->trace);
        simulate_recall_destroy(&(*s)->recall);
        free(*s);
        *s = NULL;
    }
}
