/* A type of userdata of Lua with methods. */
#ifndef CONSOLE_BRIDGE_LUA_TYPE_H
#define CONSOLE_BRIDGE_LUA_TYPE_H
#include <lauxlib.h>

/* Makes the metatable with this name: luaL_setmetatable gives it to values. */
static inline void lua_type_make(lua_State *L, const char *type, const luaL_Reg *methods) {
    luaL_newmetatable(L, type);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}
#endif
