#include "brain/brain.h"

#include "brain/inside.h"
#include "brain/lua_facts.h"
#include "brain/lua_state.h"
#include "brain/lua_values.h"
#include "brain/observer.h"
#include "brain/own_rules.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name; /* the name in lua/slate/judge/view.lua */
    const char *word; /* its word on the screen */
} states[CLASS_STATES] = {
    [CLASS_UNKNOWN] = {"unknown", "unknown"},
    [CLASS_EMPTY] = {"empty", "empty"},
    [CLASS_CALM] = {"calm", "calm"},
    [CLASS_SPARE] = {"spare", "spare pages"},
    [CLASS_EVICTING] = {"evicting", "evicting"},
    [CLASS_NO_GAIN] = {"no_gain", "no gain"},
    [CLASS_STARVING] = {"starving", "STARVING"},
};

const char *brain_class_word(enum class_state state) {
    return states[state].word;
}

static void brain_forget_verdicts(struct brain *brain) {
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        brain->classes[id] = (struct class_verdict){CLASS_EMPTY, NAN, NAN};
    }
    brain->said = (struct verdict){.worst = -1, .youngest_s = NAN};
    brain->judge.refused_stores_per_s = brain->judge.refused_connections_per_s = NAN;
    brain->judge.news_count = 0;
}

/* Ends all judging; the error on top of the stack is the reason. */
static void brain_take_error(struct brain *brain) {
    const char *text = lua_tostring(brain->lua, -1);
    snprintf(brain->failure, sizeof brain->failure, "%s",
             text != NULL ? text : "an error without words");
    lua_pop(brain->lua, 1);
    brain_forget_verdicts(brain);
}

/* ---- results of Lua as plain data ---- */

static enum class_state brain_state_of(lua_State *L) {
    lua_getfield(L, -1, "state");
    const char *name = lua_tostring(L, -1);
    int state = CLASS_STATES - 1;
    while (state > 0 && (name == NULL || strcmp(states[state].name, name) != 0)) {
        state--;
    }
    lua_pop(L, 1);
    return (enum class_state)state;
}

