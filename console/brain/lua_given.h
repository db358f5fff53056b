/* Modules that those of lua/slate ask for and slatetop gives in C: slate.base.clock, whose time is
 * the one handed in and whose sleep yields the seconds to whoever runs the coroutine, and
 * cjson.safe, of which there is decode. One thread. */
#ifndef CONSOLE_BRAIN_LUA_GIVEN_H
#define CONSOLE_BRAIN_LUA_GIVEN_H
#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

/* Pushes the module; false, and nothing is pushed, when it is none of these. */
bool lua_given_push(lua_State *L, const char *name);

/* The monotonic time that slate.base.clock has from now on. */
void lua_given_set_time(uint64_t now_ms);
#endif
