/* A box in which functions from a file of Lua run, with a whitelist of harmless functions and under
 * limits.
 *
 * A box has a Lua state of its own. lua/slate/base/policy_box.lua has the whitelist; this file and
 * policy_core.lua are built into the program and run in every box first. Limits hold for one call:
 * a hook counts instructions and processor time, and library functions that can work for long are
 * charged beforehand. The allocator counts memory for the box's life. Once a limit is reached,
 * every further instruction of the call fails, so a pcall does not help. No hook sees the collector
 * and finalizers, so a box can make neither finalizers nor weak tables, which can keep the
 * collector busy without end. One instruction can compare or copy two texts, so texts are short.
 * Nothing in a box can end the program: every use of the state is protected. Threading: a box
 * belongs to one thread. Cost of a box: some 60 KiB. */
#ifndef SLATE_CONTROL_AUTOMOVE_LUA_BOX_H
#define SLATE_CONTROL_AUTOMOVE_LUA_BOX_H
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LUA_BOX_TEXT_BYTES = 64 << 10 }; /* of the longest text in a box */

struct lua_box_limits {
    int64_t  instructions;
    size_t   memory_bytes;
    uint64_t cpu_us;
};
extern const struct lua_box_limits lua_box_limits; /* the usual ones, those of policy_box.lua */

struct lua_box {
    lua_State *L;
    const struct lua_box_limits *limits; /* borrowed */
    char        name[64];                /* for the log */
    size_t      used_bytes;
    enum { LUA_BOX_NOTHING, LUA_BOX_MEMORY, LUA_BOX_TEXT } refused; /* allocation, in this call */
    int64_t     instructions_left;
    /* of this call: by the clock, and by the thread's processor time */
    uint64_t    until_us, cpu_until_us;
    const char *tripped;                 /* the limit that was reached; NULL: none */
};

/* the state's stack between calls */
enum { LUA_BOX_CORE = 1, LUA_BOX_ENVIRONMENT, LUA_BOX_HOST, LUA_BOX_TOP = LUA_BOX_HOST };

/* False: `why` (REASON_BYTES) has the reason, and there is nothing to close. */
bool lua_box_open(struct lua_box *, const char *name, const struct lua_box_limits *, char *why);
void lua_box_close(struct lua_box *);

/* Calls f(L) under the limits with `arg` as a light userdata at LUA_BOX_TOP + 1; core, environment
 * and host are below. False: f raised an error or reached a limit; `why` has the reason in
 * printable words. */
bool lua_box_call(struct lua_box *, lua_CFunction f, void *arg, char *why);

/* Within a call: pushes a field of the core. */
void lua_box_push_core(lua_State *, const char *function);
/* Within a call: compiles source text to a function that sees only the environment, and pushes the
 * function. Raises an error if the text is no source. */
void lua_box_push_chunk(lua_State *, const char *text, size_t bytes, const char *name);
#endif
