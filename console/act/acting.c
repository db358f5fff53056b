#include "act/acting.h"

#include "act/lua_act.h"
#include "brain/lua_state.h"
#include "brain/observer.h"
#include "facts/words.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One call of a method of the Lua object. Its argument is the values that push pushes, else the
 * text, else whether the connection is up. Its first result: whether it did its work, or words; the
 * second: a message if it did not. push and take may raise errors of Lua. */
struct call {
    struct acting *acting;
    struct model *model;
    const char *method;
    int (*push)(lua_State *L, const struct call *call); /* returns the count; NULL: as above */
    void (*take)(lua_State *L, struct call *call); /* reads the result at -2; NULL: none */
    time_t wall;
    bool is_up, is_so, also_so; /* also_so: the second result */

    enum acting_kind kind;
    const struct plan *plan;
    const struct trial_terms *terms;
    struct proposal *proposal;
    const char *text;
    size_t text_bytes;
    char *words, *message; /* words: also a line to send; NULL: unwanted */
    size_t out_bytes;
};

void acting_init(struct acting *acting) {
    *acting = (struct acting){.audit_path = "", .object = LUA_NOREF, .due_ms = UINT64_MAX};
}

void acting_fini(struct acting *acting) {
    lua_State *L = acting->is_open ? lua_state_take() : NULL;
    if (L != NULL) {
        luaL_unref(L, LUA_REGISTRYINDEX, acting->object);
        lua_state_give_back();
        lua_state_give_back(); /* memory that opening took */
    }
    acting->is_open = acting->is_running = acting->has_trial = acting->is_followed = false;
    acting->due_ms = UINT64_MAX;
}

/* ---- the record of changes; upvalue 1 of both functions: acting ---- */

/* () -> the text at the end of the record */
static int acting_read_record(lua_State *L) {
    const struct acting *acting = lua_touserdata(L, lua_upvalueindex(1));
    size_t bytes = 0;
    int fd = audit_open(acting->audit_path);
    char *text = audit_tail(fd, &bytes);
    if (fd >= 0) {
        close(fd);
    }
    lua_pushlstring(L, text != NULL ? text : "", bytes);
    free(text);
    return 1;
}

struct record {
    int    fd;
    char  *end; /* the text at the end of the file */
    size_t bytes;
    bool   is_written;
};

/* (function from the text at the record's end to a line, record). Errors may be raised in here. */
static int acting_write_record(lua_State *L) {
    struct record *r = lua_touserdata(L, 2);
    size_t bytes = 0;
    lua_pushvalue(L, 1);
    lua_pushlstring(L, r->end != NULL ? r->end : "", r->bytes);
    lua_call(L, 1, 1);
    const char *line = lua_tolstring(L, -1, &bytes);
    r->is_written = line != NULL && write(r->fd, line, bytes) == (ssize_t)bytes;
    return 0;
}

/* (function from the text at the record's end to a line) -> true, or nil and a message */
static int acting_append_record(lua_State *L) {
    const struct acting *acting = lua_touserdata(L, lua_upvalueindex(1));
    if (acting->audit_path[0] == '\0') {
        lua_pushnil(L);
        lua_pushliteral(
            L, "no record of changes: set HOME or SLATE_AUDIT, or name a file with --audit-log");
        return 2;
    }
    struct record r = {.fd = audit_open_locked(acting->audit_path)};
    if (r.fd >= 0) {
        r.end = audit_tail(r.fd, &r.bytes);
        errno = ENOSPC; /* the reason if the file takes only part of the line */
        lua_pushcfunction(L, acting_write_record);
        lua_pushvalue(L, 1);
        lua_pushlightuserdata(L, &r);
        lua_pcall(L, 2, 0, 0);
    }
    int error = errno;
    free(r.end);
    if (r.fd >= 0) {
        close(r.fd); /* other processes wait for its lock */
    }
    if (r.is_written) {
        lua_pushboolean(L, true);
        return 1;
    }
    lua_pushnil(L);
    lua_pushfstring(L, "the record of changes %s was not written: %s", acting->audit_path,
                    strerror(error));
    return 2;
}

