/* A reader of JSON, by jansson, in the place of lua-cjson's module "cjson.safe". */
#ifndef CONSOLE_BRIDGE_LUA_JSON_H
#define CONSOLE_BRIDGE_LUA_JSON_H
#include <lua.h>

/* Pushes the module: decode(text) -> value, or nil and a message. JSON's null is light userdata
 * NULL, as in lua-cjson. */
int lua_json_open(lua_State *L);
#endif
