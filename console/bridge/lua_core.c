#include "bridge/lua_core.h"

#include "bridge/lua_cells.h"
#include "bridge/lua_explain.h"
#include "bridge/lua_files.h"
#include "bridge/lua_json.h"
#include "bridge/lua_link.h"
#include "bridge/lua_term.h"
#include "draw/term.h"
#include "link/poll_clock.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* Generated from lua/slate: a module's name and its code, compiled by the Lua of the build and
 * packed by gzip. Compiling the texts took 26 ms, loading the code takes 3. */
struct module {
    const char *name, *packed;
    unsigned bytes;
};
#define MODULE(name, packed) {name, packed, sizeof packed - 1},
static const struct module modules[] = {
#include "bridge/modules.inc"
};

enum { GZIP_WINDOW = 16 + MAX_WBITS, PIECE_BYTES = 4096 };

/* Nearly all objects made for a snapshot are garbage at the next. A collection begins when memory
 * has grown by 18 %: with an hour of 40 busy classes slatetop takes 12.7 MB. By a quarter it takes
 * 13.3 MB, and 0.8 % fewer instructions; by a tenth 12.3 MB, and a fifth more. */
enum { GC_BEGINS_PCT = 118, GC_SPEED_PCT = 400 };

static const luaL_Reg libraries[] = {
    {LUA_GNAME, luaopen_base},          {LUA_TABLIBNAME, luaopen_table},
    {LUA_STRLIBNAME, luaopen_string},   {LUA_MATHLIBNAME, luaopen_math},
    {LUA_COLIBNAME, luaopen_coroutine}, {LUA_UTF8LIBNAME, luaopen_utf8},
    {LUA_DBLIBNAME, luaopen_debug},     {LUA_OSLIBNAME, luaopen_os},
};

/* Functions of the base library that read files, or write to the terminal of the screen. */
static const char *const withheld[] = {"dofile", "loadfile", "print"};

/* The only functions of other libraries that stay: slate.base.sandbox needs those of debug. */
enum { ALLOWED_MOST = 4 };
static const struct {
    const char *library, *functions[ALLOWED_MOST];
} allowed[] = {{LUA_DBLIBNAME, {"sethook", "getmetatable", "getlocal", "getupvalue"}},
               {LUA_OSLIBNAME, {"clock", "date"}}};

/* ---- the clock of slate.base.clock ---- */

static int core_push_steady_s(lua_State *L) {
    lua_pushnumber(L, (lua_Number)clock_us() / 1e6);
    return 1;
}

static int core_push_time_s(lua_State *L) {
    lua_pushnumber(L, (lua_Number)clock_wall_ms() / 1000);
    return 1;
}

/* sleep(seconds): yields the seconds to the code that resumes the coroutine */
static int core_sleep(lua_State *L) {
    lua_pushnumber(L, luaL_checknumber(L, 1));
    return lua_yield(L, 1);
}

static int core_open_clock(lua_State *L) {
    static const luaL_Reg clock[] = {{"steady_s", core_push_steady_s},
                                     {"time_s", core_push_time_s},
                                     {"sleep", core_sleep},
                                     {NULL, NULL}};
    luaL_newlib(L, clock);
    return 1;
}

/* ---- "slate.console.build": what the program was built with ---- */

/* { version } */
static int core_open_build(lua_State *L) {
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, SLATE_VERSION);
    lua_setfield(L, -2, "version");
    return 1;
}

static const luaL_Reg builtins[] = {
    {"slate.base.clock", core_open_clock},          {"slate.console.build", core_open_build},
    {"slate.facts.explain_text", lua_explain_open}, {"cjson.safe", lua_json_open},
    {"slate.console.cells", lua_cells_open},        {"slate.console.files", lua_files_open},
    {"slate.console.link", lua_link_open},          {"slate.console.term", lua_term_open},
};

/* ---- modules in Lua ---- */

struct unpacking {
    z_stream stream;
    char piece[PIECE_BYTES];
};

/* The next piece of the code, for lua_load; none at the end. */
static const char *core_next_piece(lua_State *L, void *data, size_t *bytes) {
    struct unpacking *unpacking = data;
    z_stream *stream = &unpacking->stream;
    (void)L;
    stream->next_out = (Bytef *)unpacking->piece;
    stream->avail_out = PIECE_BYTES;
    inflate(stream, Z_NO_FLUSH);
    *bytes = PIECE_BYTES - stream->avail_out;
    return *bytes > 0 ? unpacking->piece : NULL;
}

