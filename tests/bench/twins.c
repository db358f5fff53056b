/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A Lua interpreter for laboratory.lua: a server without sockets, its clients and its time in one thread. So fork makes a twin of the
 * server in any state: what another does differently from there is the effect of a change.
 *
 *     build/bench/twins SCRIPT [word ...]
 *
 * The module `twins`: open(options, seed) begins the server; stream{prefix, sizes, law, keys, rate, reads, ttl_s, phase_s, growth} adds
 * requests, and clear() ends them; pass(seconds) plays them; ask(bytes) returns the reply; clock() is the time in seconds; fork(f) returns the text that f
 * returns in a copy of the process. */
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <sys/wait.h>

#include "session_fixture.h"

#include "control/sweep/sweeper.h"
#include "dist.h"
#include "own_clock.h"
#include "popularity.h"
#include "server/start.h"

enum {
    STREAMS_MAX = 8,
    STEP_US = 10 * 1000, /* requests due within this time are sent together */
    SECOND_US = 1000 * 1000,
    VALUE_MAX = 256 * 1024,
    TURN_BYTES = 16 * 1024, /* of requests that a client sends at once, and more */
    LINE_BYTES = 128,
};

/* Requests for keys by a law of popularity; a missed key is set. */
struct stream {
    const char    *prefix;
    struct dist    sizes;
    struct chooser chooser;
    double         rate, reads_ratio, phase_s, growth; /* each phase has keys of its own, and values so many times as large */
    int            ttl_s;
    double         due_us;
};

static struct twin {
    struct rig    rig;
    struct client load, admin;
    struct stream streams[STREAMS_MAX];
    unsigned      stream_count;
    struct rng    random;
    uint64_t      now_us;
    char         *zeroes, *requests;
    size_t        request_bytes, request_room;
    struct asked { char key[LINE_BYTES]; const struct stream *of; } *asked; /* gets without a reply yet */
    size_t        asked_count, asked_room;
} twin;

/* --- requests --- */

static char *twins_room(struct twin *t, size_t bytes) {
    if (t->request_room - t->request_bytes < bytes) {
        t->request_room = (t->request_bytes + bytes) * 2;
        t->requests = realloc(t->requests, t->request_room);
    }
    return t->requests + t->request_bytes;
}

static void twins_add_set(struct twin *t, const struct stream *s, const char *key) {
    struct rng of_key = rng_from(key_make(key, strlen(key)).hash);
    double phase = s->phase_s > 0 ? floor((double)t->now_us / SECOND_US / s->phase_s) : 0;
    double bytes = dist_draw(&s->sizes, &of_key) * pow(s->growth, phase);
    size_t value_bytes = bytes < 1 ? 1 : bytes < VALUE_MAX ? (size_t)bytes : VALUE_MAX;
    char *p = twins_room(t, LINE_BYTES * 2 + value_bytes);
    size_t n = (size_t)sprintf(p, "ms %s %zu T%d q\r\n", key, value_bytes, s->ttl_s);
    memcpy(p + n, t->zeroes, value_bytes);
    memcpy(p + n + value_bytes, "\r\n", 2);
    t->request_bytes += n + value_bytes + 2;
}

static void twins_add_get(struct twin *t, const struct stream *s, const char *key) {
    if (t->asked_count == t->asked_room) {
        t->asked_room = t->asked_room * 2 + 64;
        t->asked = realloc(t->asked, t->asked_room * sizeof *t->asked);
    }
    strcpy(t->asked[t->asked_count].key, key);
    t->asked[t->asked_count++].of = s;
    t->request_bytes += (size_t)sprintf(twins_room(t, LINE_BYTES * 2), "mg %s\r\n", key);
}

static void twins_send(struct twin *t) {
    size_t n = t->request_bytes;
    t->request_bytes = 0;
    client_send(&t->rig, &t->load, t->requests, n);
}

