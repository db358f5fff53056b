/* The pieces of a long answer. */
#include "serve/command.h"

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