/* Pushes a module's function, or raises the reason why it can't. */
static void core_push_chunk(lua_State *L, const struct module *module) {
    struct unpacking unpacking = {
        .stream = {.next_in = (z_const Bytef *)module->packed, .avail_in = module->bytes}};
    if (inflateInit2(&unpacking.stream, GZIP_WINDOW) != Z_OK) {
        luaL_error(L, "not enough memory to unpack %s", module->name);
    }
    int status = lua_load(L, core_next_piece, &unpacking, module->name, "b");
    inflateEnd(&unpacking.stream);
    if (status != LUA_OK) {
        lua_error(L);
    }
}

/* Pushes the function that makes a module. */
static void core_push_maker(lua_State *L, const char *name) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) {
        if (strcmp(builtins[i].name, name) == 0) {
            lua_pushcfunction(L, builtins[i].func);
            return;
        }
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (strcmp(modules[i].name, name) == 0) {
            core_push_chunk(L, &modules[i]);
            return;
        }
    }
    luaL_error(L, "slatetop has no module %s", name);
}

/* require(name): loads only the packed modules and those in C. upvalue 1: the loaded modules, by
 * name. */
static int core_require_module(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    if (lua_getfield(L, lua_upvalueindex(1), name) == LUA_TNIL) {
        core_push_maker(L, name);
        lua_call(L, 0, 1);
        lua_pushvalue(L, -1);
        lua_setfield(L, lua_upvalueindex(1), name);
    }
    return 1;
}

/* Replaces a library by a table of some of its functions. */
static void core_limit_library(lua_State *L, const char *library,
                               const char *const functions[ALLOWED_MOST]) {
    lua_getglobal(L, library);
    lua_createtable(L, 0, ALLOWED_MOST);
    for (int i = 0; i < ALLOWED_MOST && functions[i] != NULL; i++) {
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

static void core_open_libraries(lua_State *L) {
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
        lua_pop(L, 1);
    }
    for (size_t i = 0; i < sizeof withheld / sizeof *withheld; i++) {
        lua_pushnil(L);
        lua_setglobal(L, withheld[i]);
    }
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        core_limit_library(L, allowed[i].library, allowed[i].functions);
    }
    lua_newtable(L);
    lua_pushcclosure(L, core_require_module, 1);
    lua_setglobal(L, "require");
}

/* ---- the program ---- */

struct call {
    const char *module, *function;
    int count;
    char **words;
};

static int core_add_trace(lua_State *L) {
    const char *text = luaL_tolstring(L, 1, NULL);
    luaL_traceback(L, L, text, 1);
    return 1;
}

/* (call) -> exit code */
static int core_call_program(lua_State *L) {
    struct call *call = lua_touserdata(L, 1);
    core_open_libraries(L);
    lua_getglobal(L, "require");
    lua_pushstring(L, call->module);
    lua_call(L, 1, 1);
    lua_getfield(L, -1, call->function);
    lua_createtable(L, call->count, 0);
    for (int i = 0; i < call->count; i++) {
        lua_pushstring(L, call->words[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_call(L, 1, 1);
    return 1;
}

int lua_core_run(const char *module, const char *function, int count, char **words,
                 int failure_code) {
    struct call call = {module, function, count, words};
    lua_State *L = luaL_newstate();
    if (L == NULL) {
        fprintf(stderr, "slatetop: out of memory\n");
        return failure_code;
    }
    lua_gc(L, LUA_GCINC, GC_BEGINS_PCT, GC_SPEED_PCT, 0);
    lua_gc(L, LUA_GCSTOP); /* until slate.console.main restarts it: what a start loads stays */
    lua_pushcfunction(L, core_add_trace);
    lua_pushcfunction(L, core_call_program);
    lua_pushlightuserdata(L, &call);
    int exit_code = failure_code;
    if (lua_pcall(L, 1, 1, 1) == LUA_OK) {
        exit_code = (int)lua_tointeger(L, -1);
    } else {
        term_close();
        fprintf(stderr, "slatetop: internal error: %s\n", lua_tostring(L, -1));
    }
    lua_close(L);
    return exit_code;
}