/* Sends the requests, then a set for each get that missed. */
static void twins_flush(struct twin *t) {
    size_t asked = t->asked_count, answered = 0;
    twins_send(t);
    t->asked_count = 0;
    const char *end = t->load.out + t->load.out_bytes;
    for (const char *p = t->load.out, *next; p < end; p = next) {
        next = (const char *)memchr(p, '\n', (size_t)(end - p)) + 1;
        bool missed = memcmp(p, "EN", 2) == 0;
        if (missed) {
            twins_add_set(t, t->asked[answered].of, t->asked[answered].key);
        }
        answered += missed || memcmp(p, "HD", 2) == 0; /* another line is the error of a set */
    }
    t->load.out_bytes = 0;
    if (answered != asked) {
        fprintf(stderr, "twins: %zu replies to %zu gets\n", answered, asked);
        exit(EXIT_FAILURE);
    }
    if (t->request_bytes > 0) {
        twins_send(t);
        t->load.out_bytes = 0;
    }
}

static void twins_request(struct twin *t, struct stream *s) {
    char key[LINE_BYTES];
    unsigned phase = s->phase_s > 0 ? (unsigned)((double)t->now_us / SECOND_US / s->phase_s) : 0;
    snprintf(key, sizeof key, "%s-%u-%09" PRIu64, s->prefix, phase, chooser_draw(&s->chooser, &t->random));
    if (rng_unit(&t->random) < s->reads_ratio) {
        twins_add_get(t, s, key);
    } else {
        twins_add_set(t, s, key);
    }
    s->due_us += SECOND_US / s->rate;
    if (t->request_bytes >= TURN_BYTES) {
        twins_flush(t);
    }
}

static void twins_step(struct twin *t) {
    own_clock_pass(STEP_US);
    t->now_us += STEP_US;
    for (;;) {
        struct stream *next = &t->streams[0];
        for (unsigned i = 1; i < t->stream_count; i++) {
            next = t->streams[i].due_us < next->due_us ? &t->streams[i] : next;
        }
        if (t->stream_count == 0 || next->due_us > (double)t->now_us) {
            break;
        }
        twins_request(t, next);
    }
    twins_flush(t);
    struct tuner *tuner = t->rig.server.tuner;
    tuner_tend_at(tuner, clock_mono_us());
    sweeper_tend(&tuner->sweeper, clock_mono_us());
}

/* --- the module --- */

static void twins_adjust(struct cache_config *config, struct tuner_config *tune) {
    static struct slab_sizes sizes;
    start_cache_config(&twin.rig.settings, config, &sizes);
    start_control_config(&twin.rig.settings, tune);
    tune->by_hand = true;
}

static int l_open(lua_State *lua) {
    char options[512];
    snprintf(options, sizeof options, "%s", luaL_checkstring(lua, 1));
    own_reading_us = 1; /* a sweep's spell ends */
    twin.random = rng_from((uint64_t)luaL_checkinteger(lua, 2));
    key_hash_seed((uint64_t)luaL_checkinteger(lua, 2));
    twin.zeroes = calloc(1, VALUE_MAX);
    rig_adjust = twins_adjust;
    if (!rig_open(&twin.rig, options)) {
        return luaL_error(lua, "no server with these options");
    }
    twin.rig.server.conns.accepting = true; /* as far as clients and judges see */
    client_open(&twin.load);
    client_open(&twin.admin);
    return 0;
}

static double twins_number(lua_State *lua, const char *name) {
    lua_getfield(lua, 1, name);
    double number = luaL_optnumber(lua, -1, 0);
    lua_pop(lua, 1);
    return number;
}

static const char *twins_text(lua_State *lua, const char *name) {
    lua_getfield(lua, 1, name);
    const char *text = strdup(luaL_checkstring(lua, -1));
    lua_pop(lua, 1);
    return text;
}

