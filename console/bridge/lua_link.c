#include "bridge/lua_link.h"

#include "bridge/lua_type.h"
#include "draw/term.h"
#include "link/poll_clock.h"
#include "link/client.h"

#include <lauxlib.h>
#include <math.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define CLIENT_TYPE "slatetop.client"
#define ACCESS_TYPE "slatetop.access"
#define LOOKUP_TYPE "slatetop.lookup"

/* More than servers, their streams and lists of servers; those beyond wait for the next turn. */
enum { POLLED_MOST = 2 + 3 * 128, WHY_BYTES = 300, ANSWER_BYTES = 1 << 20 };

static uint64_t link_ms_of(double seconds) {
    return seconds > 0 && seconds < 1e15 ? (uint64_t)(seconds * 1000 + 0.5) : 0;
}

static uint64_t link_check_ms(lua_State *L, int at) {
    return link_ms_of(luaL_checknumber(L, at));
}

/* Pushes a time in seconds; nil for UINT64_MAX. */
static void link_push_time(lua_State *L, uint64_t ms) {
    if (ms == UINT64_MAX) {
        lua_pushnil(L);
    } else {
        lua_pushnumber(L, (double)ms / 1000);
    }
}

/* ---- access: the login and TLS that connections share ---- */

struct lua_access {
    struct access access;
    struct tls_files files;
    char *texts[4]; /* credentials, ca, cert, key: owned */
};

/* access({ credentials, ca, cert, key }) -> access */
static int link_call_access(lua_State *L) {
    static const char *const fields[] = {"credentials", "ca", "cert", "key"};
    luaL_checktype(L, 1, LUA_TTABLE);
    struct lua_access *one = lua_newuserdatauv(L, sizeof *one, 0);
    memset(one, 0, sizeof *one);
    luaL_setmetatable(L, ACCESS_TYPE);
    for (int i = 0; i < 4; i++) {
        lua_getfield(L, 1, fields[i]);
        one->texts[i] = lua_isstring(L, -1) ? strdup(lua_tostring(L, -1)) : NULL;
        lua_pop(L, 1);
    }
    one->files = (struct tls_files){one->texts[1], one->texts[2], one->texts[3]};
    one->access = (struct access){one->texts[0], tls_context_create(&one->files)};
    return 1;
}

