/* What the files of act/ hand to Lua and take from it. Pushing may raise errors of
 * Lua. One thread. */
#ifndef CONSOLE_ACT_LUA_ACT_H
#define CONSOLE_ACT_LUA_ACT_H
#include "act/action.h"
#include "brain/lua_values.h"

#include <lua.h>

/* Sets a field of the table on top; nothing for NULL and "". */
void act_set_text(lua_State *L, const char *field, const char *text);

/* Who the server is: { version, slated, store } as far as it is known. */
void act_push_who(lua_State *L, const struct snapshot *now);

/* The replies that settings are read from, as texts by their names. */
void act_push_replies(lua_State *L, const struct snapshot *now, const struct answers *answers);

/* A change of slate.act.shown; and the one on top, taken. */
void act_push_change(lua_State *L, const struct action *action);
void act_take_change(lua_State *L, struct action *action);

/* A field of the table on top; 0 when it is not there. */
double act_take_number(lua_State *L, const char *field);
#endif
