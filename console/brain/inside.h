/* What the files of brain/ share. */
#ifndef CONSOLE_BRAIN_INSIDE_H
#define CONSOLE_BRAIN_INSIDE_H
#include "brain/brain.h"

#include <lua.h>

enum { FAILURE_BYTES = 200 };

/* What was found when it was asked for last, and of which snapshot and replies. */
struct findings {
    uint64_t snapshot_ms, replies_ms;
    unsigned count;
    struct sentence of[SENTENCES_MOST];
};

struct own_values; /* ask.c */
struct worths;     /* likewise */
struct size_plans; /* sizes.c */

struct brain {
    struct judge judge; /* first: what the model knows of it */
    lua_State *lua;
    int observer; /* of slate.judge.view, in Lua's registry */
    struct class_verdict classes[CLASS_LIMIT];
    double youngest_s; /* of the tails of classes */
    bool tells_classes, knows_starving;
    int worst; /* the class that starves and is told first; -1: none */
    struct held held;
    char automove[AUTOMOVE_TOLD_BYTES];
    struct findings *findings; /* NULL: nobody asked yet */
    struct own_values *own;    /* likewise */
    struct worths *worths;     /* likewise */
    struct size_plans *sizes;  /* likewise */
    char failure[FAILURE_BYTES]; /* "": all is well */
};

/* Calls find(of, out), both as light userdata, in protected mode. A brain that has failed, or a
 * call that fails, leaves out as it was, or as far as it came. */
void brain_find(const struct brain *brain, lua_CFunction find, const void *of, void *out);

/* Pushes the operator's own rules, nil where there are none. */
void own_rules_push(lua_State *L);
#endif
