/* Connections and waiting as a module of Lua, "slate.console.link": link/client.h,
 * link/client_tls.h, lookups of link/address.h, and the clock. lua/slate/console/README.md lists
 * the functions. No call but wait takes time. One thread. */
#ifndef CONSOLE_BRIDGE_LUA_LINK_H
#define CONSOLE_BRIDGE_LUA_LINK_H
#include <lua.h>

/* Pushes the module. */
int lua_link_open(lua_State *L);
#endif
