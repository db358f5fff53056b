#include "server/commands/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

bool command_piece_full(const struct command_context *ctx) {
    return ctx->out->used >= ctx->piece_bytes || clock_mono_us() >= ctx->until_us;
}

void command_go_on(struct command_more **taken, struct command_context *ctx) {
    struct command_more *more = *taken;
    size_t before = ctx->out->used;
    more->asleep = false;
    bool   goes_on = more->run(more, ctx) && !ctx->out->failed;
    if (more->mute) {
        ctx->out->used = before;
    }
    if (!goes_on) {
        more->destroy(more);
        *taken = NULL;
    }
}

/* --- answers that another thread makes --- */

static bool waiting_run(struct command_more *more, struct command_context *ctx) {
    struct waiting *w = (struct waiting *)more;
    if (!future_is_answered(w->future)) {
        more->asleep = true;
        return true;
    }
    return w->tell(w, ctx);
}

static void waiting_destroy(struct command_more *more) { waiting_end((struct waiting *)more); }

void waiting_begin(struct waiting *w, struct command_context *ctx, struct future *future,
                   bool (*tell)(struct waiting *, struct command_context *),
                   void (*destroy)(struct waiting *)) {
    w->more = (struct command_more){.run = waiting_run, .destroy = waiting_destroy, .asleep = true};
    w->future = future;
    w->tell = tell;
    w->destroy = destroy;
    future_wake(future, ctx->wake, ctx->wake_arg);
}

void waiting_end(struct waiting *w) {
    future_wake(w->future, NULL, NULL); /* the worker may be gone before the answer */
    w->destroy(w);
}

/* --- orders --- */

enum { TELL_BYTES = 4096 };

/* Returns whether something is left to send. */
static bool tell_text(const struct text_out *text, size_t *told_bytes,
                      struct command_context *ctx) {
    do {
        size_t left = text->used - *told_bytes, n = left;
        const char *at = text->bytes + *told_bytes;
        if (left > TELL_BYTES) { /* whole lines */
            const char *feed = memchr(at + TELL_BYTES - 1, '\n', left - TELL_BYTES + 1);
            n = feed != NULL ? (size_t)(feed + 1 - at) : left;
        }
        text_out_bytes(ctx->out, at, n);
        *told_bytes += n;
    } while (*told_bytes < text->used && !command_piece_full(ctx));
    return *told_bytes < text->used;
}

/* The control thread's until it is answered; then the session's, if that is still there. */
struct command_order {
    struct order           order; /* first */
    struct command_context ctx;
    struct text_out        out;
    command_words          run;
    bool                   deferred;
    unsigned               word_count;
    char                   who[AUDIT_WHO_BYTES];
    char                   line[];
};

/* A session that sleeps until its order is answered. */
struct ordered {
    struct waiting        waiting; /* first */
    struct command_order *order;
    size_t                told_bytes;
};

static void command_order_run(struct order *order, uint64_t now_us) {
    struct command_order *o = (struct command_order *)order;
    struct words words;
    (void)now_us;
    words_split(o->line, o->ctx.line_bytes, &words);
    words.count = o->word_count;
    future_hold(&order->future); /* `run` may answer, and the session may be gone */
    o->run(&o->ctx, &words);
    if (!o->deferred) {
        order_answer(order);
    }
    order_release(order);
}

static void command_order_destroy(struct order *order) {
    struct command_order *o = (struct command_order *)order;
    text_out_fini(&o->out);
    free(o);
}

static struct command_order *command_order_create(const struct command_context *ctx,
                                                  const struct words *words, command_words run) {
    struct command_order *o = malloc(sizeof *o + ctx->line_bytes);
    if (o == NULL) {
        return NULL;
    }
    order_init(&o->order, command_order_run, command_order_destroy);
    o->run = run;
    o->deferred = false;
    o->word_count = words->count;
    memcpy(o->line, ctx->line, ctx->line_bytes);
    snprintf(o->who, sizeof o->who, "%s", ctx->who != NULL ? ctx->who : "-");
    text_out_init(&o->out);
    o->ctx = (struct command_context){
        .server = ctx->server,
        .who = o->who,
        .role = ctx->role,
        .order = o,
        .line = o->line,
        .line_bytes = ctx->line_bytes,
        .noreply = ctx->noreply,
        .out = &o->out,
        .piece_bytes = SIZE_MAX, /* all at once */
        .until_us = UINT64_MAX,
        .counters = &ctx->server->orders,
    };
    return o;
}

static bool ordered_tell(struct waiting *w, struct command_context *ctx) {
    struct ordered *s = (struct ordered *)w;
    ctx->close = s->order->ctx.close;
    ctx->out->failed |= s->order->out.failed;
    return tell_text(&s->order->out, &s->told_bytes, ctx);
}

static void ordered_destroy(struct waiting *w) {
    struct ordered *s = (struct ordered *)w;
    order_release(&s->order->order);
    free(s);
}

