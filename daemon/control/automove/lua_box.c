#include "control/automove/lua_box.h"

#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/decision.h"

/* Generated from lua/slate/base: a module's name and its text. */
static const struct {
    const char *name, *text;
} modules[] = {
#include "control/automove/policy_core.inc"
};

enum {
    LOOK_EVERY = 100, /* instructions; one takes a millisecond at most, over two long texts */
    LINES_MAX = 20,   /* printed in one call */
};

const struct lua_box_limits lua_box_limits = {
    .instructions = 10 * 1000 * 1000, .memory_bytes = (size_t)16 << 20, .cpu_us = 1000 * 1000};

static struct lua_box *lua_box_of(lua_State *L) { return *(struct lua_box **)lua_getextraspace(L); }

/* --- limits --- */

enum { TEXT_HEAD_BYTES = 64 }; /* the header of a text in memory has at most so many bytes */

static void *lua_box_allocate(void *arg, void *old, size_t old_bytes, size_t bytes) {
    struct lua_box *box = arg;
    if (old == NULL) { /* Lua passes the kind of the new object */
        if (old_bytes == LUA_TSTRING && bytes > LUA_BOX_TEXT_BYTES + TEXT_HEAD_BYTES) {
            box->refused = LUA_BOX_TEXT;
            return NULL;
        }
        old_bytes = 0;
    }
    if (bytes == 0) {
        free(old);
        box->used_bytes -= old_bytes;
        return NULL;
    }
    if (bytes > old_bytes && bytes - old_bytes > box->limits->memory_bytes - box->used_bytes) {
        box->refused = LUA_BOX_MEMORY;
        return NULL;
    }
    void *now = realloc(old, bytes);
    if (now != NULL) {
        box->used_bytes += bytes - old_bytes;
    } else if (bytes <= old_bytes) {
        return old; /* Lua relies on shrinking to succeed */
    }
    return now;
}

static void lua_box_check_limits(lua_State *L, lua_Debug *unused);

/* Ends the call: from now on the hook runs before each instruction, and raises the error again. */
static int lua_box_trip(lua_State *L, const char *limit) {
    lua_box_of(L)->tripped = limit;
    lua_sethook(L, lua_box_check_limits, LUA_MASKCOUNT, 1);
    lua_pushstring(L, limit);
    return lua_error(L);
}

static void lua_box_spend(lua_State *L, lua_Number steps) {
    struct lua_box *box = lua_box_of(L);
    if (box->tripped != NULL) {
        lua_box_trip(L, box->tripped);
    }
    if (!(steps <= (lua_Number)box->instructions_left)) {
        lua_box_trip(L, "instructions");
    }
    box->instructions_left -= (int64_t)steps;
}

static void lua_box_check_limits(lua_State *L, lua_Debug *unused) {
    struct lua_box *box = lua_box_of(L);
    (void)unused;
    lua_box_spend(L, LOOK_EVERY);
    /* The clock is cheap to read, but also runs while other threads have the processor: so only the
     * thread's own time decides. */
    if (clock_mono_us() > box->until_us && clock_thread_us() > box->cpu_until_us) {
        lua_box_trip(L, "processor time");
    }
}

/* --- functions for the core --- */

static int lua_box_charge(lua_State *L) {
    lua_box_spend(L, luaL_checknumber(L, 1));
    return 0;
}

static int lua_box_log(lua_State *L) {
    log_info("policy %s: %s", lua_box_of(L)->name, luaL_checkstring(L, 1));
    return 0;
}

/* --- calls --- */

static void lua_box_begin_call(struct lua_box *box) {
    const struct lua_box_limits *limits = box->limits;
    box->tripped = NULL;
    box->refused = LUA_BOX_NOTHING;
    box->instructions_left = limits->instructions;
    box->until_us = clock_mono_us() + limits->cpu_us;
    box->cpu_until_us = clock_thread_us() + limits->cpu_us;
    lua_sethook(box->L, lua_box_check_limits, LUA_MASKCOUNT, LOOK_EVERY);
}

static void lua_box_print_limit(const struct lua_box *box, char *why) {
    const struct lua_box_limits *limits = box->limits;
    if (strcmp(box->tripped, "instructions") == 0) {
        snprintf(why, REASON_BYTES, "took more than %lld instructions",
                 (long long)limits->instructions);
    } else {
        snprintf(why, REASON_BYTES, "took more than %g s of processor time",
                 (double)limits->cpu_us / 1e6);
    }
}

static void lua_box_print_memory(const struct lua_box *box, char *why) {
    if (box->refused == LUA_BOX_TEXT) {
        snprintf(why, REASON_BYTES, "makes a text of more than %d KiB",
                 LUA_BOX_TEXT_BYTES >> 10);
    } else {
        snprintf(why, REASON_BYTES,
                 box->refused == LUA_BOX_MEMORY ? "needs more than %zu MiB of memory"
                                        : "the system has no memory for its %zu MiB",
                 box->limits->memory_bytes >> 20);
    }
}

