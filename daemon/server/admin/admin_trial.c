/* Trials of a mode of automove before it is set: a policy in Lua starts on a thread of its own. The
 * reply follows the trial; other orders run meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/admin/admin.h"

struct mode_trial {
    struct automove_trial   trial; /* first */
    struct command_context *ctx;
    const char             *subject; /* begins the error; the reason follows */
    admin_trial_then             then;    /* answers if the mode starts */
};

bool admin_needs_trial(const struct command_context *ctx, const struct settings *to) {
    return strcmp(server_settings_now(ctx->server)->slab_automove, to->slab_automove) != 0 &&
           automove_wants_check(to->slab_automove);
}

static void trial_set_mode(struct command_context *ctx, const char *mode, const char *subject) {
    struct settings to = *server_settings_now(ctx->server);
    char why[SETTING_WHY_BYTES];
    bool set = setting_set(&to, setting_find("slab_automove", strlen("slab_automove")), mode, false,
                           why) &&
               admin_change(ctx, &to, why);
    if (set) {
        text_out_str(ctx->out, REPLY_OK);
    } else {
        text_out_printf(ctx->out, "CLIENT_ERROR %s: %s\r\n", subject, why);
    }
}

static void trial_done(struct automove_trial *trial) {
    struct mode_trial *t = (struct mode_trial *)trial;
    if (trial->starts) {
        t->then(t->ctx, trial->name, t->subject);
    } else {
        text_out_printf(t->ctx->out, "CLIENT_ERROR %s: %s\r\n", t->subject, trial->why);
    }
    command_answered(t->ctx);
    free(t);
}

void admin_try_then(struct command_context *ctx, const char *name, const char *subject,
                    admin_trial_then then) {
    struct mode_trial *t = calloc(1, sizeof *t);
    if (t == NULL) {
        text_out_str(ctx->out, "SERVER_ERROR out of memory\r\n");
        return;
    }
    snprintf(t->trial.name, sizeof t->trial.name, "%s", name);
    t->trial.done = trial_done;
    t->ctx = ctx;
    t->subject = subject;
    t->then = then;
    command_defer(ctx);
    if (!tuner_try_automove(ctx->server->tuner, &t->trial)) {
        text_out_str(ctx->out, "BUSY currently trying another mode\r\n");
        command_answered(ctx);
        free(t);
    }
}

void admin_try_automove(struct command_context *ctx, const char *name, const char *subject) {
    admin_try_then(ctx, name, subject, trial_set_mode);
}
