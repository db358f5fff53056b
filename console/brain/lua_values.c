#include "brain/lua_values.h"

#include "brain/lua_state.h"
#include "facts/words.h"

#include <math.h>
#include <stdio.h>

void lua_values_set_text(lua_State *L, const char *field, const char *text) {
    if (text != NULL) {
        lua_pushstring(L, text);
        lua_setfield(L, -2, field);
    }
}

void lua_values_set_number(lua_State *L, const char *field, double value) {
    if (!isnan(value)) {
        lua_pushnumber(L, value);
        lua_setfield(L, -2, field);
    }
}

void lua_values_text(lua_State *L, const char *field, char *out, size_t out_bytes) {
    lua_getfield(L, -1, field);
    const char *text = lua_tostring(L, -1);
    snprintf(out, out_bytes, "%s", text != NULL ? text : "");
    lua_pop(L, 1);
}

double lua_values_number(lua_State *L, const char *field) {
    lua_getfield(L, -1, field);
    double value = lua_isnumber(L, -1) ? lua_tonumber(L, -1) : NAN;
    lua_pop(L, 1);
    return value;
}

bool lua_values_flag(lua_State *L, const char *field) {
    lua_getfield(L, -1, field);
    bool value = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

void lua_values_push_function(lua_State *L, const char *module, const char *function) {
    lua_getglobal(L, "require");
    lua_pushstring(L, module);
    lua_call(L, 1, 1);
    lua_getfield(L, -1, function);
    lua_remove(L, -2);
}

bool lua_values_call(lua_CFunction function, void *data, char *why, size_t why_bytes) {
    lua_State *L = lua_state_take();
    if (L == NULL) {
        snprintf(why, why_bytes, "out of memory");
        return false;
    }
    lua_pushcfunction(L, function);
    lua_pushlightuserdata(L, data);
    bool is_done = lua_pcall(L, 1, 0, 0) == LUA_OK;
    if (!is_done) {
        words_printf(why, why_bytes, "%s",
                     lua_isstring(L, -1) ? lua_tostring(L, -1) : "an error without words");
        lua_pop(L, 1);
    }
    lua_state_give_back();
    return is_done;
}
