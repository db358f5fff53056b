/* A brain's knowledge as Lua values, for parts of slatetop that call Lua by themselves. */
#ifndef CONSOLE_BRAIN_OBSERVER_H
#define CONSOLE_BRAIN_OBSERVER_H
#include "brain/brain.h"

#include <lua.h>

/* Pushes the brain's observer, of slate.judge.view; nil when it has none. L: the state of
 * lua_state.h. */
void brain_push_observer(lua_State *L, const struct brain *brain);

/* Pushes a table of the sampled curves that the server has answered, by class id. nil: the server
 * refuses curves, or no view requests them. */
void brain_push_curves(lua_State *L, const struct model *model);
#endif
