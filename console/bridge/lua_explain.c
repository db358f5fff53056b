#include "bridge/lua_explain.h"

static const char text[] =
#include "bridge/explain_text.inc"
    ;

int lua_explain_open(lua_State *L) {
    lua_pushlstring(L, text, sizeof text - 1);
    return 1;
}
