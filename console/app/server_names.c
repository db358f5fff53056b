#include "app/server_names.h"

#include "brain/lua_outside.h"
#include "brain/lua_values.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

struct search {
    const char *word;
    char *out;
};

/* (search) -> nothing; raises what is wrong with the file */
static int resolve(lua_State *L) {
    static const luaL_Reg ways[] = {{"environment", lua_outside_environment},
                                    {"read_file", lua_outside_read_file},
                                    {NULL, NULL}};
    struct search *search = lua_touserdata(L, 1);
    lua_values_push_function(L, "slate.wire.names", "resolve");
    lua_pushstring(L, search->word);
    luaL_newlib(L, ways);
    lua_call(L, 2, 2);
    if (lua_isnil(L, -2)) {
        return lua_error(L);
    }
    snprintf(search->out, SERVER_NAMES_MOST_BYTES, "%s", lua_tostring(L, -2));
    return 0;
}

bool server_names_resolve(const char *word, char out[SERVER_NAMES_MOST_BYTES], char *why,
                          size_t why_bytes) {
    struct search search = {.word = word, .out = out};
    snprintf(out, SERVER_NAMES_MOST_BYTES, "%s", word);
    return strpbrk(word, ":/") != NULL || /* an address */
           lua_values_call(resolve, &search, why, why_bytes);
}
