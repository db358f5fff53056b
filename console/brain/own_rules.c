#include "brain/own_rules.h"

#include "brain/inside.h"
#include "brain/lua_outside.h"
#include "brain/lua_state.h"
#include "brain/lua_values.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* one byte more than rules.lua takes, so that rules.lua refuses a longer file */
enum { SOURCE_BYTES_MOST = (256 << 10) + 1 };

static struct {
    lua_State *lua; /* NULL: there are no rules */
    int rules;      /* the rules of slate.judge.rules, in Lua's registry */
    unsigned columns;
    char titles[OWN_COLUMNS_MOST][OWN_TITLE_BYTES];
    int widths[OWN_COLUMNS_MOST];
} own;

/* ---- the file ---- */

/* Pushes the text of the file; or nil and the reason why it is unreadable. */
static void rules_push_source(lua_State *L, const char *path) {
    if (lua_outside_push_file(L, path, SOURCE_BYTES_MOST)) {
        lua_pushnil(L);
        return;
    }
    int problem = errno;
    lua_pushnil(L);
    lua_pushfstring(L, "cannot read %s: %s", path,
                    problem == EINVAL ? "it is no regular file" : strerror(problem));
}

/* Takes the columns of the rules on top of the stack. */
static void rules_take_columns(lua_State *L) {
    lua_getfield(L, -1, "columns");
    for (own.columns = 0; own.columns < OWN_COLUMNS_MOST; own.columns++) {
        if (lua_geti(L, -1, own.columns + 1) != LUA_TTABLE) {
            lua_pop(L, 1);
            break;
        }
        lua_getfield(L, -1, "title");
        snprintf(own.titles[own.columns], OWN_TITLE_BYTES, "%s", lua_tostring(L, -1));
        lua_getfield(L, -2, "width");
        own.widths[own.columns] = (int)lua_tointeger(L, -1);
        lua_pop(L, 3);
    }
    lua_pop(L, 1);
}

/* () -> whether there is a file */
static int rules_load_file(lua_State *L) {
    /* without a file the modules of rules are not loaded before the first paint */
    lua_outside_push_place(L, "rules");
    const char *path = lua_tostring(L, -1);
    if (path == NULL || (access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))) {
        lua_pushboolean(L, false);
        return 1;
    }
    lua_values_push_function(L, "slate.judge.rules", "for_screen");
    lua_pushvalue(L, -2);
    rules_push_source(L, path);
    lua_call(L, 3, 1);
    rules_take_columns(L);
    own.rules = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushboolean(L, true);
    return 1;
}

void own_rules_open(void) {
    lua_State *L = lua_state_take();
    if (L == NULL) {
        return;
    }
    lua_pushcfunction(L, rules_load_file);
    bool is_there = lua_pcall(L, 0, 1, 0) == LUA_OK && lua_toboolean(L, -1);
    lua_settop(L, 0);
    if (is_there) {
        own.lua = L;
    } else {
        lua_state_give_back();
    }
}

void own_rules_close(void) {
    if (own.lua != NULL) {
        luaL_unref(own.lua, LUA_REGISTRYINDEX, own.rules);
        own.lua = NULL;
        own.columns = 0;
        lua_state_give_back();
    }
}

bool own_rules_are_open(void) {
    return own.lua != NULL;
}

void own_rules_push(lua_State *L) {
    if (own.lua != NULL) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, own.rules);
    } else {
        lua_pushnil(L);
    }
}

/* ---- columns ---- */

unsigned own_rules_columns(void) {
    return own.columns;
}

const char *own_rules_title(unsigned column) {
    return own.titles[column];
}

int own_rules_width(unsigned column) {
    return own.widths[column];
}
