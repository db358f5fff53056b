#include "control/automove/lua_policy.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the argument: a name and settings --- */

static bool lua_policy_name_is_valid(const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_') {
            return false;
        }
    }
    return n > 0 && n < LUA_POLICY_NAME_BYTES;
}

static bool lua_source_split(const char *argument, struct lua_source *w, char *why) {
    char *rest = NULL;
    *w = (struct lua_source){.count = 0};
    if ((size_t)snprintf(w->words, sizeof w->words, "%s", argument) >= sizeof w->words) {
        snprintf(why, REASON_BYTES, "a policy's name with its settings has at most %zu characters",
                 sizeof w->words - 1);
        return false;
    }
    w->name = strtok_r(w->words, " ", &rest);
    if (w->name == NULL || !lua_policy_name_is_valid(w->name)) {
        snprintf(why, REASON_BYTES, "a policy's name is up to %d letters, digits, - and _",
                 LUA_POLICY_NAME_BYTES - 1);
        return false;
    }
    for (char *word; (word = strtok_r(NULL, " ", &rest)) != NULL; w->count++) {
        if (w->count == LUA_POLICY_SETTINGS_MAX) {
            snprintf(why, REASON_BYTES, "a policy takes at most %d settings",
                     LUA_POLICY_SETTINGS_MAX);
            return false;
        }
        w->setting[w->count] = word;
    }
    return true;
}

/* --- the file --- */

/* Opens a regular file of known length: other files could make the tuner wait. Returns -1 and
 * why. */
static int lua_source_open(const char *dir, const char *name, char *why) {
    char path[4096];
    struct stat facts;
    if (dir == NULL || (size_t)snprintf(path, sizeof path, "%s/%s.lua", dir, name) >= sizeof path) {
        snprintf(why, REASON_BYTES, "there is no policy directory: start with --policy-dir=PATH");
        return -1;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        const char *problem = errno == ENOENT ? "no such file" : strerror(errno);
        snprintf(why, REASON_BYTES, "there is no policy %s in %s: %s", name, dir, problem);
        return -1;
    }
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode) ||
        facts.st_size > LUA_POLICY_SOURCE_MAX) {
        snprintf(why, REASON_BYTES, "%s.lua is not a file of at most %d KiB", name,
                 LUA_POLICY_SOURCE_MAX >> 10);
        close(fd);
        return -1;
    }
    return fd;
}

