/* The grid of cells as a module of Lua, "slate.console.cells". Its functions are those of
 * draw/cells.h; lua/slate/console/README.md lists them. One thread. */
#ifndef CONSOLE_BRIDGE_LUA_CELLS_H
#define CONSOLE_BRIDGE_LUA_CELLS_H
#include "draw/cells.h"

#include <lua.h>

/* Pushes the module. */
int lua_cells_open(lua_State *L);

/* The grid at a place of the stack; raises an error of Lua for any other value. */
struct cells *lua_cells_check(lua_State *L, int at);
#endif
