/* Files, the environment and the standard streams as a module of Lua, "slate.console.files".
 * lua/slate/console/README.md lists the functions. Only regular files are read, so no call waits
 * for another process; the exceptions are secrets (30 s at most) and the lock of append_line. One
 * thread. */
#ifndef CONSOLE_BRIDGE_LUA_FILES_H
#define CONSOLE_BRIDGE_LUA_FILES_H
#include <lua.h>

/* Pushes the module. */
int lua_files_open(lua_State *L);
#endif
