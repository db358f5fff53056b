/* Data and functions that the files of brain/ share. */
#ifndef CONSOLE_BRAIN_INSIDE_H
#define CONSOLE_BRAIN_INSIDE_H
#include "brain/brain.h"

#include <lua.h>

enum { FAILURE_BYTES = 200 };

/* The head of a cached result: the snapshot and the replies from which it was made. */
struct cached {
    uint64_t snapshot_ms, replies_ms;
};
enum cached_kind { CACHED_FINDINGS, CACHED_OWN_VALUES, CACHED_WORTHS, CACHED_SIZES, CACHED_KINDS };

struct brain {
    struct judge judge; /* first: the part that the model knows */
    lua_State *lua;
    int observer; /* an observer of slate.judge.view, in Lua's registry */
    struct class_verdict classes[CLASS_LIMIT];
    struct verdict said;
    struct cached *cached[CACHED_KINDS]; /* NULL: not requested yet */
    char failure[FAILURE_BYTES]; /* "": all is well */
};

/* Calls find(of, out), both as light userdata, in protected mode. If the brain has failed, `out`
 * stays as it was; if the call fails, it may be half written. */
void brain_find(const struct brain *brain, lua_CFunction find, const void *of, void *out);

/* The cached result of a kind, of `bytes` bytes, zero at first. The caller may change the result,
 * although `model` is const. is_old: the snapshot or the replies have changed, so make the result
 * again. NULL before the first snapshot, and when out of memory. */
void *brain_cached(const struct model *model, enum cached_kind kind, size_t bytes,
                   uint64_t replies_ms, bool *is_old);

/* Pushes the operator's own rules, nil if there are none. */
void own_rules_push(lua_State *L);
#endif
