/* A snapshot of the console as the table that lua/slate/facts/snapshot.lua describes, with the
 * stats that the judging modules read; with_all: with all stats, for the operator's rules. A
 * stat that the server did not send is absent from the table, too. */
#ifndef CONSOLE_BRAIN_LUA_FACTS_H
#define CONSOLE_BRAIN_LUA_FACTS_H
#include "facts/stats_snapshot.h"

#include <lua.h>

/* Pushes the table; raises an error of Lua when out of memory. Cost: O(classes). */
void lua_facts_push(lua_State *L, const struct snapshot *snapshot, bool with_all);
#endif
