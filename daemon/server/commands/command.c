#include "server/commands/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

bool command_piece_full(const struct command_context *ctx) {
    return ctx->out->used >= ctx->piece_bytes || clock_mono_us() >= ctx->until_us;
}

void command_continue(struct command_more **taken, struct command_context *ctx) {
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

/* --- replies that another thread makes --- */

static bool command_wait_run(struct command_more *more, struct command_context *ctx) {
    struct command_wait *w = (struct command_wait *)more;
    if (!future_is_answered(w->future)) {
        more->asleep = true;
        return true;
    }
    return w->reply(w, ctx);
}

static void command_wait_destroy(struct command_more *more) {
    command_wait_end((struct command_wait *)more);
}

void command_wait_begin(struct command_wait *w, struct command_context *ctx, struct future *future,
                        bool (*reply)(struct command_wait *, struct command_context *),
                        void (*destroy)(struct command_wait *)) {
    w->more = (struct command_more){
        .run = command_wait_run, .destroy = command_wait_destroy, .asleep = true};
    w->future = future;
    w->reply = reply;
    w->destroy = destroy;
    future_wake(future, ctx->wake, ctx->wake_arg);
}

void command_wait_end(struct command_wait *w) {
    future_wake(w->future, NULL, NULL); /* the worker may end before the reply comes */
    w->destroy(w);
}

/* --- orders --- */

enum { WRITE_BYTES = 4096 };

/* True: bytes are left to send. */
static bool command_write_text(const struct text_out *text, size_t *written_bytes,
                               struct command_context *ctx) {
    do {
        size_t left = text->used - *written_bytes, n = left;
        const char *at = text->bytes + *written_bytes;
        if (left > WRITE_BYTES) { /* up to the end of a line */
            const char *feed = memchr(at + WRITE_BYTES - 1, '\n', left - WRITE_BYTES + 1);
            n = feed != NULL ? (size_t)(feed + 1 - at) : left;
        }
        text_out_bytes(ctx->out, at, n);
        *written_bytes += n;
    } while (*written_bytes < text->used && !command_piece_full(ctx));
    return *written_bytes < text->used;
}

/* Owned by the control thread until the order is answered, then by the session if it still
 * exists. */
struct command_order {
    struct control_order   order; /* first */
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
    struct command_wait        waiting; /* first */
    struct command_order *order;
    size_t                written_bytes;
};

static void command_order_run(struct control_order *order, uint64_t now_us) {
    struct command_order *o = (struct command_order *)order;
    struct words words;
    (void)now_us;
    words_split(o->line, o->ctx.line_bytes, &words);
    words.count = o->word_count;
    future_hold(&order->future); /* `run` may answer the order, and the session may be gone */
    o->run(&o->ctx, &words);
    if (!o->deferred) {
        control_order_answer(order);
    }
    control_order_release(order);
}

static void command_order_destroy(struct control_order *order) {
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
    control_order_init(&o->order, command_order_run, command_order_destroy);
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
        .piece_bytes = SIZE_MAX, /* in one piece */
        .until_us = UINT64_MAX,
        .counters = &ctx->server->orders,
    };
    return o;
}

static bool command_ordered_reply(struct command_wait *w, struct command_context *ctx) {
    struct ordered *s = (struct ordered *)w;
    ctx->close = s->order->ctx.close;
    ctx->out->failed |= s->order->out.failed;
    return command_write_text(&s->order->out, &s->written_bytes, ctx);
}

static void command_ordered_destroy(struct command_wait *w) {
    struct ordered *s = (struct ordered *)w;
    control_order_release(&s->order->order);
    free(s);
}

void command_order(struct command_context *ctx, const struct words *words, command_words run) {
    struct command_order *o = command_order_create(ctx, words, run);
    struct ordered *s = calloc(1, sizeof *s);
    if (o == NULL || s == NULL) {
        if (o != NULL) {
            control_order_release(&o->order);
        }
        free(s);
        ctx->out->failed = true;
        return;
    }
    s->order = o;
    command_wait_begin(&s->waiting, ctx, &o->order.future, command_ordered_reply,
                       command_ordered_destroy);
    control_post(server_control(ctx->server), &o->order);
    ctx->more = &s->waiting.more;
}

void command_defer(struct command_context *ctx) { ctx->order->deferred = true; }

void command_answered(struct command_context *ctx) { control_order_answer(&ctx->order->order); }

/* --- long answers --- */

struct pieces {
    struct command_more more; /* first: the session knows only this */
    command_piece_write        write;
    uint32_t            next;
    _Alignas(max_align_t) char state[];
};

