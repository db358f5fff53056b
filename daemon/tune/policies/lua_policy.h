/* Policies in Lua as a mode of automove: `slabs automove lua:NAME [name=value ...]`.
 *
 * A policy is a file NAME.lua of the policy directory that returns a table with a function
 * decide(before, after, state): slate-policies(7). It runs in a box (tune/policies/lua_box.h), and
 * what it may answer is checked there by policy_core.lua and here again. A policy that is broken,
 * raises an error, reaches a limit or answers nonsense fails the mode, with the reason. Threading:
 * the tuner's thread; lua_policy_check any. Cost: 0.3 ms a decision for 40 classes and 2 ms for
 * 255, with the work of the ready-made policies. */
#ifndef SLATE_TUNE_POLICIES_LUA_POLICY_H
#define SLATE_TUNE_POLICIES_LUA_POLICY_H
#include "tune/policies/automove.h"
#include "tune/policies/lua_box.h"

enum {
    LUA_POLICY_NAME_BYTES = 49,       /* with its terminator; letters, digits, - and _ */
    LUA_POLICY_SOURCE_MAX = 256 << 10,
};

struct lua_policy {
    struct lua_box box;
    char   name[LUA_POLICY_NAME_BYTES];
    double window_s; /* between two decisions */
    bool   wants_curves;
};

/* Loads the policy and runs its init. argument: "NAME" or "NAME name=value ...". False: `why`
 * (REASON_BYTES) says so, and there is nothing to close. The struct must stay where it is while it
 * is open. */
bool lua_policy_open(struct lua_policy *, const char *dir, const char *argument,
                     const struct lua_box_limits *, char *why);
void lua_policy_close(struct lua_policy *);
/* As each_window of tune/policies/automove.h. */
bool lua_policy_decide(struct lua_policy *, const struct snapshot *before,
                       const struct snapshot *after, struct decision *);

/* Within a call of the box: pushes a snapshot as slatectl records it, as far as the names go that
 * the two have in common. */
void lua_policy_push_snapshot(lua_State *, const struct snapshot *);

extern const struct automove_mode automove_lua;
#endif
