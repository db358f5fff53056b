/* Helpers to set and read fields of tables, and to call functions of modules. The table is on top
 * of the stack. Pushing and calling may raise errors of Lua. One thread. */
#ifndef CONSOLE_BRAIN_LUA_VALUES_H
#define CONSOLE_BRAIN_LUA_VALUES_H
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Sets a field. NULL and NAN set none. */
void lua_values_set_text(lua_State *L, const char *field, const char *text);
void lua_values_set_number(lua_State *L, const char *field, double value);

/* Reads a field. A missing one, or one of another kind, is "", NAN or false. A text that is too
 * long is cut. */
void lua_values_text(lua_State *L, const char *field, char *out, size_t out_bytes);
double lua_values_number(lua_State *L, const char *field);
bool lua_values_flag(lua_State *L, const char *field);

/* Pushes a function of a module; loads the module at its first use. */
void lua_values_push_function(lua_State *L, const char *module, const char *function);

/* Calls function(data) in protected mode; false when Lua failed: why has its error. */
bool lua_values_call(lua_CFunction function, void *data, char *why, size_t why_bytes);
#endif