/* False: this was the last piece. */
static bool command_write_piece(struct command_context *ctx, command_piece_write write,
                                uint32_t *next, void *state) {
    if (write(ctx, next, state)) {
        return true;
    }
    text_out_str(ctx->out, "END\r\n");
    return false;
}

static bool command_pieces_run(struct command_more *more, struct command_context *ctx) {
    struct pieces *p = (struct pieces *)more;
    return command_write_piece(ctx, p->write, &p->next, p->state);
}

static void command_pieces_destroy(struct command_more *more) { free(more); }

void command_answer_pieces(struct command_context *ctx, command_piece_write write, uint32_t first,
                           void *state, size_t state_bytes) {
    uint32_t next = first;
    if (!command_write_piece(ctx, write, &next, state)) {
        return;
    }
    struct pieces *p = malloc(sizeof *p + state_bytes);
    if (!p) {
        ctx->out->failed = true;
        return;
    }
    p->more = (struct command_more){.run = command_pieces_run, .destroy = command_pieces_destroy};
    p->write = write;
    p->next = next;
    if (state_bytes > 0) {
        memcpy(p->state, state, state_bytes);
    }
    ctx->more = &p->more;
}

/* --- coalesced replies --- */

struct share {
    struct command_more       more; /* first: the session knows only this */
    struct coalesced_reply   *shared;
    struct coalesced_waiter   waiter;
    const struct coalesced_maker *maker;
    enum coalesced_part       part;
    void                     *state; /* the maker's; NULL: this session makes nothing */
    struct text_out           made;
    uint64_t                  cost_us;
    size_t                    written_bytes;
};

static bool command_share_begin(struct share *s, struct command_context *ctx) {
    s->state = calloc(1, s->maker->state_bytes);
    return s->state != NULL && s->maker->begin(s->state, ctx);
}

static void command_share_end(struct share *s) {
    if (s->state != NULL) {
        s->maker->end(s->state);
        free(s->state);
        s->state = NULL;
    }
}

/* Returns for how long the answer may be reused. */
static uint64_t command_share_age_us(const struct share *s, struct cache *c) {
    struct cache_facts f;
    cache_facts(c, &f);
    return f.items < COALESCED_MANY_ITEMS ? 0 : s->cost_us * COALESCED_AGE_COSTS;
}

/* False: out of memory. */
static bool command_share_make(struct share *s, struct command_context *ctx) {
    uint64_t begun_us = clock_thread_us();
    if (s->state == NULL && !command_share_begin(s, ctx)) {
        return false;
    }
    bool more = s->maker->go_on(s->state, ctx, &s->made);
    s->cost_us += clock_thread_us() - begun_us;
    if (s->made.failed ||
        (!more && !coalesced_publish(s->shared, &s->waiter, &s->made,
                                     command_share_age_us(s, ctx->server->cache), ctx->now_us))) {
        return false;
    }
    if (!more) {
        s->part = COALESCED_READY;
        command_share_end(s); /* frees the state now, because sending may take long */
    }
    return true;
}

static bool command_share_run(struct command_more *more, struct command_context *ctx) {
    struct share *s = (struct share *)more;
    if (s->part == COALESCED_WAIT) {
        s->part = coalesced_join(s->shared, &s->waiter, ctx->now_us);
    }
    if (s->part == COALESCED_MAKE && !command_share_make(s, ctx)) {
        ctx->out->failed = true;
        return false;
    }
    more->asleep = s->part == COALESCED_WAIT;
    return s->part != COALESCED_READY ||
           command_write_text(&s->waiter.text->out, &s->written_bytes, ctx);
}

static void command_share_destroy(struct command_more *more) {
    struct share *s = (struct share *)more;
    coalesced_leave(s->shared, &s->waiter);
    command_share_end(s);
    text_out_fini(&s->made);
    free(s);
}

void command_answer_coalesced(struct command_context *ctx, struct coalesced_reply *shared,
                              const struct coalesced_maker *maker) {
    struct share *s = calloc(1, sizeof *s);
    if (s == NULL) {
        ctx->out->failed = true;
        return;
    }
    s->more = (struct command_more){.run = command_share_run, .destroy = command_share_destroy};
    s->shared = shared;
    s->maker = maker;
    s->part = COALESCED_WAIT;
    s->waiter = (struct coalesced_waiter){.wake = ctx->wake, .wake_arg = ctx->wake_arg};
    text_out_init(&s->made);
    if (command_share_run(&s->more, ctx)) {
        ctx->more = &s->more;
    } else {
        command_share_destroy(&s->more);
    }
}
