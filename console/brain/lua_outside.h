/* What Lua is given of the machine by the parts that ask for it: a variable of the environment and
 * the text of a file. The state itself (lua_state.h) has neither. */
#ifndef CONSOLE_BRAIN_LUA_OUTSIDE_H
#define CONSOLE_BRAIN_LUA_OUTSIDE_H
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* A function of Lua: (name) -> the variable of the environment, or nil. */
int lua_outside_environment(lua_State *L);

/* Pushes the text of a file, most_bytes of it at most. False: nothing is pushed, and errno says
 * why. only_regular: any other file is EINVAL, so that nobody waits for a pipe. */
bool lua_outside_push_file(lua_State *L, const char *path, size_t most_bytes, bool only_regular);
#endif
