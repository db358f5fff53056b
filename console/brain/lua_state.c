#include "brain/lua_state.h"

#include "facts/poll_clock.h"

#include <jansson.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <zlib.h>

/* Generated from lua/slate: a module's name and its text, as gzip packs it. */
struct module {
    const char *name, *packed;
    unsigned bytes;
};
#define MODULE(name, packed) {name, packed, sizeof packed - 1},
static const struct module modules[] = {
#include "brain/modules.inc"
};

enum { GZIP_WINDOW = 16 + MAX_WBITS, PIECE_BYTES = 4096 };

/* Nearly all objects made for a snapshot are garbage at the next. A collection begins when memory
 * has grown by a tenth and costs 0.1 ms a snapshot. Lua's default of 100 % took 0.5 MB more for an
 * hour of 40 busy classes. */
enum { GC_BEGINS_PCT = 110, GC_SPEED_PCT = 400 };

static lua_State *state;
static unsigned users;

static const luaL_Reg libraries[] = {
    {LUA_GNAME, luaopen_base},          {LUA_TABLIBNAME, luaopen_table},
    {LUA_STRLIBNAME, luaopen_string},   {LUA_MATHLIBNAME, luaopen_math},
    {LUA_COLIBNAME, luaopen_coroutine}, {LUA_UTF8LIBNAME, luaopen_utf8},
    {LUA_DBLIBNAME, luaopen_debug},     {LUA_OSLIBNAME, luaopen_os},
};

/* Functions of the base library that read files, or write to the terminal of the screen. */
static const char *const withheld[] = {"dofile", "loadfile", "print"};

/* The only functions of other libraries that stay. */
static const struct {
    const char *library, *functions[2];
} allowed[] = {{LUA_DBLIBNAME, {"sethook", "getmetatable"}}, {LUA_OSLIBNAME, {"clock", "date"}}};

/* ---- modules in C: a clock, and a reader of JSON ---- */

static lua_Number steady_s;

void lua_state_set_time(uint64_t now_ms) {
    steady_s = (lua_Number)now_ms / 1000;
}

static int state_push_steady_s(lua_State *L) {
    lua_pushnumber(L, steady_s);
    return 1;
}

static int state_push_time_s(lua_State *L) {
    lua_pushnumber(L, (lua_Number)clock_wall_ms() / 1000);
    return 1;
}

static int state_sleep(lua_State *L) {
    lua_pushnumber(L, luaL_checknumber(L, 1));
    return lua_yield(L, 1);
}

/* NULL, JSON's null, is light userdata as in lua-cjson. */
static void state_push_json(lua_State *L, const json_t *value) {
    const char *key;
    json_t *item;
    size_t i;
    luaL_checkstack(L, 4, "JSON is too deep");
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        lua_newtable(L);
        json_object_foreach((json_t *)value, key, item) {
            lua_pushstring(L, key);
            state_push_json(L, item);
            lua_rawset(L, -3);
        }
        return;
    case JSON_ARRAY:
        lua_newtable(L);
        json_array_foreach(value, i, item) {
            state_push_json(L, item);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        return;
    case JSON_STRING:
        lua_pushlstring(L, json_string_value(value), json_string_length(value));
        return;
    case JSON_INTEGER:
        lua_pushinteger(L, json_integer_value(value));
        return;
    case JSON_REAL:
        lua_pushnumber(L, json_real_value(value));
        return;
    case JSON_TRUE:
    case JSON_FALSE:
        lua_pushboolean(L, json_is_true(value));
        return;
    case JSON_NULL:
        lua_pushlightuserdata(L, NULL);
        return;
    }
}

/* (light userdata) -> value */
static int state_push_value(lua_State *L) {
    state_push_json(L, lua_touserdata(L, 1));
    return 1;
}

/* (text) -> value, or nil and a message */
static int state_decode_json(lua_State *L) {
    size_t bytes;
    json_error_t error;
    const char *text = luaL_checklstring(L, 1, &bytes);
    json_t *value = json_loadb(text, bytes, JSON_ALLOW_NUL, &error);
    lua_pushcfunction(L, state_push_value);
    lua_pushlightuserdata(L, value);
    if (value != NULL && lua_pcall(L, 1, 1, 0) == LUA_OK) {
        json_decref(value);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, value == NULL ? error.text : lua_tostring(L, -2));
    json_decref(value);
    return 2;
}