bool lua_source_read(struct lua_source *s, const char *dir, const char *argument, char *why) {
    int fd = lua_source_split(argument, s, why) ? lua_source_open(dir, s->name, why) : -1;
    if (fd < 0) {
        return false;
    }
    char *text = malloc(LUA_POLICY_SOURCE_MAX + 1);
    size_t n = 0;
    ssize_t got = text != NULL ? 1 : -1;
    while (got > 0 && n <= LUA_POLICY_SOURCE_MAX) { /* the file may have grown since fstat */
        got = read(fd, text + n, LUA_POLICY_SOURCE_MAX + 1 - n);
        n += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    if (got < 0 || n > LUA_POLICY_SOURCE_MAX) {
        snprintf(why, REASON_BYTES, "%s.lua cannot be read", s->name);
        free(text);
        return false;
    }
    s->text = text;
    s->bytes = n;
    return true;
}

/* --- loading --- */

struct loading {
    struct lua_policy       *policy;
    const struct lua_source *source;
};

static int lua_policy_load(lua_State *L) {
    struct loading *l = lua_touserdata(L, LUA_BOX_TOP + 1);
    const struct lua_source *s = l->source;
    char chunk[LUA_POLICY_NAME_BYTES + 8];
    snprintf(chunk, sizeof chunk, "=%s.lua", s->name);
    lua_box_push_core(L, "start");
    lua_box_push_chunk(L, s->text, s->bytes, chunk);
    lua_call(L, 0, 1);
    lua_createtable(L, (int)s->count, 0);
    for (unsigned i = 0; i < s->count; i++) {
        lua_pushstring(L, s->setting[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_call(L, 2, 1);
    lua_getfield(L, -1, "window_s");
    l->policy->window_s = lua_tonumber(L, -1);
    lua_getfield(L, -2, "wants_curves");
    l->policy->wants_curves = lua_toboolean(L, -1);
    lua_pop(L, 2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, l->policy); /* decide reads this */
    return 0;
}

bool lua_policy_start(struct lua_policy *p, const struct lua_source *source,
                      const struct lua_box_limits *limits, char *why) {
    struct loading l = {.policy = p, .source = source};
    snprintf(p->name, sizeof p->name, "%s", source->name);
    bool started = lua_box_open(&p->box, p->name, limits, why);
    if (started && !lua_box_call(&p->box, lua_policy_load, &l, why)) {
        lua_box_close(&p->box);
        started = false;
    }
    return started;
}

bool lua_policy_open(struct lua_policy *p, const char *dir, const char *argument,
                     const struct lua_box_limits *limits, char *why) {
    struct lua_source source;
    if (!lua_source_read(&source, dir, argument, why)) {
        return false;
    }
    bool opened = lua_policy_start(p, &source, limits, why);
    free(source.text);
    return opened;
}

void lua_policy_close(struct lua_policy *p) { lua_box_close(&p->box); }

/* --- snapshots as tables --- */

static void lua_policy_set_integer(lua_State *L, const char *name, uint64_t value) {
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

static void lua_policy_set_figure(void *arg, const char *name, uint64_t value) {
    lua_policy_set_integer(arg, name, value);
}

static void lua_policy_set_curve(lua_State *L, const struct class_curve *curve) {
    lua_createtable(L, (int)curve->count, 0);
    for (unsigned i = 0; i < curve->count; i++) {
        lua_createtable(L, 2, 0);
        lua_pushinteger(L, (lua_Integer)curve->points[i].bytes);
        lua_rawseti(L, -2, 1);
        lua_pushnumber(L, curve->points[i].hit_ratio);
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "curve");
}

void lua_policy_push_snapshot(lua_State *L, const struct snapshot *s) {
    luaL_checkstack(L, 8, NULL);
    lua_createtable(L, 0, 8);
    lua_pushnumber(L, (lua_Number)(s->epoch_us + s->time_us) / 1e6);
    lua_setfield(L, -2, "time_s");
    lua_policy_set_integer(L, "pages_limit", s->pages_limit);
    lua_policy_set_integer(L, "pages_free", s->pages_free);
    lua_createtable(L, 0, 0);
    lua_setfield(L, -2, "general");
    lua_createtable(L, (int)s->class_count, 0);
    lua_Integer listed = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        if (snapshot_class_listed(&s->classes[i])) {
            lua_createtable(L, 0, 16);
            snapshot_class_each(&s->classes[i], i, lua_policy_set_figure, L);
            if (s->curves != NULL && s->curves[i].count > 0) {
                lua_policy_set_curve(L, &s->curves[i]);
            }
            lua_rawseti(L, -2, ++listed);
        }
    }
    lua_setfield(L, -2, "classes");
}

/* --- decisions --- */

struct deciding {
    struct lua_policy     *policy;
    const struct snapshot *before, *after;
    struct decision       *decision;
};

static bool lua_policy_is_class(const struct snapshot *s, lua_Integer id) {
    return id == SLAB_CLASS_NONE || (id > 0 && (lua_Unsigned)id <= s->class_count);
}

/* Reads one move of the list at the top, and checks it again after the core. */
static void lua_policy_read_move(lua_State *L, struct deciding *d, lua_Integer i) {
    static const char *const names[] = {"from", "to", "pages"};
    lua_Integer n[3];
    lua_rawgeti(L, -1, i);
    for (int k = 0; k < 3; k++) {
        int whole = 0;
        lua_getfield(L, -1, names[k]);
        n[k] = lua_tointegerx(L, -1, &whole);
        lua_pop(L, 1);
        if (!whole) {
            luaL_error(L, "move %I has no %s", i, names[k]);
        }
    }
    lua_getfield(L, -1, "reason");
    const char *reason = lua_tostring(L, -1);
    if (!lua_policy_is_class(d->after, n[0]) || !lua_policy_is_class(d->after, n[1]) ||
        n[0] == n[1] || n[2] < 1 || n[2] > MOVE_PAGES_MAX || reason == NULL ||
        decision_move(d->decision, (unsigned)n[0], (unsigned)n[1], (unsigned)n[2], "%s", reason) ==
            NULL) {
        luaL_error(L, "move %I is none", i);
    }
    lua_pop(L, 2);
}

static int lua_policy_call_decide(lua_State *L) {
    struct deciding *d = lua_touserdata(L, LUA_BOX_TOP + 1);
    lua_box_push_core(L, "decide");
    lua_rawgetp(L, LUA_REGISTRYINDEX, d->policy);
    lua_policy_push_snapshot(L, d->before);
    lua_policy_push_snapshot(L, d->after);
    lua_call(L, 3, 2);
    const char *why = lua_tostring(L, -1);
    decision_none(d->decision, "%s", why != NULL ? why : "the policy gives no reason");
    lua_pop(L, 1);
    for (lua_Integer i = 1, n = luaL_len(L, -1); i <= n; i++) {
        lua_policy_read_move(L, d, i);
    }
    return 0;
}

/* A snapshot so much before the end still ends the window, as in policy_core.lua. */
static const double EARLY_S = 0.1;

bool lua_policy_is_due(const struct lua_policy *p, const struct snapshot *before,
                       const struct snapshot *after) {
    return (double)(after->time_us - before->time_us) / 1e6 + EARLY_S >= p->window_s;
}

bool lua_policy_decide(struct lua_policy *p, const struct snapshot *before,
                       const struct snapshot *after, struct decision *decision) {
    char why[REASON_BYTES];
    if (!lua_policy_is_due(p, before, after)) {
        decision->extend = true;
        return decision_none(decision, "%s: %.0f s of its window of %g s have passed", p->name,
                             (double)(after->time_us - before->time_us) / 1e6, p->window_s);
    }
    struct deciding d = {.policy = p, .before = before, .after = after, .decision = decision};
    if (!lua_box_call(&p->box, lua_policy_call_decide, &d, why)) {
        return decision_fail(decision, "%s", why);
    }
    return decision->count > 0;
}
