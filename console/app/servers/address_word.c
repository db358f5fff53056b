#include "app/servers/address_word.h"

#include "brain/lua_outside.h"
#include "brain/lua_values.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

struct word {
    const char *text;
    struct address *address;
};

/* Reads the address from the parsed word, a table on top of the stack. */
static void address_take_result(lua_State *L, struct address *address) {
    char kind[8];
    lua_values_text(L, "is_list", kind, sizeof kind);
    address->list = kind[0] == 'd' ? LIST_OF_NAME : kind[0] == 'f' ? LIST_OF_FILE : NO_LIST;
    lua_values_text(L, "path", address->host, sizeof address->host);
    address->is_path = address->list == NO_LIST && address->host[0] != '\0';
    if (address->host[0] == '\0') {
        lua_values_text(L, "host", address->host, sizeof address->host);
    }
    lua_values_text(L, "port", address->port, sizeof address->port);
    lua_getfield(L, -1, "name");
    snprintf(address->text, sizeof address->text, "%s%s",
             address->list == LIST_OF_NAME ? "dns:" : "", lua_tostring(L, -1));
}

/* (word) -> nothing; raises the reason if the word is no address */
static int read_word(lua_State *L) {
    struct word *word = lua_touserdata(L, 1);
    lua_values_push_function(L, "slate.wire.lists", "word");
    lua_pushstring(L, word->text);
    lua_call(L, 1, 2);
    if (lua_isnil(L, -2)) {
        return lua_error(L);
    }
    lua_pop(L, 1);
    address_take_result(L, word->address);
    return 0;
}

bool address_parse(const char *text, struct address *address, char *why, size_t why_bytes) {
    const size_t path_most = sizeof((struct sockaddr_un *)0)->sun_path - 1;
    struct word word = {text[0] != '\0' ? text : "127.0.0.1", address};
    *address = (struct address){0};
    if (strncmp(text, "tls://", 6) == 0) {
        return address_parse(text + 6, address, why, why_bytes) &&
               address_make_tls(address, why, why_bytes);
    }
    if (strlen(text) >= ADDRESS_BYTES) {
        snprintf(why, why_bytes, "'%.40s...' is longer than %d bytes", text, ADDRESS_BYTES - 1);
        return false;
    }
    if (!lua_values_call(read_word, &word, why, why_bytes)) {
        return false;
    }
    if (address->is_path && strlen(address->host) > path_most) {
        snprintf(why, why_bytes, "socket path is longer than %zu bytes", path_most);
        return false;
    }
    return true;
}

/* ---- names that the operator gave to servers ---- */

struct search {
    const char *word;
    char *out;
};

/* (search) -> nothing; raises the mistake if the file is wrong */
static int address_resolve_word(lua_State *L) {
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

bool address_word_resolve(const char *word, char out[SERVER_NAMES_MOST_BYTES], char *why,
                          size_t why_bytes) {
    struct search search = {.word = word, .out = out};
    snprintf(out, SERVER_NAMES_MOST_BYTES, "%s", word);
    return strpbrk(word, ":/") != NULL || /* an address */
           lua_values_call(address_resolve_word, &search, why, why_bytes);
}
