#include "act/action.h"

#include "act/lua_act.h"
#include "brain/observer.h"
#include "facts/words.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#define MODULE "slate.act.shown"

struct request {
    const struct action *action;
    const struct model *model;
    char *out;
    size_t out_bytes;
    unsigned index, times;
};

struct action action_move(unsigned from, unsigned to, unsigned pages) {
    return (struct action){.kind = ACTION_MOVE_PAGES, .from = from, .to = to, .pages = pages};
}

struct action action_set(const char *name, const char *value) {
    struct action action = {.kind = ACTION_SET};
    snprintf(action.name, sizeof action.name, "%s", name);
    snprintf(action.value, sizeof action.value, "%s", value);
    return action;
}

struct plan action_plan(struct action action) {
    struct plan plan = {.count = 1};
    plan.steps[0] = action;
    return plan;
}

/* Pushes the server's identity, its replies and the action. */
static void action_push_request(lua_State *L, const struct request *request) {
    act_push_who(L, model_now(request->model));
    act_push_replies(L, model_now(request->model), model_answers(request->model));
    act_push_change(L, request->action);
}

/* (request) -> nothing */
static int action_find_refusal(lua_State *L) {
    const struct request *request = lua_touserdata(L, 1);
    lua_values_push_function(L, MODULE, "why_not");
    brain_push_observer(L, brain_of(request->model));
    action_push_request(L, request);
    lua_call(L, 4, 1);
    words_printf(request->out, request->out_bytes, "%s",
                 lua_isstring(L, -1) ? lua_tostring(L, -1) : "");
    return 0;
}

/* (request) -> nothing */
static int action_take_line(lua_State *L) {
    struct request *request = lua_touserdata(L, 1);
    lua_values_push_function(L, MODULE, "lines");
    action_push_request(L, request);
    lua_call(L, 3, 1);
    if (lua_geti(L, -1, request->index + 1) == LUA_TTABLE) {
        lua_values_text(L, "line", request->out, request->out_bytes);
        request->times = (unsigned)act_take_number(L, "times");
    }
    return 0;
}

bool action_check(const struct action *action, const struct model *model, char *why,
                  size_t why_bytes) {
    struct request request = {.action = action, .model = model, .out = why, .out_bytes = why_bytes};
    if (model_now(model) == NULL) {
        snprintf(why, why_bytes, "nothing is known about the server yet");
        return false;
    }
    return lua_values_call(action_find_refusal, &request, why, why_bytes) && why[0] == '\0';
}

bool action_line(const struct action *action, const struct model *model, unsigned index,
                 char line[ACTION_LINE_BYTES], unsigned *times) {
    char why[NOTE_BYTES];
    struct request request = {.action = action,
                              .model = model,
                              .out = line,
                              .out_bytes = ACTION_LINE_BYTES,
                              .index = index};
    bool is_there = model_now(model) != NULL &&
                    lua_values_call(action_take_line, &request, why, sizeof why) &&
                    request.times > 0;
    *times = request.times;
    return is_there;
}
