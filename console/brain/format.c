#include "brain/format.h"

#include "brain/lua_state.h"
#include "brain/lua_values.h"
#include "facts/stats_snapshot.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>

/* Functions of slate.base.units. */
enum words { WORDS_RATE, WORDS_BYTES, WORDS_SHARE, WORDS_AGE, WORDS_COUNT };
static const char *const functions[WORDS_COUNT] = {"rate", "bytes", "share", "age"};

/* The Lua state stays until the process ends: nearly every drawing has numbers. */
static lua_State *state;
static int references[WORDS_COUNT];

static int format_load_functions(lua_State *L) {
    for (int i = 0; i < WORDS_COUNT; i++) {
        lua_values_push_function(L, "slate.base.units", functions[i]);
        references[i] = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    return 0;
}

static bool format_is_loaded(void) {
    if (state != NULL) {
        return true;
    }
    lua_State *L = lua_state_take();
    if (L == NULL) {
        return false;
    }
    lua_pushcfunction(L, format_load_functions);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
        lua_pop(L, 1);
        lua_state_give_back();
        return false;
    }
    state = L;
    return true;
}

/* Without memory the text is "?". */
static const char *format_words(char out[FORMAT_BYTES], enum words kind, double value) {
    const char *text = isnan(value) ? "-" : value < 0 ? "reset" : NULL;
    if (text != NULL || !format_is_loaded()) {
        snprintf(out, FORMAT_BYTES, "%s", text != NULL ? text : "?");
        return out;
    }
    lua_rawgeti(state, LUA_REGISTRYINDEX, references[kind]);
    lua_pushnumber(state, value);
    text = lua_pcall(state, 1, 1, 0) == LUA_OK ? lua_tostring(state, -1) : NULL;
    snprintf(out, FORMAT_BYTES, "%s", text != NULL ? text : "?");
    lua_pop(state, 1);
    return out;
}

const char *format_count(char out[FORMAT_BYTES], double value) {
    return format_words(out, WORDS_RATE, value);
}

const char *format_bytes(char out[FORMAT_BYTES], double bytes) {
    return format_words(out, WORDS_BYTES, bytes);
}

const char *format_percent(char out[FORMAT_BYTES], double ratio) {
    return format_words(out, WORDS_SHARE, ratio);
}

const char *format_age(char out[FORMAT_BYTES], double age_s) {
    return format_words(out, WORDS_AGE, age_s < 0 ? NAN : age_s);
}

const char *format_metric(char out[FORMAT_BYTES], enum metric metric, double value) {
    enum unit unit = metric_rows[metric].unit;
    return unit == UNIT_RATIO              ? format_percent(out, value)
           : unit == UNIT_BYTES_PER_SECOND ? format_bytes(out, value)
                                           : format_count(out, value);
}

const char *format_clock(char out[FORMAT_BYTES], time_t wall) {
    struct tm local;
    strftime(out, FORMAT_BYTES, "%H:%M:%S", localtime_r(&wall, &local));
    return out;
}

const char *format_delta(char out[FORMAT_BYTES], double change) {
    char magnitude[FORMAT_BYTES];
    if (isnan(change)) {
        snprintf(out, FORMAT_BYTES, "-");
    } else if (change == 0) {
        snprintf(out, FORMAT_BYTES, "·");
    } else {
        format_count(magnitude, fabs(change));
        snprintf(out, FORMAT_BYTES, "%c%.8s", change < 0 ? '-' : '+', magnitude);
    }
    return out;
}

const char *format_exact(char out[FORMAT_BYTES], uint64_t value) {
    if (value == STAT_ABSENT || value > 99999999) {
        return format_count(out, value == STAT_ABSENT ? NAN : (double)value);
    }
    snprintf(out, FORMAT_BYTES, "%lu", (unsigned long)value);
    return out;
}
