/* One Lua 5.4 state with the modules of lua/slate that judge and change, and without access to the
 * machine: no files and no processes. Functions that the sandbox of rules needs
 * (slate.base.sandbox) are there for modules, not for code in the sandbox. One thread. */
#ifndef CONSOLE_BRAIN_LUA_STATE_H
#define CONSOLE_BRAIN_LUA_STATE_H
#include <lua.h>
#include <stdint.h>

/* The state, made at the first call; NULL when out of memory. Each call needs one
 * lua_state_give_back. */
lua_State *lua_state_take(void);

/* Returns the state; the last return closes it. */
void lua_state_give_back(void);

/* Sets the monotonic time of slate.base.clock. Its sleep yields the seconds to the code that
 * resumes the coroutine. */
void lua_state_set_time(uint64_t now_ms);
#endif
