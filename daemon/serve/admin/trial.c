/* A mode of automove that is tried before it is set: a policy in Lua, on a thread of its own. The
 * session sleeps until then, and other connections go on. */
#include <stdlib.h>
#include <string.h>

#include "serve/admin/admin.h"

struct tried {
    struct waiting         waiting; /* first */
    struct automove_trial *trial;
    const char            *subject; /* what is refused; the reason follows it */
    admin_tried            then;    /* answers, as the mode starts */
};

static void set_tried(struct command_context *ctx, const struct automove_trial *trial,
                      const char *subject) {
    struct settings from, to;
    char why[SETTING_WHY_BYTES];
    server_settings(ctx->server, &from);
    to = from;
    bool set = setting_set(&to, setting_find("slab_automove", strlen("slab_automove")), trial->name,
                           false, why) &&
               admin_change(ctx, &from, &to, why);
    if (set) {
        text_out_str(ctx->out, ANSWER_OK);
    } else {
        text_out_printf(ctx->out, "CLIENT_ERROR %s: %s\r\n", subject, why);
    }
}

static void tell_outcome(struct waiting *w, struct command_context *ctx) {
    const struct tried *t = (const struct tried *)w;
    if (t->trial->starts) {
        t->then(ctx, t->trial, t->subject);
    } else {
        text_out_printf(ctx->out, "CLIENT_ERROR %s: %s\r\n", t->subject, t->trial->why);
    }
}

static void tried_destroy(struct waiting *w) {
    struct tried *t = (struct tried *)w;
    automove_trial_release(&t->trial);
    free(t);
}

void admin_try_then(struct command_context *ctx, const char *name, const char *subject,
                    admin_tried then) {
    struct automove_trial *trial = automove_trial_create(name);
    struct tried *t = malloc(sizeof *t);
    if (trial == NULL || t == NULL) {
        automove_trial_release(&trial);
        free(t);
        text_out_str(ctx->out, "SERVER_ERROR out of memory\r\n");
        return;
    }
    *t = (struct tried){.trial = trial, .subject = subject, .then = then};
    waiting_begin(&t->waiting, ctx, &trial->asked, tell_outcome, tried_destroy);
    if (!tuner_try_automove(ctx->server->tuner, trial)) {
        waiting_end(&t->waiting);
        text_out_str(ctx->out, "BUSY currently trying another mode\r\n");
        return;
    }
    ctx->more = &t->waiting.more;
}

void admin_try_automove(struct command_context *ctx, const char *name, const char *subject) {
    admin_try_then(ctx, name, subject, set_tried);
}
