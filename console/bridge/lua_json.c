#include "bridge/lua_json.h"

#include <jansson.h>
#include <lauxlib.h>

/* NULL, JSON's null, is light userdata as in lua-cjson. */
static void json_push(lua_State *L, const json_t *value) {
    const char *key;
    json_t *item;
    size_t i;
    luaL_checkstack(L, 4, "JSON is too deep");
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        lua_newtable(L);
        json_object_foreach((json_t *)value, key, item) {
            lua_pushstring(L, key);
            json_push(L, item);
            lua_rawset(L, -3);
        }
        return;
    case JSON_ARRAY:
        lua_newtable(L);
        json_array_foreach(value, i, item) {
            json_push(L, item);
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
static int json_push_value(lua_State *L) {
    json_push(L, lua_touserdata(L, 1));
    return 1;
}

/* (text) -> value, or nil and a message */
static int json_decode(lua_State *L) {
    size_t bytes;
    json_error_t error;
    const char *text = luaL_checklstring(L, 1, &bytes);
    json_t *value = json_loadb(text, bytes, JSON_ALLOW_NUL, &error);
    lua_pushcfunction(L, json_push_value);
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

int lua_json_open(lua_State *L) {
    static const luaL_Reg functions[] = {{"decode", json_decode}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
