/* Policies in Lua as a mode of automove: `slabs automove lua:NAME [name=value ...]`.
 *
 * Each call of a policy's code runs in a thread of its own. So a slow policy holds up neither the
 * tuner, which carries out other moves meanwhile, nor a stop of the server. The caller may leave
 * before the answer. If a policy is broken, raises an error, reaches a limit or returns nonsense,
 * the mode fails, with the reason. */
#ifndef SLATE_CONTROL_AUTOMOVE_LUA_MODE_H
#define SLATE_CONTROL_AUTOMOVE_LUA_MODE_H
#include "control/automove/automove.h"

/* A call of a policy's code. Threading: one thread makes all calls below. Cost: a thread and some
 * 200 KiB until the answer. */
struct lua_call;
/* Reads the policy's file, and begins to load the policy and to run its init. `wake` of the
 * configuration is called when both are done; without `wake`, they are done on return. NULL: `why`
 * (REASON_BYTES) says why the call cannot begin. */
struct lua_call *lua_call_open(const struct automove_config *, const char *argument, char *why);
bool             lua_call_is_answered(const struct lua_call *);
/* Once the call is answered. False: the policy does not load, and `why` has the reason. */
bool             lua_call_opened(const struct lua_call *, char *why);
/* Gives up the call. A thread that still runs ends by itself, and does not call `wake`. */
void             lua_call_leave(struct lua_call **);
#endif
