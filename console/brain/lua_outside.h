/* Access to the machine for those parts that hand it to Lua: variables of the environment and the
 * text of a file. The state itself (lua_state.h) has neither. And the paths of the operator's own
 * files. */
#ifndef CONSOLE_BRAIN_LUA_OUTSIDE_H
#define CONSOLE_BRAIN_LUA_OUTSIDE_H
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* A function of Lua: (name) -> the variable of the environment, or nil. */
int lua_outside_environment(lua_State *L);

/* Pushes the text of a regular file, most_bytes at most. False: nothing is pushed, and errno has
 * the reason; EINVAL for any other file, so that slatetop does not wait for a pipe. */
bool lua_outside_push_file(lua_State *L, const char *path, size_t most_bytes);

/* A function of Lua: (path, most bytes) -> the text of a regular file; or nil, a message and
 * whether the file does not exist. */
int lua_outside_read_file(lua_State *L);

/* Pushes the path of one of the files of slate.base.places; nil if there is no home folder. */
void lua_outside_push_place(lua_State *L, const char *file);
/* The same path for C; false if there is no home, or out is too small. */
bool lua_outside_place(const char *file, char *out, size_t out_bytes);
#endif
