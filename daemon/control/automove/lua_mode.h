/* Policies in Lua as a mode of automove: `slabs automove lua:NAME [name=value ...]`.
 *
 * A policy's code runs in a thread of its own, one call a thread, so that a policy that takes long
 * holds nobody: neither the tuner, which moves pages for others meanwhile, nor a stop of the
 * server. Whoever asked may leave before the answer. A policy that is broken, raises an
 * error, reaches a limit or answers nonsense fails the mode, with the reason. */
#ifndef SLATE_CONTROL_AUTOMOVE_LUA_MODE_H
#define SLATE_CONTROL_AUTOMOVE_LUA_MODE_H
#include "control/automove/automove.h"

/* A call of a policy's code. Threading: one thread asks, looks and leaves. Cost: a thread and some
 * 200 KiB until the answer. */
struct lua_call;
/* Reads the policy's file, and begins to load it and to run its init. `wake` of the configuration
 * is called when that is done; if it is NULL, it is done when this returns. NULL: `why`
 * (REASON_BYTES) says why the call cannot begin. */
struct lua_call *lua_call_open(const struct automove_config *, const char *argument, char *why);
bool             lua_call_is_answered(const struct lua_call *);
/* Once it is answered: false, and `why`, when the policy does not load. */
bool             lua_call_opened(const struct lua_call *, char *why);
/* The thread of a call that still runs goes on by itself, and wakes nobody. */
void             lua_call_leave(struct lua_call **);
#endif
