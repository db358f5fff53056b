#include "serve/tell_shared.h"

#include <stdlib.h>

#include "base/clock.h"

enum { TELL_BYTES = 4096 };

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
    if (s->made.failed || (!more && !shared_made(s->shared, &s->seat, &s->made,
                                                 age_us(s, ctx->server->cache)))) {
        return false;
    }
    if (!more) {
        s->part = SHARED_HAS;
        end(s); /* ended here, because the answer may wait long for its reader */
    }
    return true;
}

/* Returns whether something is left to send. */
static bool tell_some(struct share *s, struct command_context *ctx) {
    const struct text_out *text = &s->seat.text->out;
    do {
        size_t left = text->used - s->told_bytes, n = left < TELL_BYTES ? left : TELL_BYTES;
        text_out_bytes(ctx->out, text->bytes + s->told_bytes, n);
        s->told_bytes += n;
    } while (s->told_bytes < text->used && !command_piece_full(ctx));
    return s->told_bytes < text->used;
}

static bool share_run(struct command_more *more, struct command_context *ctx) {
    struct share *s = (struct share *)more;
    if (s->part == SHARED_WAITS) {
        s->part = shared_sit(s->shared, &s->seat);
    }
    if (s->part == SHARED_MAKES && !make_some(s, ctx)) {
        ctx->out->failed = true;
        return false;
    }
    more->asleep = s->part == SHARED_WAITS;
    return s->part != SHARED_HAS || tell_some(s, ctx);
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