static int l_stream(lua_State *lua) {
    struct stream *s = &twin.streams[twin.stream_count];
    struct popularity popularity;
    if (twin.stream_count == STREAMS_MAX || !dist_parse(twins_text(lua, "sizes"), &s->sizes) ||
        !popularity_parse(twins_text(lua, "law"), &popularity)) {
        return luaL_error(lua, "no such stream");
    }
    twin.stream_count++;
    chooser_init(&s->chooser, &popularity, (uint64_t)twins_number(lua, "keys"));
    s->prefix = twins_text(lua, "prefix");
    s->rate = twins_number(lua, "rate");
    s->reads_ratio = twins_number(lua, "reads") / 100;
    s->ttl_s = (int)twins_number(lua, "ttl_s");
    s->phase_s = twins_number(lua, "phase_s");
    s->growth = twins_number(lua, "growth");
    s->due_us = (double)twin.now_us;
    return 0;
}

static int l_clear(lua_State *lua) {
    (void)lua;
    twin.stream_count = 0;
    return 0;
}

static int l_pass(lua_State *lua) {
    uint64_t until_us = twin.now_us + (uint64_t)(luaL_checknumber(lua, 1) * SECOND_US);
    while (twin.now_us < until_us) {
        twins_step(&twin);
    }
    return 0;
}

static int l_ask(lua_State *lua) {
    size_t n;
    const char *bytes = luaL_checklstring(lua, 1, &n);
    client_send(&twin.rig, &twin.admin, bytes, n);
    lua_pushlstring(lua, twin.admin.out, twin.admin.out_bytes);
    twin.admin.out_bytes = 0;
    return 1;
}

static int l_clock(lua_State *lua) {
    lua_pushnumber(lua, (double)twin.now_us / SECOND_US);
    return 1;
}

/* The child's side: its text goes to the pipe. */
static void twins_be_child(lua_State *lua, int fd) {
    FILE *to = fdopen(fd, "w");
    lua_call(lua, 0, 1);
    size_t n;
    const char *text = luaL_checklstring(lua, -1, &n);
    if (fwrite(text, 1, n, to) != n || fclose(to) != 0) {
        _exit(EXIT_FAILURE);
    }
    _exit(EXIT_SUCCESS);
}

static int l_fork(lua_State *lua) {
    int ends[2], status;
    luaL_checktype(lua, 1, LUA_TFUNCTION);
    fflush(NULL);
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child == -1) {
        return luaL_error(lua, "no twin: %s", strerror(errno));
    } else if (child == 0) {
        twins_be_child(lua, ends[1]);
    }
    close(ends[1]);
    luaL_Buffer text;
    luaL_buffinit(lua, &text);
    for (ssize_t n = 1; n > 0; luaL_addsize(&text, n > 0 ? (size_t)n : 0)) {
        n = read(ends[0], luaL_prepbuffer(&text), LUAL_BUFFERSIZE);
    }
    close(ends[0]);
    luaL_pushresult(&text);
    waitpid(child, &status, 0);
    return status == 0 ? 1 : luaL_error(lua, "a twin ended early");
}

static int twins_open_module(lua_State *lua) {
    static const luaL_Reg functions[] = {{"open", l_open}, {"stream", l_stream}, {"clear", l_clear}, {"pass", l_pass}, {"ask", l_ask},
                                         {"clock", l_clock}, {"fork", l_fork}, {NULL, NULL}};
    luaL_newlib(lua, functions);
    return 1;
}

int main(int argc, char **argv) {
    lua_State *lua = luaL_newstate();
    luaL_openlibs(lua);
    luaL_requiref(lua, "twins", twins_open_module, false);
    lua_createtable(lua, argc, 1);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(lua, argv[i]);
        lua_rawseti(lua, -2, i - 1);
    }
    lua_setglobal(lua, "arg");
    if (argc < 2 || luaL_dofile(lua, argv[1]) != LUA_OK) {
        fprintf(stderr, "%s\n", argc < 2 ? "usage: twins SCRIPT [word ...]" : lua_tostring(lua, -1));
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
