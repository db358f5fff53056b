#include "batch.h"

#include <stdio.h>

#include "value.h"

/* Longest command line around a key: verb, flags, expiry time, length, noreply, fence. */
#define COMMAND_BYTES_MAX 128

/* ---------------------------------------------------------------- set of keys in one batch */

static bool keyset_init(struct keyset *k, uint64_t keys_max) {
    uint32_t room = 64;
    while (room < 4 * keys_max) {
        room *= 2;
    }
    k->slots = calloc(room, sizeof(*k->slots));
    k->mask = room - 1;
    return k->slots != NULL;
}

static void keyset_clear(struct keyset *k) {
    memset(k->slots, 0, sizeof(*k->slots) * ((size_t)k->mask + 1));
}

/* False when the key is in already. */
static bool keyset_add(struct keyset *k, uint64_t key_hash) {
    uint64_t wanted = key_hash | 1; /* 0 marks an empty slot */
    uint32_t at = (uint32_t)(key_hash >> 32) & k->mask;
    while (k->slots[at] != 0) {
        if (k->slots[at] == wanted) {
            return false;
        }
        at = (at + 1) & k->mask;
    }
    k->slots[at] = wanted;
    return true;
}

/* ---------------------------------------------------------------- life */

bool batcher_init(struct batcher *b, const struct options *o, struct source *source,
                  struct tally *tally, uint64_t seed) {
    *b = (struct batcher){.options = o, .source = source, .tally = tally, .rng = rng_from(seed)};
    return o->replay == NULL || keyset_init(&b->seen, o->pipeline * o->mget);
}

void batcher_fini(struct batcher *b) {
    free(b->seen.slots);
    buffer_fini(&b->spare);
}

void batch_fini(struct batch *t) {
    buffer_fini(&t->out);
    free(t->ops);
    free(t->groups);
    *t = (struct batch){0};
}

static void batch_clear(struct batch *t, bool filling) {
    t->out.n = 0;
    t->op_count = t->group_count = t->group_at = t->op_at = t->missed = t->answered = 0;
    t->filling = filling;
}

/* ---------------------------------------------------------------- commands */

static bool out_of_memory(struct batcher *b) {
    snprintf(b->failure, sizeof(b->failure), "out of memory");
    return false;
}

static struct op *new_op(struct batch *t) {
    if (t->op_count == t->op_room) {
        uint32_t room = t->op_room ? 2 * t->op_room : 16;
        struct op *grown = realloc(t->ops, room * sizeof(*grown));
        if (grown == NULL) {
            return NULL;
        }
        t->ops = grown;
        t->op_room = room;
    }
    return &t->ops[t->op_count++];
}

static struct group *new_group(struct batch *t, enum group_kind kind, uint64_t due_ns) {
    if (t->group_count == t->group_room) {
        uint32_t room = t->group_room ? 2 * t->group_room : 16;
        struct group *grown = realloc(t->groups, room * sizeof(*grown));
        if (grown == NULL) {
            return NULL;
        }
        t->groups = grown;
        t->group_room = room;
    }
    struct group *g = &t->groups[t->group_count++];
    *g = (struct group){.kind = kind, .first = t->op_count, .due_ns = due_ns};
    return g;
}

static inline void put_text(struct buffer *out, const char *text) {
    buffer_put(out, text, strlen(text));
}

static void put_number(struct buffer *out, uint64_t number) {
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    buffer_put(out, digits + at, sizeof(digits) - at);
}

/* Writes the key and notes its position. */
static struct op *put_key(struct batch *t, const char *key, unsigned key_bytes, uint64_t key_hash,
                          uint64_t value_bytes) {
    struct op *op = new_op(t);
    if (op != NULL) {
        *op = (struct op){.key_hash = key_hash,
                          .key_at = (uint32_t)t->out.n,
                          .value_bytes = (uint32_t)value_bytes,
                          .key_bytes = (uint8_t)key_bytes};
        buffer_put(&t->out, key, key_bytes);
    }
    return op;
}

/* The part of a storing command between key and data. */
static void put_store_tail(struct buffer *out, const struct options *o, uint64_t value_bytes,
                           uint64_t ttl_s) {
    if (o->meta) {
        put_text(out, " ");
        put_number(out, value_bytes);
        if (ttl_s > 0) {
            put_text(out, " T");
            put_number(out, ttl_s);
        }
    } else {
        put_text(out, " 0 ");
        put_number(out, ttl_s);
        put_text(out, " ");
        put_number(out, value_bytes);
    }
    put_text(out, !o->noreply ? "\r\n" : o->meta ? " q\r\n" : " noreply\r\n");
}

