/* One Lua 5.4 state with the modules of lua/slate that judge and change, and nothing that reaches
 * the machine: no files and no processes. What the sandbox of rules needs (slate.base.sandbox) is
 * there for modules, not for what runs in the sandbox. One thread. */
#ifndef CONSOLE_BRAIN_LUA_STATE_H
#define CONSOLE_BRAIN_LUA_STATE_H
#include <lua.h>
#include <stdint.h>

/* The state, made at the first call; NULL when out of memory. Each call asks for one
 * lua_state_give_back. */
lua_State *lua_state_take(void);

/* The last one closes the state. */
void lua_state_give_back(void);

/* The monotonic time that slate.base.clock has from now on; its sleep yields the seconds to whoever
 * runs the coroutine. */
void lua_state_set_time(uint64_t now_ms);
#endif
