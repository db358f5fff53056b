/* The text of man/explain.txt as a module of Lua, "slate.facts.explain_text": a string. The module
 * slate.facts.explain reads it in slatetop, which has no files. */
#ifndef CONSOLE_BRIDGE_LUA_EXPLAIN_H
#define CONSOLE_BRIDGE_LUA_EXPLAIN_H
#include <lua.h>

/* Pushes the text. */
int lua_explain_open(lua_State *L);
#endif
