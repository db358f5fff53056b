/* The second half of a batch's life: its replies. */
#include <stdio.h>

#include "batch.h"
#include "reply.h"
#include "value.h"

static bool breach(struct batcher *b, const char *what, const char *text, size_t text_bytes) {
    char clean[SAMPLE_BYTES];
    sample_copy(clean, text, text_bytes);
    snprintf(b->failure, sizeof(b->failure), "%s: '%s'", what, clean);
    return false;
}

static void note_error(struct batch *t, struct batcher *b, const struct reply *r) {
    samples_add(&b->tally->errors, r->line, r->line_bytes, 1);
    sample_copy(t->last_error, r->line, r->line_bytes);
    b->tally->phases[t->phase].errors++;
}

static void note_wrong(struct batcher *b, const char *key, size_t key_bytes, size_t value_bytes,
                       const char *what) {
    char text[SAMPLE_BYTES];
    int n = snprintf(text, sizeof(text), "%.*s (%zu bytes): %s", (int)key_bytes, key, value_bytes,
                     what);
    samples_add(&b->tally->wrong, text, (size_t)n, 1);
}

static void note_hit(struct batch *t, struct batcher *b, const struct op *op,
                     const struct reply *r) {
    uint64_t every = b->options->verify_every;
    b->tally->hits++;
    b->tally->hit_bytes += r->value_bytes;
    b->tally->phases[t->phase].hits++;
    if (every == 0 || ++b->verify_tick < every) {
        return;
    }
    b->verify_tick = 0;
    b->tally->verified++;
    enum value_state state = value_check(r->value, r->value_bytes, op->key_hash);
    if (state != VALUE_RIGHT) {
        note_wrong(b, t->out.bytes + op->key_at, op->key_bytes, r->value_bytes,
                   value_state_text(state));
    }
}

static void note_misses(struct batch *t, struct batcher *b, uint32_t upto) {
    b->tally->misses += upto - t->op_at;
    t->missed += upto - t->op_at;
    while (t->op_at < upto) {
        t->ops[t->op_at++].missed = true;
    }
}

static void finish_group(struct batch *t, struct batcher *b, const struct group *g,
                         uint64_t now_ns) {
    bool is_read = g->kind == GROUP_GET || g->kind == GROUP_META_GET || g->kind == GROUP_META_MGET;
    uint64_t latency_ns = now_ns > g->due_ns ? now_ns - g->due_ns : 0;
    histogram_record(is_read ? &b->tally->read_latency : &b->tally->write_latency, latency_ns,
                     g->count);
    t->group_at++;
    t->op_at = g->first + g->count;
    t->answered = 0;
}

/* Values come in the order of the keys; skipped keys were misses. */
static void take_value(struct batch *t, struct batcher *b, const struct group *g,
                       const struct reply *r) {
    uint32_t end = g->first + g->count;
    for (uint32_t i = t->op_at; i < end; i++) {
        const struct op *op = &t->ops[i];
        if (r->key == NULL || (op->key_bytes == r->key_bytes &&
                               memcmp(t->out.bytes + op->key_at, r->key, r->key_bytes) == 0)) {
            note_misses(t, b, i);
            note_hit(t, b, op, r);
            t->op_at = i + 1;
            return;
        }
    }
    note_wrong(b, r->key, r->key_bytes, r->value_bytes, "this key was not requested");
}

static bool take_get(struct batch *t, struct batcher *b, const struct group *g,
                     const struct reply *r, uint64_t now_ns) {
    bool single = g->kind == GROUP_META_GET;
    switch (r->kind) {
    case REPLY_VALUE:
        take_value(t, b, g, r);
        if (single) {
            finish_group(t, b, g, now_ns);
        }
        return true;
    case REPLY_ERROR:
        note_error(t, b, r);
        if (g->kind != GROUP_META_MGET) {
            finish_group(t, b, g, now_ns);
        }
        return true;
    case REPLY_END:
    case REPLY_FENCE:
    case REPLY_NOT_FOUND:
        if (r->kind != (single                 ? REPLY_NOT_FOUND
                        : g->kind == GROUP_GET ? REPLY_END
                                               : REPLY_FENCE)) {
            return false;
        }
        note_misses(t, b, g->first + g->count);
        finish_group(t, b, g, now_ns);
        return true;
    case REPLY_DONE:
    case REPLY_NOT_STORED:
    case REPLY_EXISTS:
    case REPLY_MORE:
    case REPLY_BAD:
        break;
    }
    return false;
}

/* One line about one write or other command; false when it cannot answer that. */
static bool take_line(struct batch *t, struct batcher *b, bool stores, const struct reply *r) {
    switch (r->kind) {
    case REPLY_DONE:
        (*(stores ? &b->tally->stored : &b->tally->found))++;
        return true;
    case REPLY_NOT_STORED:
    case REPLY_EXISTS:
        b->tally->not_stored += stores;
        return stores;
    case REPLY_NOT_FOUND:
        (*(stores ? &b->tally->not_stored : &b->tally->not_found))++;
        return true;
    case REPLY_ERROR:
        note_error(t, b, r);
        return true;
    case REPLY_VALUE:
    case REPLY_END:
    case REPLY_FENCE:
    case REPLY_MORE:
    case REPLY_BAD:
        break;
    }
    return false;
}

static bool take_quiet(struct batch *t, struct batcher *b, const struct group *g,
                       const struct reply *r, uint64_t now_ns) {
    if (r->kind == REPLY_FENCE) {
        b->tally->unconfirmed += g->count > t->answered ? g->count - t->answered : 0;
        finish_group(t, b, g, now_ns);
        return true;
    }
    t->answered++;
    return r->kind != REPLY_DONE && take_line(t, b, b->options->method == VERB_SET, r);
}

static bool take(struct batch *t, struct batcher *b, const struct reply *r, uint64_t now_ns) {
    const struct group *g = &t->groups[t->group_at];
    switch (g->kind) {
    case GROUP_GET:
    case GROUP_META_GET:
    case GROUP_META_MGET:
        return take_get(t, b, g, r, now_ns);
    case GROUP_WRITE:
    case GROUP_OTHER:
        if (!take_line(t, b, g->kind == GROUP_WRITE, r)) {
            return false;
        }
        finish_group(t, b, g, now_ns);
        return true;
    case GROUP_QUIET:
        return take_quiet(t, b, g, r, now_ns);
    }
    return false;
}

size_t batch_feed(struct batch *t, struct batcher *b, const char *bytes, size_t n, uint64_t now_ns,
                  size_t *needed) {
    size_t at = 0;
    struct reply r;

    *needed = 0;
    while (!batch_is_answered(t) && at < n) {
        reply_parse(bytes + at, n - at, &r);
        if (r.kind == REPLY_MORE) {
            *needed = r.needed;
            return at;
        }
        if (r.kind == REPLY_BAD) {
            breach(b, "the server sent what is no reply of the protocol", r.line, r.line_bytes);
            return at;
        }
        t->last_error[0] = '\0';
        if (!take(t, b, &r, now_ns)) {
            breach(b, "the server sent an unexpected reply", r.line, r.line_bytes);
            return at;
        }
        at += r.used;
    }
    if (at < n) {
        breach(b, "the server sent more than was requested", bytes + at, n - at);
    }
    return at;
}
