/* Every transcript of tests/proto that needs no socket, against a session and a cache in this process: fed whole, byte by
 * byte, and in random pieces with awkward sends; and whole with every other store and index. The specs' own player compares the
 * replies (tests/spec/support/replay.lua). Run from the top folder; tests/spec/proto_spec.lua plays the same to a real server. */
#include "tap.h"

#include <dirent.h>
#include <lauxlib.h>
#include <lualib.h>

#include "session_fixture.h"

enum { CLIENTS_MAX = 8, OPTIONS_BYTES = 264 };

static struct rig    rig;
static struct client clients[CLIENTS_MAX];
static size_t        taken[CLIENTS_MAX]; /* bytes of a client's replies that the player has taken */
static int           client_count;

static int new_client(lua_State *L) {
    if (client_count == CLIENTS_MAX) {
        return luaL_error(L, "a transcript has at most %d connections", CLIENTS_MAX);
    }
    client_open(&clients[client_count]);
    taken[client_count] = 0;
    lua_pushinteger(L, client_count++);
    return 1;
}

static int send_bytes(lua_State *L) {
    size_t n;
    const char *bytes = luaL_checklstring(L, 2, &n);
    client_send(&rig, &clients[luaL_checkinteger(L, 1)], bytes, n);
    return 0;
}

/* The bytes that a client received since the last call, and whether the server hung up. */
static int take_replies(lua_State *L) {
    lua_Integer id = luaL_checkinteger(L, 1);
    const struct client *c = &clients[id];
    lua_pushlstring(L, c->out_bytes > 0 ? c->out + taken[id] : "", c->out_bytes - taken[id]);
    lua_pushboolean(L, c->closed);
    taken[id] = c->out_bytes;
    return 2;
}

static int random_step(lua_State *L) {
    lua_pushinteger(L, 1 + rig_random(&rig, rig_random(&rig, 4) == 0 ? 20000 : 24));
    return 1;
}

/* For the player a client is a socket, and each reading of the clock takes a second. */
static const char glue[] =
    "package.path = 'tests/spec/?.lua'\n"
    "local now_s, script = 0, nil\n"
    "package.preload.lfs = function() return {} end\n"
    "package.preload.socket = function()\n"
    "  return { sleep = function() end, select = function() return {} end, gettime = function() now_s = now_s + 1 return now_s end }\n"
    "end\n"
    "local transcript, replay = require 'support.transcript', require 'support.replay'\n"
    "local function nothing() end\n"
    "replay.feeds['in random pieces'] = function(connection, pieces)\n"
    "  for _, piece in ipairs(pieces) do\n"
    "    local at = 1\n"
    "    while at <= #piece.bytes do\n"
    "      local step = random_step()\n"
    "      connection:send(piece.bytes:sub(at, at + step - 1))\n"
    "      at = at + step\n"
    "    end\n"
    "  end\n"
    "end\n"
    "local server = {}\n"
    "function server:connect()\n"
    "  local id = new_client()\n"
    "  return { settimeout = nothing, close = nothing,\n"
    "    send = function(_, bytes, at) send_bytes(id, bytes:sub(at)) return #bytes end,\n"
    "    receive = function()\n"
    "      local bytes, closed = take_replies(id)\n"
    "      return nil, closed and 'closed' or 'timeout', bytes\n"
    "    end }\n"
    "end\n"
    "function read(name)\n"
    "  local file = assert(io.open('tests/proto/' .. name, 'rb'))\n"
    "  script = transcript.parse(file:read('a'), name)\n"
    "  file:close()\n"
    "  return table.concat(script.options, ' '), script.debug, script.net, script.slab, script.whole\n"
    "end\n"
    "function play(feed) replay.play(script, server, replay.feeds[feed]) end\n";

/* Calls a function of the transcript module with a text. False: the call failed, and the error is printed. */
static bool call(lua_State *L, const char *name, const char *argument, int results) {
    lua_settop(L, 0);
    lua_getglobal(L, name);
    lua_pushstring(L, argument);
    if (lua_pcall(L, 1, results, 0) == LUA_OK) {
        return true;
    }
    printf("# %s\n", lua_tostring(L, -1));
    return false;
}

static void play(lua_State *L, const char *name, const char *script_options, enum cache_store_kind store, const struct index_kind *index, const char *feed,
                 uint64_t seed) {
    char options[OPTIONS_BYTES];
    snprintf(options, sizeof options, "--store=%s --index=%s %s", cache_store_name(store), index->name, script_options);
    client_count = 0;
    bool good = rig_open(&rig, options);
    rig.awkward = strcmp(feed, "in random pieces") == 0;
    rig.random = seed;
    ok(good && call(L, "play", feed, 0), "%s, fed %s to the %s store and the %s index", name, feed, cache_store_name(store), index->name);
    while (client_count > 0) {
        client_close(&rig, &clients[--client_count]);
    }
    rig_close(&rig);
}

static void play_all(lua_State *L, const char *name, uint64_t seed, unsigned *played) {
    char options[OPTIONS_BYTES];
    if (!ok(call(L, "read", name, 5), "%s is a transcript", name)) {
        return;
    }
    bool debug = lua_toboolean(L, 2), net = lua_toboolean(L, 3), slab = lua_toboolean(L, 4), whole = lua_toboolean(L, 5);
    snprintf(options, sizeof options, "%s", lua_tostring(L, 1));
#ifdef SLATE_DEBUG
    debug = false;
#endif
    if (net || debug) {
        return;
    }
    unsigned stores = slab ? CACHE_STORE_SLAB + 1 : CACHE_STORE_KINDS;
    for (unsigned store = 0; store < stores; store++) {
        play(L, name, options, (enum cache_store_kind)store, index_kinds[0], "whole", seed);
    }
    for (unsigned i = 0; i < 2 && !whole; i++) { /* the seed chooses the store */
        play(L, name, options, (enum cache_store_kind)((seed + i) % stores), index_kinds[0], i == 0 ? "byte by byte" : "in random pieces", seed);
    }
    for (int kind = 1; index_kinds[kind] != NULL; kind++) {
        play(L, name, options, CACHE_STORE_SLAB, index_kinds[kind], "whole", seed);
    }
    ++*played;
}

static int is_transcript(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.'), *only = getenv("PROTO");
    return dot && strcmp(dot, ".txt") == 0 && (!only || strstr(entry->d_name, only));
}

int main(void) {
    uint64_t seed = tap_seed();
    struct dirent **names;
    unsigned played = 0;
    int count = scandir("tests/proto", &names, is_transcript, alphasort);
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_register(L, "new_client", new_client);
    lua_register(L, "send_bytes", send_bytes);
    lua_register(L, "take_replies", take_replies);
    lua_register(L, "random_step", random_step);
    if (!ok(luaL_dostring(L, glue) == LUA_OK, "the specs' player can be had: %s", lua_gettop(L) > 0 ? lua_tostring(L, -1) : "yes")) {
        return tap_done();
    }
    for (int i = 0; i < count; i++) {
        play_all(L, names[i]->d_name, seed + (uint64_t)i, &played);
        free(names[i]);
    }
    free(count >= 0 ? names : NULL);
    lua_close(L);
    ok(played > 0, "transcripts were found under tests/proto: %u of %d need no socket", played, count);
    return tap_done();
}
