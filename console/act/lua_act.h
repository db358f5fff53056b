/* Conversions between the data of act/ and Lua values. Pushing may raise errors of Lua. One
 * thread. */
#ifndef CONSOLE_ACT_LUA_ACT_H
#define CONSOLE_ACT_LUA_ACT_H
#include "act/action.h"
#include "brain/lua_values.h"

#include <lua.h>

/* Sets a field of the table on top of the stack. NULL and "" set none. */
void act_set_text(lua_State *L, const char *field, const char *text);

/* Pushes the server's identity: { version, slated, store }, without the unknown ones. */
void act_push_who(lua_State *L, const struct snapshot *now);

/* Pushes a table of the replies that contain settings: texts by the replies' names. */
void act_push_replies(lua_State *L, const struct snapshot *now, const struct answers *answers);

/* Pushes a change of slate.act.shown; reads the one on top of the stack. */
void act_push_change(lua_State *L, const struct action *action);
void act_take_change(lua_State *L, struct action *action);

/* A field of the table on top of the stack; 0 when it is absent. */
double act_take_number(lua_State *L, const char *field);
#endif