void command_order(struct command_context *ctx, const struct words *words, command_words run) {
    struct command_order *o = command_order_create(ctx, words, run);
    struct ordered *s = calloc(1, sizeof *s);
    if (o == NULL || s == NULL) {
        if (o != NULL) {
            order_release(&o->order);
        }
        free(s);
        ctx->out->failed = true;
        return;
    }
    s->order = o;
    waiting_begin(&s->waiting, ctx, &o->order.future, ordered_tell, ordered_destroy);
    control_post(server_control(ctx->server), &o->order);
    ctx->more = &s->waiting.more;
}

void command_defer(struct command_context *ctx) { ctx->order->deferred = true; }

void command_answered(struct command_context *ctx) { order_answer(&ctx->order->order); }

/* --- long answers --- */

struct pieces {
    struct command_more more; /* first: the session knows only this */
    pieces_write        write;
    uint32_t            next;
    _Alignas(max_align_t) char state[];
};

/* False: it was the last piece. */
static bool write_piece(struct command_context *ctx, pieces_write write, uint32_t *next,
                        void *state) {
    if (write(ctx, next, state)) {
        return true;
    }
    text_out_str(ctx->out, "END\r\n");
    return false;
}

static bool pieces_run(struct command_more *more, struct command_context *ctx) {
    struct pieces *p = (struct pieces *)more;
    return write_piece(ctx, p->write, &p->next, p->state);
}

static void pieces_destroy(struct command_more *more) { free(more); }

void pieces_answer(struct command_context *ctx, pieces_write write, uint32_t first, void *state,
                   size_t state_bytes) {
    uint32_t next = first;
    if (!write_piece(ctx, write, &next, state)) {
        return;
    }
    struct pieces *p = malloc(sizeof *p + state_bytes);
    if (!p) {
        ctx->out->failed = true;
        return;
    }
    p->more = (struct command_more){.run = pieces_run, .destroy = pieces_destroy};
    p->write = write;
    p->next = next;
    if (state_bytes > 0) {
        memcpy(p->state, state, state_bytes);
    }
    ctx->more = &p->more;
}

/* --- answers that are shared --- */

struct share {
    struct command_more       more; /* first: the session knows only this */
    struct shared_answer     *shared;
    struct shared_seat        seat;
    const struct shared_maker *maker;
    enum shared_part          part;
    void                     *state; /* of the maker; NULL: it makes nothing */
    struct text_out           made;
    uint64_t                  cost_us;
    size_t                    told_bytes;
};

static bool begin(struct share *s, struct command_context *ctx) {
    s->state = calloc(1, s->maker->state_bytes);
    return s->state != NULL && s->maker->begin(s->state, ctx);
}

static void end(struct share *s) {
    if (s->state != NULL) {
        s->maker->end(s->state);
        free(s->state);
        s->state = NULL;
    }
}

/* How long the answer serves. */
static uint64_t age_us(const struct share *s, struct cache *c) {
    struct cache_facts f;
    cache_facts(c, &f);
    return f.items < SHARED_MANY_ITEMS ? 0 : s->cost_us * SHARED_AGE_COSTS;
}

/* False: out of memory. */
static bool make_some(struct share *s, struct command_context *ctx) {
    uint64_t begun_us = clock_thread_us();
    if (s->state == NULL && !begin(s, ctx)) {
        return false;
    }
    bool more = s->maker->go_on(s->state, ctx, &s->made);
    s->cost_us += clock_thread_us() - begun_us;
    if (s->made.failed ||
        (!more && !shared_made(s->shared, &s->seat, &s->made, age_us(s, ctx->server->cache),
                               ctx->now_us))) {
        return false;
    }
    if (!more) {
        s->part = SHARED_HAS;
        end(s); /* ended here, because the answer may wait long for its reader */
    }
    return true;
}

static bool share_run(struct command_more *more, struct command_context *ctx) {
    struct share *s = (struct share *)more;
    if (s->part == SHARED_WAITS) {
        s->part = shared_sit(s->shared, &s->seat, ctx->now_us);
    }
    if (s->part == SHARED_MAKES && !make_some(s, ctx)) {
        ctx->out->failed = true;
        return false;
    }
    more->asleep = s->part == SHARED_WAITS;
    return s->part != SHARED_HAS || tell_text(&s->seat.text->out, &s->told_bytes, ctx);
}

static void share_destroy(struct command_more *more) {
    struct share *s = (struct share *)more;
    shared_leave(s->shared, &s->seat);
    end(s);
    text_out_fini(&s->made);
    free(s);
}

void tell_shared(struct command_context *ctx, struct shared_answer *shared,
                  const struct shared_maker *maker) {
    struct share *s = calloc(1, sizeof *s);
    if (s == NULL) {
        ctx->out->failed = true;
        return;
    }
    s->more = (struct command_more){.run = share_run, .destroy = share_destroy};
    s->shared = shared;
    s->maker = maker;
    s->part = SHARED_WAITS;
    s->seat = (struct shared_seat){.wake = ctx->wake, .wake_arg = ctx->wake_arg};
    text_out_init(&s->made);
    if (share_run(&s->more, ctx)) {
        ctx->more = &s->more;
    } else {
        share_destroy(&s->more);
    }
}
