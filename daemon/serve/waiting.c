#include "serve/waiting.h"

static bool waiting_run(struct command_more *more, struct command_context *ctx) {
    struct waiting *w = (struct waiting *)more;
    if (!asked_is_answered(w->asked)) {
        more->asleep = true;
        return true;
    }
    w->tell(w, ctx);
    return false;
}

static void waiting_destroy(struct command_more *more) { waiting_end((struct waiting *)more); }

void waiting_begin(struct waiting *w, struct command_context *ctx, struct asked *asked,
                   void (*tell)(struct waiting *, struct command_context *),
                   void (*destroy)(struct waiting *)) {
    w->more = (struct command_more){.run = waiting_run, .destroy = waiting_destroy, .asleep = true};
    w->asked = asked;
    w->tell = tell;
    w->destroy = destroy;
    asked_wake(asked, ctx->wake, ctx->wake_arg);
}

void waiting_end(struct waiting *w) {
    asked_wake(w->asked, NULL, NULL); /* the worker may be gone before the answer */
    w->destroy(w);
}
