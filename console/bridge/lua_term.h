/* The terminal as a module of Lua, "slate.console.term"; the functions are those of draw/term.h.
 * One thread. */
#ifndef CONSOLE_BRIDGE_LUA_TERM_H
#define CONSOLE_BRIDGE_LUA_TERM_H
#include <lua.h>

/* Pushes the module. */
int lua_term_open(lua_State *L);
#endif