/* access:load() -> true; or nil and why a certificate can't be used */
static int link_access_load(lua_State *L) {
    struct lua_access *one = luaL_checkudata(L, 1, ACCESS_TYPE);
    char why[WHY_BYTES] = "out of memory";
    if (one->access.tls != NULL && tls_context_load(one->access.tls, why, sizeof why)) {
        lua_pushboolean(L, true);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

static int link_access_free(lua_State *L) {
    struct lua_access *one = luaL_checkudata(L, 1, ACCESS_TYPE);
    tls_context_destroy(&one->access.tls);
    for (int i = 0; i < 4; i++) {
        free(one->texts[i]);
        one->texts[i] = NULL;
    }
    return 0;
}

/* ---- clients ---- */

static struct client **link_check_slot(lua_State *L) {
    return luaL_checkudata(L, 1, CLIENT_TYPE);
}

static struct client *link_check_client(lua_State *L) {
    struct client *client = *link_check_slot(L);
    luaL_argcheck(L, client != NULL, 1, "the connection is closed");
    return client;
}

/* Copies a field of the server; raises an error if the text is too long. */
static void link_copy_field(lua_State *L, const char *field, char *out, size_t out_bytes) {
    lua_getfield(L, 1, field);
    const char *text = lua_isnil(L, -1) ? "" : lua_tostring(L, -1);
    if (text != NULL && strlen(text) < out_bytes) {
        strcpy(out, text);
    } else {
        luaL_error(L, "the %s of the server is too long", field);
    }
    lua_pop(L, 1);
}

/* connect(server, access) -> client. server: as slate.base.units reads it */
static int link_call_connect(lua_State *L) {
    struct address address = {0};
    luaL_checktype(L, 1, LUA_TTABLE);
    struct lua_access *one = luaL_checkudata(L, 2, ACCESS_TYPE);
    link_copy_field(L, "name", address.text, sizeof address.text);
    link_copy_field(L, "path", address.host, sizeof((struct sockaddr_un *)0)->sun_path);
    address.is_path = address.host[0] != '\0';
    if (!address.is_path) {
        link_copy_field(L, "host", address.host, sizeof address.host);
        link_copy_field(L, "port", address.port, sizeof address.port);
    }
    lua_getfield(L, 1, "tls");
    address.is_tls = lua_toboolean(L, -1);
    struct client **client = lua_newuserdatauv(L, sizeof *client, 1);
    *client = client_create(&address, &one->access);
    luaL_setmetatable(L, CLIENT_TYPE);
    lua_pushvalue(L, 2); /* the client borrows it */
    lua_setiuservalue(L, -2, 1);
    return *client != NULL ? 1 : luaL_error(L, "out of memory");
}

static int link_client_step(lua_State *L) {
    client_step(link_check_client(L), link_check_ms(L, 2));
    return 0;
}

/* client:send(line, form, now_s) -> whether the line is queued */
static int link_client_send(lua_State *L) {
    static const char *const forms[] = {"line", "stats", "stream", NULL};
    enum reply_form form = (enum reply_form)luaL_checkoption(L, 3, NULL, forms);
    lua_pushboolean(
        L, client_send(link_check_client(L), luaL_checkstring(L, 2), form, 0, link_check_ms(L, 4)));
    return 1;
}

static int link_client_flush(lua_State *L) {
    client_flush(link_check_client(L), link_check_ms(L, 2));
    return 0;
}

/* client:take(now_s) -> the next reply, whether it is statistics; nil when none has come */
static int link_client_take(lua_State *L) {
    struct reply reply;
    if (!client_take_reply(link_check_client(L), &reply, link_check_ms(L, 2))) {
        return 0;
    }
    lua_pushlstring(L, reply.text, reply.text_bytes);
    lua_pushboolean(L, reply.is_stats);
    return 2;
}

static int link_client_state(lua_State *L) {
    static const char *const states[] = {"lookup", "connecting", "up", "down"};
    lua_pushstring(L, states[client_state(link_check_client(L))]);
    return 1;
}

static int link_client_generation(lua_State *L) {
    lua_pushinteger(L, client_generation(link_check_client(L)));
    return 1;
}

static int link_client_note(lua_State *L) {
    lua_pushstring(L, client_note(link_check_client(L)));
    return 1;
}

static int link_client_retry_s(lua_State *L) {
    link_push_time(L, client_retry_ms(link_check_client(L)));
    return 1;
}

static int link_client_due_s(lua_State *L) {
    link_push_time(L, client_due_ms(link_check_client(L)));
    return 1;
}

static int link_client_hurry(lua_State *L) {
    client_hurry(link_check_client(L), link_check_ms(L, 2));
    return 0;
}

static int link_client_close(lua_State *L) {
    client_destroy(link_check_slot(L));
    return 0;
}

/* ---- lists of servers, which a child looks up ---- */

struct lua_lookup {
    struct lookup lookup;
    char *text;
    size_t bytes;
};

/* addresses(host) -> a list of addresses; or nil and a message. In the child it may wait. */
static int link_push_addresses(lua_State *L) {
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

/* The child's part: calls the function on top of the stack, and writes the text that it returns. */
static void link_answer_lookup(const void *of, int pipe_fd) {
    lua_State *L = (lua_State *)of;
    size_t bytes = 0;
    lua_pcall(L, 0, 1, 0); /* its error is an answer, too */
    const char *text = lua_tolstring(L, -1, &bytes);
    for (ssize_t written; bytes > 0 && (written = write(pipe_fd, text, bytes)) > 0;
         bytes -= (size_t)written) {
        text += written;
    }
}

/* discover(f) -> lookup; or nil and why: f runs in a child, and returns a text */
static int link_call_discover(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    struct lua_lookup *one = lua_newuserdatauv(L, sizeof *one, 0);
    *one = (struct lua_lookup){.lookup = LOOKUP_NONE, .text = malloc(ANSWER_BYTES)};
    luaL_setmetatable(L, LOOKUP_TYPE);
    lua_pushvalue(L, 1);
    if (one->text != NULL && lookup_begin(&one->lookup, link_answer_lookup, L)) {
        lua_pop(L, 1);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, "cannot start a process");
    return 2;
}

/* lookup:take() -> the text that the function returned; nil while it runs */
static int link_lookup_take(lua_State *L) {
    struct lua_lookup *one = luaL_checkudata(L, 1, LOOKUP_TYPE);
    ssize_t got = -1;
    while (one->lookup.pipe_fd >= 0 && one->bytes < ANSWER_BYTES &&
           (got = read(one->lookup.pipe_fd, one->text + one->bytes, ANSWER_BYTES - one->bytes)) >
               0) {
        one->bytes += (size_t)got;
    }
    if (got < 0 && one->bytes < ANSWER_BYTES) {
        return 0;
    }
    lua_pushlstring(L, one->text, one->bytes);
    return 1;
}

static int link_lookup_close(lua_State *L) {
    struct lua_lookup *one = luaL_checkudata(L, 1, LOOKUP_TYPE);
    lookup_cancel(&one->lookup);
    free(one->text);
    one->text = NULL;
    one->bytes = 0;
    return 0;
}

/* ---- waiting ---- */

static struct pollfd link_polled_of(lua_State *L, int at) {
    struct client **client = luaL_testudata(L, at, CLIENT_TYPE);
    if (client != NULL) {
        return *client != NULL
                   ? (struct pollfd){.fd = client_fd(*client), .events = client_events(*client)}
                   : (struct pollfd){.fd = -1};
    }
    struct lua_lookup *one = luaL_checkudata(L, at, LOOKUP_TYPE);
    return (struct pollfd){.fd = one->lookup.pipe_fd, .events = POLLIN};
}

static void link_push_now(lua_State *L) {
    lua_pushnumber(L, (double)clock_us() / 1e6);
}

/* wait(polled, due_s) -> now_s, wall_s. due_s nil: until something happens. */
static int link_call_wait(lua_State *L) {
    struct pollfd polled[POLLED_MOST] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = term_signal_fd(), .events = POLLIN},
    };
    unsigned count = 2;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer wanted = luaL_len(L, 1);
    for (lua_Integer i = 1; i <= wanted && count < POLLED_MOST; i++) {
        lua_geti(L, 1, i);
        polled[count++] = link_polled_of(L, -1);
        lua_pop(L, 1);
    }
    double due_s = luaL_optnumber(L, 2, INFINITY);
    uint64_t due_ms = due_s < 1e15 ? (uint64_t)ceil(due_s * 1000) : UINT64_MAX;
    if (lua_toboolean(L, 3)) { /* without a terminal, keys are no concern */
        polled[0].fd = -1;
    }
    uint64_t now_ms = clock_wait(polled, count, due_ms);
    lua_pushnumber(L, (double)now_ms / 1000);
    lua_pushnumber(L, (double)clock_wall_ms() / 1000);
    return 2;
}

static int link_call_now_s(lua_State *L) {
    link_push_now(L);
    return 1;
}

static int link_call_wall_s(lua_State *L) {
    lua_pushnumber(L, (double)clock_wall_ms() / 1000);
    return 1;
}

/* ---- the module ---- */

static const luaL_Reg client_methods[] = {
    {"step", link_client_step},
    {"send", link_client_send},
    {"flush", link_client_flush},
    {"take", link_client_take},
    {"state", link_client_state},
    {"generation", link_client_generation},
    {"note", link_client_note},
    {"retry_s", link_client_retry_s},
    {"due_s", link_client_due_s},
    {"hurry", link_client_hurry},
    {"close", link_client_close},
    {"__gc", link_client_close},
    {NULL, NULL},
};

static const luaL_Reg access_methods[] = {
    {"load", link_access_load}, {"__gc", link_access_free}, {NULL, NULL}};

static const luaL_Reg lookup_methods[] = {{"take", link_lookup_take},
                                          {"close", link_lookup_close},
                                          {"__gc", link_lookup_close},
                                          {NULL, NULL}};

static const luaL_Reg functions[] = {
    {"access", link_call_access},     {"connect", link_call_connect},
    {"discover", link_call_discover}, {"addresses", link_push_addresses},
    {"wait", link_call_wait},         {"now_s", link_call_now_s},
    {"wall_s", link_call_wall_s},     {NULL, NULL},
};

int lua_link_open(lua_State *L) {
    lua_type_make(L, CLIENT_TYPE, client_methods);
    lua_type_make(L, ACCESS_TYPE, access_methods);
    lua_type_make(L, LOOKUP_TYPE, lookup_methods);
    luaL_newlib(L, functions);
    return 1;
}
