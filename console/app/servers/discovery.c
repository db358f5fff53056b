#include "app/servers/discovery.h"

#include "brain/lua_outside.h"
#include "brain/lua_state.h"
#include "brain/lua_values.h"

#include <lauxlib.h>
#include <netdb.h>
#include <stdlib.h>
#include <unistd.h>

#define MODULE "slate.wire.lists"

/* ---- functions that slate.wire.lists calls; in the child they may wait ---- */

/* (host) -> a list of addresses; or nil and a message */
static int discovery_push_addresses(lua_State *L) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int error = getaddrinfo(luaL_checkstring(L, 1), NULL, &hints, &found);
    if (error != 0) {
        lua_pushnil(L);
        lua_pushstring(L, gai_strerror(error));
        return 2;
    }
    lua_newtable(L);
    for (const struct addrinfo *info = found; info != NULL; info = info->ai_next) {
        char host[64];
        if (getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof host, NULL, 0,
                        NI_NUMERICHOST) == 0) {
            lua_pushstring(L, host);
            lua_rawseti(L, -2, luaL_len(L, -2) + 1);
        }
    }
    freeaddrinfo(found);
    return 1;
}

static const luaL_Reg ways[] = {
    {"read_file", lua_outside_read_file}, {"addresses", discovery_push_addresses}, {NULL, NULL}};

/* ---- the child ---- */

/* (word) -> lines of servers, or '!' and a message */
static int discovery_list_servers(lua_State *L) {
    luaL_Buffer lines;
    lua_values_push_function(L, MODULE, "parse");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 2);
    if (lua_isnil(L, -2)) {
        lua_pushfstring(L, "!%s",
                        lua_isstring(L, -1) ? lua_tostring(L, -1) : "that is no list of servers");
        return 1;
    }
    lua_pop(L, 1);
    lua_values_push_function(L, MODULE, "servers");
    lua_insert(L, -2);
    luaL_newlib(L, ways);
    lua_call(L, 2, 2);
    if (lua_isnil(L, -2)) {
        lua_pushfstring(L, "!%s", lua_tostring(L, -1));
        return 1;
    }
    lua_pop(L, 1);
    int servers = lua_gettop(L);
    lua_Integer count = luaL_len(L, servers);
    luaL_buffinit(L, &lines);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_geti(L, servers, i);
        lua_getfield(L, -1, "name");
        lua_remove(L, -2);
        luaL_addvalue(&lines);
        luaL_addchar(&lines, '\n');
    }
    luaL_pushresult(&lines);
    return 1;
}

static void discovery_answer_servers(const void *list, int pipe_fd) {
    size_t bytes = 0;
    lua_State *L = lua_state_take();
    if (L == NULL) {
        return;
    }
    lua_pushcfunction(L, discovery_list_servers);
    lua_pushstring(L, address_list_word(list));
    if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
        lua_pushfstring(L, "!%s", lua_tostring(L, -1));
    }
    const char *text = lua_tolstring(L, -1, &bytes);
    bytes = bytes < DISCOVERY_BYTES ? bytes : DISCOVERY_BYTES - 1;
    for (ssize_t written; bytes > 0 && (written = write(pipe_fd, text, bytes)) > 0;
         bytes -= (size_t)written) {
        text += written;
    }
}

bool discovery_begin(struct discovery *discovery, const struct address *list) {
    *discovery = (struct discovery){.lookup = LOOKUP_NONE, .text = malloc(DISCOVERY_BYTES)};
    bool has_begun =
        discovery->text != NULL && lookup_begin(&discovery->lookup, discovery_answer_servers, list);
    if (!has_begun) {
        free(discovery->text);
        *discovery = DISCOVERY_NONE;
    }
    return has_begun;
}

bool discovery_step(struct discovery *discovery) {
    ssize_t got;
    do {
        size_t room = DISCOVERY_BYTES - 1 - discovery->bytes;
        got = read(discovery->lookup.pipe_fd, discovery->text + discovery->bytes, room);
        discovery->bytes += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    discovery->text[discovery->bytes] = '\0';
    return got == 0;
}

void discovery_end(struct discovery *discovery) {
    lookup_cancel(&discovery->lookup);
    free(discovery->text);
    *discovery = DISCOVERY_NONE;
}
