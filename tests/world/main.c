/* A Lua interpreter in a world of its own (README.md). Usage: lua SCRIPT [word ...] */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "actor.h"
#include "bridge/lua_cells.h"
#include "bridge/lua_files.h"
#include "server.h"

#define SERVER_TYPE "slate.world.server"

/* --- the module slate_world --- */

static struct world_server **main_server_at(lua_State *lua) { return luaL_checkudata(lua, 1, SERVER_TYPE); }

/* start(words, log): starts a server; the first word is the path of the object. */
static int l_start(lua_State *lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    const char *log = luaL_checkstring(lua, 2), *why;
    size_t count = lua_rawlen(lua, 1);
    char **words = calloc(count + 1, sizeof *words);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(lua, 1, (lua_Integer)i + 1);
        words[i] = strdup(luaL_tolstring(lua, -1, NULL));
        lua_pop(lua, 2);
    }
    struct world_server **s = lua_newuserdatauv(lua, sizeof *s, 0);
    *s = world_server_start(words, log, &why);
    if (*s == NULL) {
        return luaL_error(lua, "the world cannot start a server: %s", why);
    }
    luaL_setmetatable(lua, SERVER_TYPE);
    return 1;
}

/* server:signal(number): as kill(2). */
static int l_signal(lua_State *lua) {
    lua_pushboolean(lua, world_server_signal(*main_server_at(lua), (int)luaL_checkinteger(lua, 2)));
    return 1;
}

/* server:hold(yes): as SIGSTOP and SIGCONT. */
static int l_hold(lua_State *lua) {
    world_server_hold(*main_server_at(lua), lua_toboolean(lua, 2));
    return 0;
}

/* server:status(): the result of its main; nil while the server runs. */
static int l_status(lua_State *lua) {
    int status;
    if (world_server_ended(*main_server_at(lua), &status)) {
        lua_pushinteger(lua, status);
    } else {
        lua_pushnil(lua);
    }
    return 1;
}

static int l_collect(lua_State *lua) {
    struct world_server **s = main_server_at(lua);
    int status;
    if (*s != NULL && world_server_ended(*s, &status)) {
        world_server_free(*s);
        *s = NULL;
    }
    return 0;
}

/* seed(number, switches): from now on as in a new world with this seed, and with these SLATE_WORLD_SWITCHES. */
static int l_seed(lua_State *lua) {
    world_seed((uint64_t)luaL_checkinteger(lua, 1), (uint64_t)luaL_checkinteger(lua, 2));
    return 0;
}

/* now_us(): since the world began. */
static int l_now_us(lua_State *lua) {
    lua_pushinteger(lua, (lua_Integer)world_now_us());
    return 1;
}

/* real(yes): time follows real time, until as many calls have said no as yes. */
static int l_real(lua_State *lua) {
    world_goes_with_real_time(lua_toboolean(lua, 1));
    return 0;
}

static int main_open_world(lua_State *lua) {
    static const luaL_Reg functions[] = {{"start", l_start}, {"now_us", l_now_us}, {"real", l_real}, {"seed", l_seed},
                                         {NULL, NULL}},
                          methods[] = {{"signal", l_signal}, {"hold", l_hold}, {"status", l_status},
                                       {"__gc", l_collect}, {NULL, NULL}};
    luaL_newmetatable(lua, SERVER_TYPE);
    luaL_setfuncs(lua, methods, 0);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, -2, "__index");
    luaL_newlib(lua, functions);
    return 1;
}

/* --- the interpreter --- */

static int main_with_trace(lua_State *lua) {
    luaL_traceback(lua, lua, luaL_tolstring(lua, 1, NULL), 1);
    return 1;
}

static int main_run(lua_State *lua, int argc, char **argv) {
    luaL_openlibs(lua);
    luaL_getsubtable(lua, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_pushcfunction(lua, main_open_world);
    lua_setfield(lua, -2, "slate_world");
    lua_pushcfunction(lua, lua_cells_open); /* specs draw the views of slatetop */
    lua_setfield(lua, -2, "slate.console.cells");
    lua_pushcfunction(lua, lua_files_open);
    lua_setfield(lua, -2, "slate.console.files");
    lua_createtable(lua, argc, 1);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(lua, argv[i]);
        lua_rawseti(lua, -2, i - 1);
    }
    lua_setglobal(lua, "arg");
    lua_settop(lua, 0);
    lua_pushcfunction(lua, main_with_trace);
    int failed = luaL_loadfile(lua, argv[1]);
    for (int i = 2; !failed && i < argc; i++) {
        lua_pushstring(lua, argv[i]);
    }
    failed = failed || lua_pcall(lua, argc - 2, 0, 1);
    if (failed) {
        fprintf(stderr, "%s\n", lua_tostring(lua, -1));
    }
    return failed;
}

int main(int argc, char **argv) {
    const char *seed = getenv("SEED"), *switches = getenv("SLATE_WORLD_SWITCHES");
    int before = personality(0xffffffff);
    /* Addresses drawn by the kernel would change every order by address. */
    if (!(before & ADDR_NO_RANDOMIZE) && personality((unsigned long)(before | ADDR_NO_RANDOMIZE)) != -1) {
        execv("/proc/self/exe", argv);
    }
    if (argc < 2) {
        fprintf(stderr, "usage: %s SCRIPT [word ...]\n", argv[0]);
        return 2;
    }
    world_begin();
    world_seed(seed != NULL ? strtoull(seed, NULL, 10) : 1, switches != NULL ? strtoull(switches, NULL, 10) : 0);
    printf("# SEED=%s\n", seed != NULL ? seed : "1");
    lua_State *lua = luaL_newstate();
    int failed = main_run(lua, argc, argv);
    lua_close(lua);
    return failed;
}
