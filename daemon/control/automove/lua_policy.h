/* Policies in Lua.
 *
 * A policy is a file NAME.lua of the policy directory that returns a table with a function
 * decide(before, after, state): slate-policies(7). The policy runs in a box
 * (control/automove/lua_box.h). policy_core.lua checks the answer in the box, and this file checks
 * it again. Threading: a policy belongs to one thread at a time. Cost: for the ready-made policies
 * 0.3 ms a decision with 40 classes and 2 ms with 255; for others up to the limits of a box. */
#ifndef SLATE_CONTROL_AUTOMOVE_LUA_POLICY_H
#define SLATE_CONTROL_AUTOMOVE_LUA_POLICY_H
#include "control/automove/lua_box.h"
#include "control/decision.h"
#include "control/snapshot.h"

enum {
    LUA_POLICY_NAME_BYTES = 49,       /* with its terminator; letters, digits, - and _ */
    LUA_POLICY_SOURCE_MAX = 256 << 10,
    LUA_POLICY_SETTINGS_MAX = 16,
};

/* A policy's file as text, with its words in the command, "NAME" or "NAME name=value ...". The
 * struct must not be moved: it points into itself. */
struct lua_source {
    char        words[AUTOMOVE_NAME_BYTES];
    const char *name;
    unsigned    count;
    const char *setting[LUA_POLICY_SETTINGS_MAX];
    char       *text; /* the owner of the struct frees it */
    size_t      bytes;
};
/* Runs no code of the policy. False: `why` (REASON_BYTES) has the reason, and there is no text. */
bool lua_source_read(struct lua_source *, const char *dir, const char *argument, char *why);

struct lua_policy {
    struct lua_box box;
    char   name[LUA_POLICY_NAME_BYTES];
    double window_s; /* between two decisions */
    bool   wants_curves;
};

/* Loads the policy and runs its init. False: `why` (REASON_BYTES) has the reason, and there is
 * nothing to close. The struct must not be moved while it is open. */
bool lua_policy_start(struct lua_policy *, const struct lua_source *, const struct lua_box_limits *,
                      char *why);
/* Reads a policy's file and starts it. */
bool lua_policy_open(struct lua_policy *, const char *dir, const char *argument,
                     const struct lua_box_limits *, char *why);
void lua_policy_close(struct lua_policy *);
/* Whether the policy's window is over. */
bool lua_policy_is_due(const struct lua_policy *, const struct snapshot *before,
                       const struct snapshot *after);
/* As each_window of control/automove/automove.h. */
bool lua_policy_decide(struct lua_policy *, const struct snapshot *before,
                       const struct snapshot *after, struct decision *);

/* Within a call of the box: pushes a snapshot in the form of slatectl's recordings, with the names
 * that both have. */
void lua_policy_push_snapshot(lua_State *, const struct snapshot *);
#endif