/* Pushes a module written in C; false, and nothing is pushed, for any other name. */
static bool state_push_builtin(lua_State *L, const char *name) {
    static const luaL_Reg clock[] = {{"steady_s", state_push_steady_s},
                                     {"time_s", state_push_time_s},
                                     {"sleep", state_sleep},
                                     {NULL, NULL}};
    static const luaL_Reg json[] = {{"decode", state_decode_json}, {NULL, NULL}};
    bool is_clock = strcmp(name, "slate.base.clock") == 0;
    if (!is_clock && strcmp(name, "cjson.safe") != 0) {
        return false;
    }
    lua_newtable(L);
    luaL_setfuncs(L, is_clock ? clock : json, 0);
    return true;
}

/* ---- modules in Lua ---- */

struct unpacking {
    z_stream stream;
    char piece[PIECE_BYTES];
};

/* The next piece of the text, for lua_load; none at the end. */
static const char *state_next_piece(lua_State *L, void *data, size_t *bytes) {
    struct unpacking *unpacking = data;
    z_stream *stream = &unpacking->stream;
    (void)L;
    stream->next_out = (Bytef *)unpacking->piece;
    stream->avail_out = PIECE_BYTES;
    inflate(stream, Z_NO_FLUSH);
    *bytes = PIECE_BYTES - stream->avail_out;
    return *bytes > 0 ? unpacking->piece : NULL;
}

/* Pushes a module's text as a compiled function, or raises the reason why it can't. */
static void state_push_chunk(lua_State *L, const struct module *module) {
    struct unpacking unpacking = {.stream = {.next_in = (z_const Bytef *)module->packed,
                                             .avail_in = module->bytes}};
    if (inflateInit2(&unpacking.stream, GZIP_WINDOW) != Z_OK) {
        luaL_error(L, "not enough memory to unpack %s", module->name);
    }
    int status = lua_load(L, state_next_piece, &unpacking, module->name, "t");
    inflateEnd(&unpacking.stream);
    if (status != LUA_OK) {
        lua_error(L);
    }
}

/* require(name): loads only the packed modules and those in C. upvalue 1: the loaded modules, by
 * name. */
static int state_require_module(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    if (lua_getfield(L, lua_upvalueindex(1), name) != LUA_TNIL) {
        return 1;
    }
    if (state_push_builtin(L, name)) {
        lua_pushvalue(L, -1);
        lua_setfield(L, lua_upvalueindex(1), name);
        return 1;
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (strcmp(modules[i].name, name) == 0) {
            state_push_chunk(L, &modules[i]);
            lua_call(L, 0, 1);
            lua_pushvalue(L, -1);
            lua_setfield(L, lua_upvalueindex(1), name);
            return 1;
        }
    }
    return luaL_error(L, "slatetop has no module %s", name);
}

/* Replaces a library by a table of some of its functions. */
static void state_limit_library(lua_State *L, const char *library, const char *const functions[2]) {
    lua_getglobal(L, library);
    lua_createtable(L, 0, 2);
    for (int i = 0; i < 2 && functions[i] != NULL; i++) {
        lua_getfield(L, -2, functions[i]);
        lua_setfield(L, -2, functions[i]);
    }
    lua_setglobal(L, library);
    lua_pop(L, 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushnil(L);
    lua_setfield(L, -2, library);
    lua_pop(L, 1);
}

static int state_open_libraries(lua_State *L) {
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
        lua_pop(L, 1);
    }
    for (size_t i = 0; i < sizeof withheld / sizeof *withheld; i++) {
        lua_pushnil(L);
        lua_setglobal(L, withheld[i]);
    }
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        state_limit_library(L, allowed[i].library, allowed[i].functions);
    }
    lua_newtable(L);
    lua_pushcclosure(L, state_require_module, 1);
    lua_setglobal(L, "require");
    return 0;
}

lua_State *lua_state_take(void) {
    if (state == NULL) {
        lua_State *fresh = luaL_newstate();
        if (fresh == NULL) {
            return NULL;
        }
        lua_gc(fresh, LUA_GCINC, GC_BEGINS_PCT, GC_SPEED_PCT, 0);
        lua_pushcfunction(fresh, state_open_libraries);
        if (lua_pcall(fresh, 0, 0, 0) != LUA_OK) {
            lua_close(fresh);
            return NULL;
        }
        state = fresh;
    }
    users++;
    return state;
}

void lua_state_give_back(void) {
    if (--users == 0) {
        lua_close(state);
        state = NULL;
    }
}