static bool put_store(struct batch *t, struct batcher *b, const char *key, unsigned key_bytes,
                      uint64_t key_hash, uint64_t value_bytes, uint64_t ttl_s) {
    const struct options *o = b->options;
    struct buffer *out = &t->out;
    if (!buffer_reserve(out, COMMAND_BYTES_MAX + KEY_MAX_BYTES + value_bytes)) {
        return out_of_memory(b);
    }
    put_text(out, o->meta ? "ms " : "set ");
    if (put_key(t, key, key_bytes, key_hash, value_bytes) == NULL) {
        return out_of_memory(b);
    }
    put_store_tail(out, o, value_bytes, ttl_s);
    value_fill(out->bytes + out->n, value_bytes, key_hash, (uint32_t)rng_next(&b->rng));
    out->n += value_bytes;
    put_text(out, "\r\n");
    return true;
}

static bool put_delete(struct batch *t, struct batcher *b, const struct request *r) {
    const struct options *o = b->options;
    struct buffer *out = &t->out;
    if (!buffer_reserve(out, COMMAND_BYTES_MAX + KEY_MAX_BYTES)) {
        return out_of_memory(b);
    }
    put_text(out, o->meta ? "md " : "delete ");
    if (put_key(t, r->key, r->key_bytes, r->key_hash, 0) == NULL) {
        return out_of_memory(b);
    }
    put_text(out, !o->noreply ? "\r\n" : o->meta ? " q\r\n" : " noreply\r\n");
    return true;
}

static bool put_fence(struct batch *t, struct batcher *b) {
    if (!buffer_reserve(&t->out, COMMAND_BYTES_MAX)) {
        return out_of_memory(b);
    }
    put_text(&t->out, b->options->meta ? "mn\r\n" : "version\r\n");
    return true;
}

/* ---------------------------------------------------------------- building */

/* A trace's time may step back: such a request is due already. */
static void set_due(struct pace *p, uint64_t time_ms) {
    if (!p->has_first) {
        p->has_first = true;
        p->first_ms = time_ms;
    }
    double since_ms = (double)time_ms - (double)p->first_ms;
    p->next_due_ns = p->start_ns + since_ms * 1e6 / p->speed;
}

/* Makes b->held the source's next request, unless there is one; false at the end or on failure. */
static bool hold_next(struct batcher *b) {
    if (b->has_held) {
        return true;
    }
    switch (source_next(b->source, &b->held)) {
    case SOURCE_REQUEST:
        b->has_held = true;
        if (b->pace.speed > 0) {
            set_due(&b->pace, b->held.time_ms);
        }
        return true;
    case SOURCE_END:
        b->ended = true;
        return false;
    case SOURCE_FAILED:
        b->ended = true;
        snprintf(b->failure, sizeof(b->failure), "%s", source_error(b->source));
        return false;
    }
    return false;
}

/* In a replay a key that repeats ends the batch, so that every get sees the effect of all earlier
 * gets and fills of its key, as if requests were made one at a time. */
static bool held_fits(struct batcher *b) {
    return b->seen.slots == NULL || keyset_add(&b->seen, b->held.key_hash);
}

static bool held_is_due(const struct batcher *b, uint64_t now_ns) {
    return b->pace.speed <= 0 || b->pace.next_due_ns <= (double)now_ns;
}

/* When the command that holds `count` requests was due, `due_ns` being when the first of them was;
 * moves the schedule of a rate on. */
static uint64_t take_due(struct batcher *b, double due_ns, uint64_t count, uint64_t now_ns) {
    struct pace *p = &b->pace;
    if (!pace_is_open(p)) {
        return now_ns;
    }
    if (p->interval_ns > 0) {
        p->next_due_ns += p->interval_ns * (double)count;
    }
    return (uint64_t)due_ns;
}

/* One get command of up to --mget keys; the first is held. False on failure. */
static bool add_gets(struct batch *t, struct batcher *b, uint64_t budget, uint64_t now_ns,
                     uint64_t *value_bytes) {
    const struct options *o = b->options;
    uint64_t count_max = budget < o->mget ? budget : o->mget;
    bool meta_mget = o->meta && o->mget > 1;
    double due_ns = b->pace.next_due_ns;
    struct group *g = new_group(t,
                                meta_mget ? GROUP_META_MGET
                                : o->meta ? GROUP_META_GET
                                          : GROUP_GET,
                                0);
    struct buffer *out = &t->out;

    if (g == NULL || !buffer_reserve(out, COMMAND_BYTES_MAX)) {
        return out_of_memory(b);
    }
    if (!o->meta) {
        put_text(out, "get");
    }
    do {
        if (!buffer_reserve(out, COMMAND_BYTES_MAX + KEY_MAX_BYTES)) {
            return out_of_memory(b);
        }
        put_text(out, o->meta ? "mg " : " ");
        struct op *op = put_key(t, b->held.key, b->held.key_bytes, b->held.key_hash,
                                b->held.value_bytes);
        if (op == NULL) {
            return out_of_memory(b);
        }
        op->is_filled = b->held.is_filled;
        op->ttl_s = (uint32_t)b->held.ttl_s;
        if (meta_mget) {
            put_text(out, " k v q\r\n");
        } else if (o->meta) {
            put_text(out, " k v\r\n");
        }
        *value_bytes += b->held.value_bytes;
        b->has_held = false;
        g->count++;
    } while (g->count < count_max && hold_next(b) && b->held.verb == VERB_GET &&
             held_is_due(b, now_ns) && held_fits(b));
    if (meta_mget) {
        put_text(out, "mn\r\n");
    } else if (!o->meta) {
        put_text(out, "\r\n");
    }
    g->due_ns = take_due(b, due_ns, g->count, now_ns);
    b->tally->gets += g->count;
    b->tally->phases[t->phase].gets += g->count;
    return b->failure[0] == '\0';
}

