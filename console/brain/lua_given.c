#include "brain/lua_given.h"

#include <jansson.h>
#include <lauxlib.h>
#include <string.h>
#include <time.h>

static lua_Number steady_s;

void lua_given_set_time(uint64_t now_ms) {
    steady_s = (lua_Number)now_ms / 1000;
}

static int tell_steady(lua_State *L) {
    lua_pushnumber(L, steady_s);
    return 1;
}

static int tell_time(lua_State *L) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    lua_pushnumber(L, (lua_Number)now.tv_sec + (lua_Number)(now.tv_nsec / 1000000) / 1000);
    return 1;
}

static int sleep_for(lua_State *L) {
    lua_pushnumber(L, luaL_checknumber(L, 1));
    return lua_yield(L, 1);
}

/* NULL, JSON's null, is light userdata as in lua-cjson. */
static void push_json(lua_State *L, const json_t *value) {
    const char *key;
    json_t *item;
    size_t i;
    luaL_checkstack(L, 4, "JSON is too deep");
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        lua_newtable(L);
        json_object_foreach((json_t *)value, key, item) {
            lua_pushstring(L, key);
            push_json(L, item);
            lua_rawset(L, -3);
        }
        return;
    case JSON_ARRAY:
        lua_newtable(L);
        json_array_foreach(value, i, item) {
            push_json(L, item);
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
static int push_value(lua_State *L) {
    push_json(L, lua_touserdata(L, 1));
    return 1;
}

/* (text) -> value, or nil and a message */
static int decode(lua_State *L) {
    size_t bytes;
    json_error_t error;
    const char *text = luaL_checklstring(L, 1, &bytes);
    json_t *value = json_loadb(text, bytes, JSON_ALLOW_NUL, &error);
    lua_pushcfunction(L, push_value);
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

bool lua_given_push(lua_State *L, const char *name) {
    static const luaL_Reg clock[] = {
        {"steady_s", tell_steady}, {"time_s", tell_time}, {"sleep", sleep_for}, {NULL, NULL}};
    static const luaL_Reg json[] = {{"decode", decode}, {NULL, NULL}};
    bool is_clock = strcmp(name, "slate.base.clock") == 0;
    if (!is_clock && strcmp(name, "cjson.safe") != 0) {
        return false;
    }
    lua_newtable(L);
    luaL_setfuncs(L, is_clock ? clock : json, 0);
    return true;
}
