/* What the files of brain/ share. */
#ifndef CONSOLE_BRAIN_INSIDE_H
#define CONSOLE_BRAIN_INSIDE_H
#include "brain/brain.h"

#include <lua.h>

enum { FAILURE_BYTES = 200 };

/* What was found when it was asked for last begins so: of which snapshot and replies it is. */
struct kept {
    uint64_t snapshot_ms, replies_ms;
};
enum kept_kind { KEPT_FINDINGS, KEPT_OWN_VALUES, KEPT_WORTHS, KEPT_SIZES, KEPT_KINDS };

struct brain {
    struct judge judge; /* first: what the model knows of it */
    lua_State *lua;
    int observer; /* of slate.judge.view, in Lua's registry */
    struct class_verdict classes[CLASS_LIMIT];
    struct verdict said;
    struct kept *kept[KEPT_KINDS]; /* NULL: nobody asked yet */
    char failure[FAILURE_BYTES]; /* "": all is well */
};

/* Calls find(of, out), both as light userdata, in protected mode. A brain that has failed, or a
 * call that fails, leaves out as it was, or as far as it came. */
void brain_find(const struct brain *brain, lua_CFunction find, const void *of, void *out);

/* What is kept of a kind, so many bytes, zero at first; changes nothing that can be seen. is_old:
 * it is to be found again, for the snapshot or the replies are others. NULL before the first
 * snapshot, and when out of memory. */
void *brain_kept(const struct model *model, enum kept_kind kind, size_t bytes, uint64_t replies_ms,
                 bool *is_old);

/* Pushes the operator's own rules, nil where there are none. */
void own_rules_push(lua_State *L);
#endif