static void acting_set_function(lua_State *L, const char *name, lua_CFunction function,
                                struct acting *acting) {
    lua_pushlightuserdata(L, acting);
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, -2, name);
}

/* Pushes the Lua object; the first call makes it. */
static void acting_push_object(lua_State *L, const struct call *call) {
    struct acting *acting = call->acting;
    if (!acting->is_open) {
        lua_values_push_function(L, "slate.act.acting", "new");
        lua_createtable(L, 0, 3);
        act_set_text(L, "server", model_server(call->model));
        brain_push_observer(L, brain_of(call->model));
        lua_setfield(L, -2, "observer");
        lua_createtable(L, 0, 3);
        act_set_text(L, "who", audit_who());
        acting_set_function(L, "read", acting_read_record, acting);
        acting_set_function(L, "append", acting_append_record, acting);
        lua_setfield(L, -2, "record");
        lua_call(L, 1, 1);
        acting->object = luaL_ref(L, LUA_REGISTRYINDEX);
        acting->is_open = true;
        lua_state_take();
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, acting->object);
}

/* ---- state, events and results after every call ---- */

static void acting_take_notes(lua_State *L, const struct call *call) {
    lua_getfield(L, -1, "notes");
    lua_Integer count = luaL_len(L, -1);
    for (lua_Integer i = 1; i <= count; i++) {
        char kind[8], text[2 * NOTE_BYTES];
        lua_geti(L, -1, i);
        lua_values_text(L, "kind", kind, sizeof kind);
        lua_values_text(L, "text", text, sizeof text);
        model_note(call->model, kind[0] == 'a' ? EVENT_ALARM : EVENT_YOU, call->wall, "%s", text);
        lua_pop(L, 1);
        lua_pushnil(L);
        lua_seti(L, -2, i);
    }
    lua_pop(L, 1);
}

/* The object is on top of the stack. */
static void acting_take_state(lua_State *L, struct call *call) {
    struct acting *acting = call->acting;
    acting_take_notes(L, call);
    acting->is_running = lua_values_flag(L, "run");
    acting->has_trial = lua_values_flag(L, "trial");
    acting->is_followed = lua_values_flag(L, "outcome");
    if (lua_values_flag(L, "news")) {
        lua_values_text(L, "news", acting->news, sizeof acting->news);
        lua_pushnil(L);
        lua_setfield(L, -2, "news");
    }
    lua_getfield(L, -1, "due_s");
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
    acting->due_ms =
        lua_isnumber(L, -1) ? (uint64_t)(lua_tonumber(L, -1) * 1000 + 0.5) : UINT64_MAX;
    acting->trial_end_ms = acting->is_running ? acting->trial_end_ms : acting->due_ms;
    lua_pop(L, 1);
}

/* The results are at -2 and -1. */
static void acting_take_results(lua_State *L, struct call *call) {
    const char *words = lua_tostring(L, -2), *message = lua_tostring(L, -1);
    call->is_so = lua_toboolean(L, -2);
    call->also_so = lua_toboolean(L, -1);
    if (call->words != NULL) {
        words_printf(call->words, call->out_bytes, "%s", words != NULL ? words : "");
    } else if (call->message != NULL) {
        words_printf(call->message, call->out_bytes, "%s",
                     !call->is_so && message != NULL ? message : "");
    }
    if (call->take != NULL && call->is_so) {
        call->take(L, call);
    }
}

/* (call) -> nothing */
static int acting_run_method(lua_State *L) {
    struct call *call = lua_touserdata(L, 1);
    acting_push_object(L, call);
    lua_getfield(L, -1, call->method);
    lua_pushvalue(L, -2);
    int count = 1;
    if (call->push != NULL) {
        count = call->push(L, call);
    } else if (call->text != NULL) {
        lua_pushlstring(L, call->text, call->text_bytes);
    } else {
        lua_pushboolean(L, call->is_up);
    }
    lua_call(L, count + 1, 2);
    acting_take_results(L, call);
    lua_pop(L, 2);
    acting_take_state(L, call);
    return 0;
}

