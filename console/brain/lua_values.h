/* Fields of tables and functions of modules, as everybody hands them to Lua and takes them from it.
 * The table is on top of the stack. Pushing and calling may raise errors of Lua. One thread. */
#ifndef CONSOLE_BRAIN_LUA_VALUES_H
#define CONSOLE_BRAIN_LUA_VALUES_H
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Sets a field; nothing for NULL and NAN. */
void lua_values_set_text(lua_State *L, const char *field, const char *text);
void lua_values_set_number(lua_State *L, const char *field, double value);

/* A field that is not there, or of another kind, is "", NAN and false. A text that is too long is
 * cut. */
void lua_values_text(lua_State *L, const char *field, char *out, size_t out_bytes);
double lua_values_number(lua_State *L, const char *field);
bool lua_values_flag(lua_State *L, const char *field);

/* Pushes a function of a module, which is loaded when it is asked for first. */
void lua_values_push_function(lua_State *L, const char *module, const char *function);

/* Calls function(data) in protected mode; false when Lua failed: its words are in why. */
bool lua_values_call(lua_CFunction function, void *data, char *why, size_t why_bytes);
#endif