/* Reads the rows of the observer on top of the stack. */
static void brain_read_rows(struct brain *brain) {
    lua_State *L = brain->lua;
    lua_getfield(L, -1, "rows");
    lua_Integer count = luaL_len(L, -1);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_geti(L, -1, i);
        double id = lua_values_number(L, "id");
        if (id >= 0 && id < CLASS_LIMIT) {
            brain->classes[(unsigned)id] =
                (struct class_verdict){brain_state_of(L), lua_values_number(L, "life_s"),
                                       lua_values_number(L, "mean_evicted_per_s")};
            brain->said.worst = lua_values_flag(L, "is_worst") ? (int)id : brain->said.worst;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void brain_read_held(struct brain *brain) {
    lua_State *L = brain->lua;
    if (lua_getfield(L, -1, "over") == LUA_TTABLE) {
        brain->said.held = (struct held){.bytes = lua_values_number(L, "held_bytes"),
                                    .limit_bytes = lua_values_number(L, "limit_bytes"),
                                    .is_much = lua_values_flag(L, "is_much")};
    }
    lua_pop(L, 1);
}

/* Reads rates that Lua derives: they need several statistics, or a version counts one wrongly. */
static void brain_read_rates(struct brain *brain) {
    lua_State *L = brain->lua;
    if (lua_getfield(L, -1, "rates") == LUA_TTABLE) {
        brain->judge.refused_stores_per_s = lua_values_number(L, "refused_stores_per_s");
        brain->judge.refused_connections_per_s = lua_values_number(L, "refused_connections_per_s");
    }
    lua_pop(L, 1);
}

static void brain_read_news(struct brain *brain) {
    lua_State *L = brain->lua;
    struct judge *judge = &brain->judge;
    lua_getfield(L, -1, "news");
    lua_Integer count = luaL_len(L, -1);
    for (lua_Integer i = 1; i <= count && judge->news_count < NEWS_MOST; i++) {
        lua_geti(L, -1, i);
        snprintf(judge->news[judge->news_count++], NOTE_BYTES, "%s", luaL_checkstring(L, -1));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* ---- calls in which Lua may raise errors ---- */

/* The first call makes the observer: loading its modules takes longer than the first paint may. */
void brain_push_observer(lua_State *L, const struct brain *brain) {
    if (brain->observer != LUA_NOREF) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, brain->observer);
        return;
    }
    lua_values_push_function(L, "slate.judge.view", "observer");
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    ((struct brain *)brain)->observer = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* (brain, snapshot), both as light userdata -> nothing */
static int brain_call_observe(lua_State *L) {
    struct brain *brain = lua_touserdata(L, 1);
    brain_push_observer(L, brain);
    lua_getfield(L, -1, "observe");
    lua_pushvalue(L, -2);
    lua_facts_push(L, lua_touserdata(L, 2), own_rules_are_open());
    lua_call(L, 2, 0);
    brain_forget_verdicts(brain);
    brain_read_rows(brain);
    brain_read_held(brain);
    lua_values_text(L, "automove", brain->said.automove, sizeof brain->said.automove);
    brain_read_rates(brain);
    brain_read_news(brain);
    brain->said.reports_classes = lua_values_flag(L, "reports_classes");
    brain->said.knows_starving = lua_values_flag(L, "knows_starving");
    brain->said.youngest_s = lua_values_number(L, "youngest_s");
    return 0;
}

/* (brain, donor) -> nothing. donor->class_id is the receiver at first. */
static int brain_find_donor(lua_State *L) {
    struct donor *donor = lua_touserdata(L, 2);
    brain_push_observer(L, lua_touserdata(L, 1));
    lua_getfield(L, -1, "donor_for");
    lua_insert(L, -2);
    lua_pushinteger(L, donor->class_id);
    donor->class_id = -1;
    lua_call(L, 2, 2);
    if (lua_isinteger(L, -2)) {
        *donor = (struct donor){(int)lua_tointeger(L, -2), (unsigned)lua_tointeger(L, -1)};
    }
    return 0;
}

struct page_flow {
    unsigned from, to, pages;
};

/* (brain, flow) -> nothing */
static int brain_find_pages(lua_State *L) {
    struct page_flow *flow = lua_touserdata(L, 2);
    lua_values_push_function(L, "slate.judge.prediction", "pages");
    brain_push_observer(L, lua_touserdata(L, 1));
    lua_pushinteger(L, flow->from);
    lua_pushinteger(L, flow->to);
    lua_call(L, 3, 1);
    flow->pages = (unsigned)luaL_checkinteger(L, -1);
    return 0;
}

/* (brain, waste) -> nothing */
static int brain_find_waste(lua_State *L) {
    struct waste *waste = lua_touserdata(L, 2);
    lua_values_push_function(L, "slate.facts.waste", "total");
    lua_values_push_function(L, "slate.facts.waste", "classes");
    brain_push_observer(L, lua_touserdata(L, 1));
    lua_getfield(L, -1, "now");
    lua_replace(L, -2);
    lua_pushvalue(L, -1);
    lua_insert(L, -3); /* total, now, classes, now */
    lua_call(L, 1, 1);
    lua_call(L, 2, 1);
    *waste = (struct waste){lua_values_number(L, "slack_bytes"),
                            lua_values_number(L, "waste_ratio")};
    return 0;
}

/* (snapshot, refused) -> nothing */
static int brain_count_refused(lua_State *L) {
    lua_values_push_function(L, "slate.facts.snapshot", "refused_stores");
    lua_facts_push(L, lua_touserdata(L, 1), false);
    lua_call(L, 1, 1);
    if (lua_isnumber(L, -1)) {
        *(uint64_t *)lua_touserdata(L, 2) = (uint64_t)lua_tonumber(L, -1);
    }
    return 0;
}

/* ---- for C ---- */

const struct verdict *brain_said(const struct brain *brain) {
    return &brain->said;
}

int brain_in_need(const struct brain *brain) {
    int worst = brain->said.worst;
    return worst >= 0 && brain->classes[worst].state != CLASS_NO_GAIN ? worst : -1;
}

struct brain *brain_create(void) {
    struct brain *brain = calloc(1, sizeof *brain);
    if (brain == NULL) {
        return NULL;
    }
    brain->lua = lua_state_take();
    if (brain->lua == NULL) {
        free(brain);
        return NULL;
    }
    brain_forget_verdicts(brain);
    brain->observer = LUA_NOREF;
    return brain;
}

void brain_destroy(struct brain **brain) {
    if (*brain != NULL) {
        luaL_unref((*brain)->lua, LUA_REGISTRYINDEX, (*brain)->observer);
        lua_state_give_back();
        for (int kind = 0; kind < CACHED_KINDS; kind++) {
            free((*brain)->cached[kind]);
        }
        free(*brain);
        *brain = NULL;
    }
}

void brain_observe(struct brain *brain, const struct snapshot *now) {
    if (brain->failure[0] != '\0') {
        return;
    }
    lua_pushcfunction(brain->lua, brain_call_observe);
    lua_pushlightuserdata(brain->lua, brain);
    lua_pushlightuserdata(brain->lua, (void *)now);
    if (lua_pcall(brain->lua, 2, 0, 0) != LUA_OK) {
        brain_take_error(brain);
    }
}

static void brain_judge_observe(struct judge *judge, const struct snapshot *now) {
    brain_observe((struct brain *)judge, now);
}

static void brain_judge_end(struct judge *judge) {
    struct brain *brain = (struct brain *)judge;
    brain_destroy(&brain);
}

struct model *brain_model(const char *server) {
    struct brain *brain = brain_create();
    if (brain == NULL) {
        return NULL;
    }
    brain->judge.observe = brain_judge_observe;
    brain->judge.end = brain_judge_end;
    return model_create(server, &brain->judge);
}

const struct brain *brain_of(const struct model *model) {
    return (const struct brain *)model_judge(model);
}

const struct class_verdict *brain_class(const struct brain *brain, unsigned class_id) {
    return &brain->classes[class_id < CLASS_LIMIT ? class_id : 0];
}

const char *brain_no_classes(const struct brain *brain) {
    return brain->said.reports_classes ? "no class has pages yet"
                                : "this server does not report its classes";
}

void brain_find(const struct brain *brain, lua_CFunction find, const void *of, void *out) {
    lua_State *L = brain->lua;
    if (brain->failure[0] == '\0') {
        lua_pushcfunction(L, find);
        lua_pushlightuserdata(L, (void *)of);
        lua_pushlightuserdata(L, out);
        if (lua_pcall(L, 2, 0, 0) != LUA_OK) {
            lua_pop(L, 1); /* the next snapshot raises it again, which is reported */
        }
    }
}

void *brain_cached(const struct model *model, enum cached_kind kind, size_t bytes,
                   uint64_t replies_ms, bool *is_old) {
    struct cached **cached = &((struct brain *)brain_of(model))->cached[kind];
    const struct snapshot *now = model_now(model);
    if (*cached == NULL) { /* belongs to no snapshot: none has the time 0 */
        *cached = calloc(1, bytes);
    }
    if (*cached == NULL || now == NULL) {
        return NULL;
    }
    *is_old = (*cached)->snapshot_ms != now->at_ms || (*cached)->replies_ms != replies_ms;
    **cached = (struct cached){now->at_ms, replies_ms};
    return *cached;
}

struct donor brain_donor(const struct brain *brain, unsigned class_id) {
    struct donor donor = {brain->failure[0] == '\0' ? (int)class_id : -1, 0};
    brain_find(brain, brain_find_donor, brain, &donor);
    return donor;
}

unsigned brain_pages(const struct brain *brain, unsigned from, unsigned to) {
    struct page_flow flow = {from, to, 1};
    brain_find(brain, brain_find_pages, brain, &flow);
    return flow.pages;
}

struct waste brain_waste(const struct brain *brain) {
    struct waste waste = {NAN, NAN};
    brain_find(brain, brain_find_waste, brain, &waste);
    return waste;
}

uint64_t brain_refused_stores(const struct brain *brain, const struct snapshot *snapshot) {
    uint64_t refused = STAT_ABSENT;
    brain_find(brain, brain_count_refused, snapshot, &refused);
    return refused;
}

const char *brain_failure(const struct brain *brain) {
    return brain->failure[0] != '\0' ? brain->failure : NULL;
}