/* False when Lua failed. Then every change and trial ends, and news has the reason; so has the
 * message, if wanted. now_ms 0: the time of the last call. */
static bool acting_call(struct call *call, const char *method, uint64_t now_ms) {
    char why[NOTE_BYTES];
    call->method = method;
    if (now_ms != 0) {
        lua_state_set_time(now_ms);
    }
    bool is_done = lua_values_call(acting_run_method, call, why, sizeof why);
    if (!is_done) {
        struct acting *acting = call->acting;
        acting_fini(acting); /* the next change begins with a new one */
        words_printf(acting->news, sizeof acting->news, "given up: %s", why);
        model_note(call->model, EVENT_ALARM, call->wall, "%s", acting->news);
        if (call->message != NULL) {
            words_printf(call->message, call->out_bytes, "%s", acting->news);
        }
    }
    return is_done;
}

/* ---- methods ---- */

static void acting_set_integer(lua_State *L, const char *field, unsigned value) {
    lua_pushinteger(L, value);
    lua_setfield(L, -2, field);
}

static int acting_push_begin(lua_State *L, const struct call *call) {
    static const char *const kinds[] = {
        [ACTING_CHANGE] = "change", [ACTING_UNDO] = "undo", [ACTING_REDO] = "redo"};
    lua_pushstring(L, kinds[call->kind]);
    lua_createtable(L, (int)call->plan->count, 0);
    for (unsigned i = 0; i < call->plan->count; i++) {
        act_push_change(L, &call->plan->steps[i]);
        lua_seti(L, -2, (lua_Integer)i + 1);
    }
    act_push_who(L, model_now(call->model));
    lua_pushboolean(L, call->is_up);
    lua_createtable(L, 0, 3);
    acting_set_integer(L, "minutes", call->terms->minutes);
    acting_set_integer(L, "evictions_pct", call->terms->evictions_pct);
    acting_set_integer(L, "hit_points", call->terms->hit_points);
    brain_push_curves(L, call->model);
    return 6;
}

bool acting_begin(struct acting *acting, enum acting_kind kind, const struct plan *plan,
                  const struct trial_terms *terms, struct model *model, uint64_t now_ms,
                  time_t wall, char *why, size_t why_bytes) {
    struct call call = {.acting = acting,
                        .model = model,
                        .push = acting_push_begin,
                        .wall = wall,
                        .kind = kind,
                        .plan = plan,
                        .terms = terms,
                        .message = why,
                        .out_bytes = why_bytes};
    call.is_up = model_link(model) == LINK_UP && model_now(model) != NULL;
    for (unsigned i = 0; call.is_up && kind == ACTING_CHANGE && i < plan->count; i++) {
        if (!action_check(&plan->steps[i], model, why, why_bytes)) {
            return false;
        }
    }
    if (!call.is_up) {
        snprintf(why, why_bytes, "no connection: nothing was sent");
        return false;
    }
    bool has_begun = acting_call(&call, "begin", now_ms) && call.is_so;
    acting->is_fresh = has_begun;
    return has_begun;
}

void acting_take_reply(struct acting *acting, struct model *model, const char *text,
                       size_t text_bytes, uint64_t now_ms, time_t wall) {
    struct call call = {
        .acting = acting, .model = model, .wall = wall, .text = text, .text_bytes = text_bytes};
    if (acting->is_running) {
        acting_call(&call, "reply", now_ms);
    }
}

