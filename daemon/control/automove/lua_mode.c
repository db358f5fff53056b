#include "control/automove/lua_mode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/future.h"
#include "base/thread.h"
#include "control/automove/lua_policy.h"

/* --- calls --- */

/* The thread holds a call until it has answered, the caller until the answer is taken. */
struct lua_call {
    struct future       future;
    struct lua_policy *policy; /* NULL: the policy did not load, or the answer was taken */
    struct lua_source  source; /* of a policy to load; without text: the policy decides */
    struct snapshot    before, after;
    struct class_curve curves[SLAB_CLASSES_MAX];
    struct decision    decision; /* the answer: failed, if the policy is broken */
};

static void lua_mode_close_policy(struct lua_policy **taken) {
    if (*taken != NULL) {
        lua_policy_close(*taken);
        free(*taken);
        *taken = NULL;
    }
}

static void lua_call_release(struct lua_call *call) {
    if (future_release(&call->future)) {
        lua_mode_close_policy(&call->policy);
        free(call->source.text);
        free(call);
    }
}

static void lua_call_answer(struct lua_call *call) {
    char why[REASON_BYTES];
    if (call->source.text == NULL) {
        lua_policy_decide(call->policy, &call->before, &call->after, &call->decision);
    } else if (!lua_policy_start(call->policy, &call->source, &lua_box_limits, why)) {
        free(call->policy);
        call->policy = NULL;
        decision_fail(&call->decision, "%s", why);
    }
    future_answer(&call->future);
}

static void *lua_call_main(void *arg) {
    thread_name("slated-policy");
    lua_call_answer(arg);
    lua_call_release(arg);
    return NULL;
}

static void lua_call_begin(struct lua_call *call, const struct automove_config *cfg) {
    pthread_t thread;
    if (cfg->wake == NULL) {
        lua_call_answer(call);
        return;
    }
    future_wake(&call->future, cfg->wake, cfg->wake_arg);
    future_hold(&call->future);
    if (thread_start(&thread, lua_call_main, call) == 0) {
        pthread_detach(thread);
        return;
    }
    future_release(&call->future); /* the caller's hold is left */
    decision_fail(&call->decision, "no thread can be had for it");
    future_answer(&call->future);
}

struct lua_call *lua_call_open(const struct automove_config *cfg, const char *argument, char *why) {
    struct lua_call *call = calloc(1, sizeof *call);
    if (call == NULL) {
        snprintf(why, REASON_BYTES, "out of memory");
        return NULL;
    }
    future_init(&call->future);
    bool read = lua_source_read(&call->source, cfg->policy_dir, argument, why);
    if (read && (call->policy = calloc(1, sizeof *call->policy)) == NULL) {
        snprintf(why, REASON_BYTES, "out of memory");
    }
    if (call->policy == NULL) {
        lua_call_release(call);
        return NULL;
    }
    lua_call_begin(call, cfg);
    return call;
}

static struct lua_call *lua_call_decide(const struct automove_config *cfg, struct lua_policy *taken,
                                        const struct snapshot *before,
                                        const struct snapshot *after) {
    struct lua_call *call = calloc(1, sizeof *call);
    if (call == NULL) {
        return NULL;
    }
    future_init(&call->future);
    call->policy = taken;
    call->before = *before;
    call->after = *after;
    if (after->curves != NULL) {
        memcpy(call->curves, after->curves, sizeof call->curves);
        call->after.curves = call->curves;
    }
    lua_call_begin(call, cfg);
    return call;
}

bool lua_call_is_answered(const struct lua_call *call) { return future_is_answered(&call->future); }

bool lua_call_opened(const struct lua_call *call, char *why) {
    snprintf(why, REASON_BYTES, "%s", call->decision.why);
    return !call->decision.failed;
}

void lua_call_leave(struct lua_call **taken) {
    if (*taken != NULL) {
        future_wake(&(*taken)->future, NULL, NULL);
        lua_call_release(*taken);
        *taken = NULL;
    }
}

/* --- the mode --- */

struct lua_mode {
    struct automove_config cfg;
    char                   name[LUA_POLICY_NAME_BYTES];
    struct lua_policy     *policy; /* NULL: the call has it */
    struct lua_call       *call;   /* NULL: none is under way */
};

/* Loads the policy, so that its file and its init run, and closes it. */
static bool lua_mode_check(const struct automove_config *cfg, const char *argument, char *why) {
    struct automove_config waits = *cfg;
    waits.wake = NULL;
    struct lua_call *call = lua_call_open(&waits, argument, why);
    bool starts = call != NULL && lua_call_opened(call, why);
    lua_call_leave(&call);
    return starts;
}

/* If the policy does not load, the mode fails later. */
static bool lua_mode_init(void *state, const struct automove_config *cfg, const char *argument,
                          char *why) {
    struct lua_mode *m = state;
    m->cfg = *cfg;
    snprintf(m->name, sizeof m->name, "%.*s", (int)strcspn(argument, " "), argument);
    m->call = lua_call_open(cfg, argument, why);
    return m->call != NULL;
}

static void lua_mode_fini(void *state) {
    struct lua_mode *m = state;
    lua_call_leave(&m->call);
    lua_mode_close_policy(&m->policy);
}

static bool lua_mode_decided(void *state, struct decision *d) {
    struct lua_mode *m = state;
    if (m->call == NULL || !lua_call_is_answered(m->call)) {
        d->later = m->call != NULL;
        return false;
    }
    bool opens = m->call->source.text != NULL;
    *d = m->call->decision;
    m->policy = m->call->policy;
    m->call->policy = NULL;
    lua_call_leave(&m->call);
    if (opens && !d->failed) {
        snprintf(d->why, sizeof d->why, "nothing was decided yet");
    }
    return true;
}

static bool lua_mode_each_window(void *state, const struct snapshot *before,
                                 const struct snapshot *after, struct decision *d) {
    struct lua_mode *m = state;
    if (!lua_policy_is_due(m->policy, before, after)) {
        return lua_policy_decide(m->policy, before, after, d);
    }
    m->call = lua_call_decide(&m->cfg, m->policy, before, after);
    if (m->call == NULL) {
        return decision_fail(d, "out of memory");
    }
    m->policy = NULL;
    return lua_mode_decided(m, d) && d->count > 0;
}

static bool lua_mode_wants_curves(const void *state, const struct snapshot *before,
                                  const struct snapshot *after) {
    const struct lua_mode *m = state;
    return m->policy->wants_curves && lua_policy_is_due(m->policy, before, after);
}

static void lua_mode_describe(const void *state, char *to, size_t room) {
    const struct lua_mode *m = state;
    const struct lua_policy *p = m->policy;
    if (p == NULL) {
        snprintf(to, room, "policy %s is being loaded", m->name);
        return;
    }
    snprintf(to, room, "policy %s decides every %g s and uses %zu of %zu KiB", p->name,
             fmax(p->window_s, 1), p->box.used_bytes >> 10, p->box.limits->memory_bytes >> 10);
}

const struct automove_mode automove_lua = {
    .name = "lua:",
    .number = -1,
    .help = "a policy in Lua decides: slate-policies(7)",
    .with_free_pages = true,
    .state_bytes = sizeof(struct lua_mode),
    .check = lua_mode_check,
    .init = lua_mode_init,
    .fini = lua_mode_fini,
    .each_window = lua_mode_each_window,
    .decided = lua_mode_decided,
    .wants_curves = lua_mode_wants_curves,
    .describe = lua_mode_describe,
};