static void lua_box_print_error(lua_State *L, char *why) {
    if (lua_type(L, -1) != LUA_TSTRING) {
        snprintf(why, REASON_BYTES, "raised a %s instead of a message",
                 lua_typename(L, lua_type(L, -1)));
        return;
    }
    size_t bytes;
    const char *text = lua_tolstring(L, -1, &bytes);
    bytes = bytes < REASON_BYTES - 1 ? bytes : REASON_BYTES - 1;
    for (size_t i = 0; i < bytes; i++) {
        why[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    }
    why[bytes] = '\0';
}

/* The policy may have caught Lua's own message and raised it again. */
static bool lua_box_lacked_memory(const struct lua_box *box, int status) {
    const char *said = status == LUA_ERRRUN && box->refused ? lua_tostring(box->L, -1) : NULL;
    return status == LUA_ERRMEM || (said != NULL && strcmp(said, "not enough memory") == 0);
}

static bool lua_box_end_call(struct lua_box *box, int status, char *why) {
    if (box->tripped != NULL) {
        lua_box_print_limit(box, why);
    } else if (lua_box_lacked_memory(box, status)) {
        lua_box_print_memory(box, why);
    } else if (status != LUA_OK) {
        lua_box_print_error(box->L, why);
    }
    return box->tripped == NULL && status == LUA_OK;
}

/* Runs first in every call, protected. */
static int lua_box_run_guarded(lua_State *L) {
    lua_CFunction f = *(lua_CFunction *)lua_touserdata(L, -2);
    lua_pushinteger(L, LINES_MAX);
    lua_setfield(L, LUA_BOX_HOST, "lines_left");
    lua_remove(L, -2);
    return f(L);
}

bool lua_box_call(struct lua_box *box, lua_CFunction f, void *arg, char *why) {
    lua_State *L = box->L;
    lua_settop(L, LUA_BOX_TOP);
    lua_box_begin_call(box);
    /* no call here takes memory; 20 slots are free */
    lua_pushcfunction(L, lua_box_run_guarded);
    for (int i = 1; i <= LUA_BOX_TOP; i++) {
        lua_pushvalue(L, i);
    }
    lua_pushlightuserdata(L, &f);
    lua_pushlightuserdata(L, arg);
    int status = lua_pcall(L, LUA_BOX_TOP + 2, 0, 0);
    lua_sethook(L, NULL, 0, 0);
    bool fine = lua_box_end_call(box, status, why);
    lua_settop(L, LUA_BOX_TOP);
    return fine;
}

void lua_box_push_core(lua_State *L, const char *function) {
    lua_getfield(L, LUA_BOX_CORE, function);
}

void lua_box_push_chunk(lua_State *L, const char *text, size_t bytes, const char *name) {
    if (luaL_loadbufferx(L, text, bytes, name, "t") != LUA_OK) {
        lua_error(L);
    }
    lua_pushvalue(L, LUA_BOX_ENVIRONMENT);
    lua_setupvalue(L, -2, 1);
}

/* --- a box's life --- */

static void lua_box_open_libraries(lua_State *L) {
    static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_MATHLIBNAME, luaopen_math},
                                         {LUA_UTF8LIBNAME, luaopen_utf8},
                                         {NULL, NULL}};
    for (const luaL_Reg *at = libraries; at->func != NULL; at++) {
        luaL_requiref(L, at->name, at->func, 1);
        lua_pop(L, 1);
    }
}

/* All texts share one metatable: its methods are those of the environment, and code in the box
 * cannot get it. */
static void lua_box_lock_strings(lua_State *L, int environment) {
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_getfield(L, environment, LUA_STRLIBNAME);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
}

/* (name) -> the loaded module of that name, from the upvalue */
static int lua_box_require(lua_State *L) {
    lua_settop(L, 1);
    lua_rawget(L, lua_upvalueindex(1));
    return 1;
}

/* Pushes the modules by name. While they load, they have a require for each other. */
static void lua_box_load_modules(lua_State *L) {
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, lua_box_require, 1);
    lua_setglobal(L, "require");
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        const char *text = modules[i].text;
        const char *name = lua_pushfstring(L, "=%s", modules[i].name);
        if (luaL_loadbufferx(L, text, strlen(text), name, "t") != LUA_OK) {
            lua_error(L);
        }
        lua_call(L, 0, 1);
        lua_setfield(L, -3, modules[i].name);
        lua_pop(L, 1);
    }
    lua_pushnil(L);
    lua_setglobal(L, "require");
}

/* Returns the core, the environment and the host. */
static int lua_box_set_up(lua_State *L) {
    static const luaL_Reg host[] = {{"charge", lua_box_charge}, {"log", lua_box_log}, {NULL, NULL}};
    lua_box_open_libraries(L);
    lua_box_load_modules(L);
    lua_getfield(L, 1, "slate.base.policy_core");
    lua_getfield(L, 1, "slate.base.policy_box");
    lua_remove(L, 1);
    luaL_newlib(L, host);
    lua_getfield(L, 2, "environment");
    lua_pushglobaltable(L);
    lua_pushvalue(L, 3);
    lua_call(L, 2, 1);
    lua_replace(L, 2); /* the stack is: the core, the environment, the host */
    lua_box_lock_strings(L, LUA_BOX_ENVIRONMENT);
    lua_pushvalue(L, LUA_BOX_ENVIRONMENT);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    return LUA_BOX_TOP;
}

bool lua_box_open(struct lua_box *box, const char *name, const struct lua_box_limits *limits,
                  char *why) {
    *box = (struct lua_box){.limits = limits};
    snprintf(box->name, sizeof box->name, "%s", name);
    box->L = lua_newstate(lua_box_allocate, box);
    if (box->L == NULL) {
        snprintf(why, REASON_BYTES, "out of memory");
        return false;
    }
    *(struct lua_box **)lua_getextraspace(box->L) = box;
    lua_box_begin_call(box);
    lua_pushcfunction(box->L, lua_box_set_up);
    int status = lua_pcall(box->L, 0, LUA_BOX_TOP, 0);
    if (!lua_box_end_call(box, status, why)) {
        lua_box_close(box);
        return false;
    }
    return true;
}

void lua_box_close(struct lua_box *box) {
    if (box->L != NULL) {
        lua_close(box->L);
        box->L = NULL;
    }
}