/* True if the connection is up, and the change under way began on this connection. */
static bool acting_is_same_connection(struct acting *acting, const struct client *client,
                                      const struct model *model) {
    if (acting->is_fresh || !acting->is_running) {
        acting->generation = client_generation(client);
        acting->is_fresh = false;
    }
    bool is_up =
        client_state(client) == CLIENT_UP && acting->generation == client_generation(client);
    return is_up && (acting->is_running || model_link(model) == LINK_UP);
}

bool acting_step(struct acting *acting, struct client *client, int tag, struct model *model,
                 uint64_t now_ms, time_t wall) {
    char line[ACTION_LINE_BYTES] = "";
    bool was_running = acting->is_running;
    struct call call = {
        .acting = acting, .model = model, .wall = wall, .words = line, .out_bytes = sizeof line};
    if (!acting->is_running && !acting->has_trial && !acting->is_followed) {
        return false;
    }
    call.is_up = acting_is_same_connection(acting, client, model);
    acting_call(&call, "step", now_ms);
    if (line[0] != '\0') {
        if (client_send(client, line, call.also_so ? REPLY_STATS : REPLY_LINE, tag, now_ms)) {
            client_flush(client, now_ms);
        } else {
            call.is_up = false;
            acting_call(&call, "step", now_ms);
        }
    }
    return was_running && !acting->is_running;
}

static void acting_take_proposal(lua_State *L, struct call *call) {
    lua_pushvalue(L, -2);
    lua_values_text(L, "title", call->proposal->title, sizeof call->proposal->title);
    lua_getfield(L, -1, "changes");
    lua_Integer count = luaL_len(L, -1);
    call->proposal->plan.count = 0;
    if (count > PLAN_LIMIT) {
        call->is_so = false;
        snprintf(call->message, call->out_bytes,
                 "%d steps, and slatetop sends %d at most: slatectl undo takes back more",
                 (int)count, PLAN_LIMIT);
        lua_pop(L, 2);
        return;
    }
    for (lua_Integer i = 1; i <= count; i++) {
        lua_geti(L, -1, i);
        act_take_change(L, &call->proposal->plan.steps[call->proposal->plan.count++]);
        lua_pop(L, 1);
    }
    lua_pop(L, 2);
}

bool acting_propose(struct acting *acting, enum acting_kind kind, struct model *model,
                    struct proposal *out, char *why, size_t why_bytes) {
    struct call call = {.acting = acting,
                        .model = model,
                        .take = acting_take_proposal,
                        .proposal = out,
                        .message = why,
                        .out_bytes = why_bytes};
    return acting_call(&call, kind == ACTING_REDO ? "propose_redo" : "propose_undo", 0) &&
           call.is_so;
}

bool acting_accept_trial(struct acting *acting, struct model *model, uint64_t now_ms, time_t wall) {
    struct call call = {.acting = acting, .model = model, .wall = wall};
    return acting->has_trial && acting_call(&call, "accept_trial", now_ms) && call.is_so;
}

bool acting_leave(struct acting *acting, struct model *model, uint64_t now_ms, time_t wall) {
    struct call call = {.acting = acting, .model = model, .wall = wall};
    return (acting->is_running || acting->has_trial) && acting_call(&call, "leave", now_ms) &&
           call.is_so;
}

static void acting_take_words(struct acting *acting, const char *method, bool has_words,
                              struct model *model, uint64_t now_ms, char *out, size_t out_bytes) {
    struct call call = {.acting = acting, .model = model, .words = out, .out_bytes = out_bytes};
    out[0] = '\0';
    if (has_words) {
        acting_call(&call, method, now_ms);
    }
}

void acting_leftovers(struct acting *acting, struct model *model, char *out, size_t out_bytes) {
    acting_take_words(acting, "leftovers", acting->is_running || acting->has_trial, model, 0, out,
                      out_bytes);
}

void acting_words(struct acting *acting, struct model *model, uint64_t now_ms, char *out,
                  size_t out_bytes) {
    acting_take_words(acting, "words",
                      acting->is_running || acting->has_trial || acting->is_followed, model, now_ms,
                      out, out_bytes);
}