/* The group of a write: one of its own, or the open quiet run. */
static struct group *group_for(struct batch *t, struct batcher *b, enum verb verb,
                               uint64_t due_ns) {
    if (!b->options->noreply) {
        return new_group(t, verb == VERB_SET ? GROUP_WRITE : GROUP_OTHER, due_ns);
    }
    if (t->group_count > 0 && t->groups[t->group_count - 1].kind == GROUP_QUIET) {
        return &t->groups[t->group_count - 1];
    }
    return new_group(t, GROUP_QUIET, due_ns);
}

static bool add_write(struct batch *t, struct batcher *b, uint64_t now_ns) {
    const struct request *r = &b->held;
    struct group *g =
        group_for(t, b, r->verb, take_due(b, b->pace.next_due_ns, 1, now_ns));
    bool stores = r->verb == VERB_SET;
    if (g == NULL) {
        return out_of_memory(b);
    }
    g->count++;
    b->has_held = false;
    b->tally->sets += stores;
    b->tally->phases[t->phase].sets += stores;
    b->tally->others += !stores;
    return stores ? put_store(t, b, r->key, r->key_bytes, r->key_hash, r->value_bytes, r->ttl_s)
                  : put_delete(t, b, r);
}

/* A quiet run ends with a fence before a command that is answered, and at the end of the batch:
 * so an error line is known to belong to the run. */
static bool close_quiet_run(struct batch *t, struct batcher *b) {
    return t->group_count == 0 || t->groups[t->group_count - 1].kind != GROUP_QUIET ||
           put_fence(t, b);
}

uint64_t batch_build(struct batch *t, struct batcher *b, uint64_t budget, uint64_t now_ns) {
    const struct options *o = b->options;
    uint64_t value_bytes = 0, commands = 0;

    batch_clear(t, false);
    t->phase = source_phase(b->source);
    if (b->seen.slots != NULL) {
        keyset_clear(&b->seen);
    }
    while (commands < o->pipeline && t->op_count < budget && value_bytes < BATCH_BYTES_MAX) {
        if (b->pace.interval_ns > 0 && b->pace.next_due_ns > (double)now_ns) {
            break;
        }
        if (!hold_next(b) || !held_is_due(b, now_ns) || !held_fits(b)) {
            break;
        }
        bool good;
        if (b->held.verb == VERB_GET) {
            good =
                close_quiet_run(t, b) && add_gets(t, b, budget - t->op_count, now_ns, &value_bytes);
        } else {
            value_bytes += b->held.value_bytes;
            good = (o->noreply || close_quiet_run(t, b)) && add_write(t, b, now_ns);
        }
        if (!good) {
            return 0;
        }
        commands++;
    }
    if (b->failure[0] != '\0' || !close_quiet_run(t, b)) {
        return 0;
    }
    b->tally->requests += t->op_count;
    return t->op_count;
}

bool batch_build_fills(struct batch *t, struct batcher *b, uint64_t now_ns) {
    if (!b->options->fill_on_miss || t->filling || t->missed == 0) {
        return false;
    }
    /* The keys are in the requests just answered, whose bytes are kept aside while the sets are written. */
    struct buffer asked = t->out;
    uint32_t asked_ops = t->op_count, missed = 0;
    t->out = b->spare;
    b->spare = asked;
    batch_clear(t, true);
    for (uint32_t i = 0; i < asked_ops; i++) {
        struct op op = t->ops[i]; /* slots up to i are free to be written again */
        if (!op.missed || !op.is_filled) {
            continue;
        }
        missed++;
        struct group *g = group_for(t, b, VERB_SET, now_ns);
        if (g == NULL) {
            return out_of_memory(b);
        }
        g->count++;
        if (!put_store(t, b, asked.bytes + op.key_at, op.key_bytes, op.key_hash,
                       op.value_bytes, op.ttl_s)) {
            return false;
        }
    }
    b->tally->sets += missed;
    b->tally->fills += missed;
    b->tally->phases[t->phase].sets += missed;
    return missed > 0 && close_quiet_run(t, b);
}
