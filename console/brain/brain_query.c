#include "brain/brain_query.h"

#include "brain/inside.h"
#include "brain/lua_values.h"
#include "brain/observer.h"
#include "brain/own_rules.h"
#include "facts/words.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_WINDOW_MS = 100000 };

struct findings {
    struct cached cached;
    unsigned count;
    struct sentence of[SENTENCES_MOST];
};

struct own_values {
    struct cached cached;
    char text[OWN_COLUMNS_MOST][CLASS_LIMIT][OWN_CELL_BYTES];
    double number[OWN_COLUMNS_MOST][CLASS_LIMIT]; /* NAN: no number */
};

struct worths {
    struct cached cached;
    unsigned count;
    struct class_worth of[CLASS_LIMIT];
};

struct query {
    const struct model *model;
    const struct question *question;
    struct sentence *out;
    unsigned count;
};

/* Replies that modules read as text, by the modules' names for them. */
static const struct {
    const char *name;
    enum inquiry inquiry;
} replies[] = {{"settings", INQUIRY_SETTINGS}, {"moves", INQUIRY_MOVES},
               {"automove", INQUIRY_AUTOMOVE}, {"whatif", INQUIRY_WHATIF},
               {"memory", INQUIRY_MEMORY},     {"curve", INQUIRY_CURVE}};

static void query_push_change(lua_State *L, const struct proposed_change *change) {
    lua_createtable(L, 0, 3);
    if (change->pages > 0) {
        lua_pushinteger(L, change->from);
        lua_setfield(L, -2, "from");
        lua_pushinteger(L, change->to);
        lua_setfield(L, -2, "to");
        lua_pushinteger(L, change->pages);
        lua_setfield(L, -2, "pages");
    } else {
        lua_values_set_text(L, "name", change->name);
        lua_values_set_text(L, "value", change->value);
    }
}

/* Pushes the sampled curves that the server has answered, by class; class 0 is all of the cache. A
 * curve is points of bytes and hit ratio; it has none if the server has seen too few reads. */
static void query_push_curves(lua_State *L, const struct details *details) {
    lua_newtable(L);
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        const struct curve *curve = id == 0 ? &details->curve : &details->class_curves[id];
        if (!curve_is_known(curve)) {
            continue;
        }
        lua_createtable(L, (int)curve->count, 2);
        lua_values_set_number(L, "reads", curve->reads);
        lua_values_set_number(L, "bytes", curve->bytes);
        for (unsigned i = 0; i < curve->count; i++) {
            lua_createtable(L, 2, 0);
            lua_pushnumber(L, curve->points[i].bytes);
            lua_seti(L, -2, 1);
            lua_pushnumber(L, curve->points[i].hit_ratio);
            lua_seti(L, -2, 2);
            lua_seti(L, -2, i + 1);
        }
        lua_seti(L, -2, id);
    }
}

void brain_push_curves(lua_State *L, const struct model *model) {
    const struct details *details = model_details(model);
    if (details != NULL && model_answers(model)->of[INQUIRY_CLASS_CURVES].state != ANSWER_REFUSED) {
        query_push_curves(L, details);
    } else {
        lua_pushnil(L);
    }
}

/* Sets the field "curves" of the table on top of the stack. */
static void query_set_curves(lua_State *L, const struct model *model) {
    brain_push_curves(L, model);
    lua_setfield(L, -2, "curves");
}

static void query_push_inputs(lua_State *L, const struct query *query) {
    const struct answers *answers = model_answers(query->model);
    lua_createtable(L, 0, 12);
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        lua_values_set_text(L, replies[i].name, inquiry_text(answers, replies[i].inquiry));
    }
    lua_values_set_number(L, "page_moves_per_s",
               model_mean(query->model, METRIC_PAGES_MOVED, LONG_WINDOW_MS));
    lua_values_set_number(L, "page_moves_over_s",
                          (double)model_covered_ms(query->model, LONG_WINDOW_MS) / 1000);
    lua_values_set_number(L, "gets_per_s", model_mean(query->model, METRIC_GETS, LONG_WINDOW_MS));
    lua_pushboolean(L, query->question->is_past);
    lua_setfield(L, -2, "is_past");
    own_rules_push(L);
    lua_setfield(L, -2, "rules");
    if (query->question->class_id > 0) {
        lua_pushinteger(L, query->question->class_id);
        lua_setfield(L, -2, "class_id");
    }
    if (query->question->change != NULL) {
        lua_values_set_text(L, "outlook", query->question->change->prediction);
        query_push_change(L, query->question->change);
        lua_setfield(L, -2, "change");
    }
    if (query->question->change != NULL || brain_said(brain_of(query->model))->worst >= 0) {
        query_set_curves(L, query->model); /* the question is about a move */
    }
}

static enum tone query_tone_of(lua_State *L) {
    static const char *const words[] = {"plain", "good", "note", "warn", "bad"};
    char word[8];
    lua_values_text(L, "tone", word, sizeof word);
    int tone = TONE_BAD;
    while (tone > TONE_PLAIN && strcmp(words[tone], word) != 0) {
        tone--;
    }
    return (enum tone)tone;
}

/* (query) -> nothing */
static int query_run(lua_State *L) {
    struct query *query = lua_touserdata(L, 1);
    lua_values_push_function(L, query->question->module, query->question->function);
    brain_push_observer(L, brain_of(query->model));
    query_push_inputs(L, query);
    lua_call(L, 2, 1);
    luaL_checktype(L, -1, LUA_TTABLE);
    lua_Integer count = luaL_len(L, -1);
    for (lua_Integer i = 1; i <= count && query->count < SENTENCES_MOST; i++) {
        lua_geti(L, -1, i);
        struct sentence *sentence = &query->out[query->count++];
        sentence->tone = query_tone_of(L);
        char key[2];
        lua_values_text(L, "key", key, sizeof key);
        sentence->key = key[0];
        lua_values_text(L, "label", sentence->label, sizeof sentence->label);
        lua_getfield(L, -1, "text");
        words_printf(sentence->text, sizeof sentence->text, "%s",
                     lua_isstring(L, -1) ? lua_tostring(L, -1) : "");
        lua_pop(L, 2);
    }
    return 0;
}

unsigned brain_query(const struct model *model, const struct question *question,
                     struct sentence out[SENTENCES_MOST]) {
    struct query query = {model, question, out, 0};
    const struct brain *brain = brain_of(model);
    const char *failure = brain_failure(brain);
    if (failure == NULL) {
        lua_pushcfunction(brain->lua, query_run);
        lua_pushlightuserdata(brain->lua, &query);
        if (lua_pcall(brain->lua, 1, 0, 0) == LUA_OK) {
            return query.count;
        }
        failure = lua_tostring(brain->lua, -1);
    }
    out[0] = (struct sentence){.tone = TONE_BAD};
    words_printf(out[0].text, sizeof out[0].text, "not judged: %s",
                 failure != NULL ? failure : "an error without words");
    lua_settop(brain->lua, 0);
    return 1;
}

/* The sum of the times of the replies that findings use: any new reply changes the sum. */
static uint64_t query_replies_ms(const struct model *model) {
    const struct answers *answers = model_answers(model);
    uint64_t sum = answers->of[INQUIRY_CLASS_CURVES].at_ms;
    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        const struct answer *answer = &answers->of[replies[i].inquiry];
        sum += answer->text != NULL ? answer->at_ms : 0;
    }
    return sum;
}

const struct sentence *brain_findings(const struct model *model, unsigned *count) {
    bool is_old;
    struct findings *findings =
        brain_cached(model, CACHED_FINDINGS, sizeof *findings, query_replies_ms(model), &is_old);
    *count = 0;
    if (findings == NULL) {
        return NULL;
    }
    if (is_old) {
        struct question question = {.module = "slate.judge.attention", .function = "findings"};
        findings->count = brain_query(model, &question, findings->of);
    }
    *count = findings->count;
    return findings->of;
}

/* ---- the value of a page ---- */

/* (model, worths), both as light userdata -> nothing */
static int query_find_worths(lua_State *L) {
    const struct model *model = lua_touserdata(L, 1);
    struct worths *worths = lua_touserdata(L, 2);
    lua_values_push_function(L, "slate.judge.prediction", "page_worth");
    brain_push_observer(L, brain_of(model));
    lua_createtable(L, 0, 2);
    lua_values_set_text(L, "whatif", inquiry_text(model_answers(model), INQUIRY_WHATIF));
    query_set_curves(L, model);
    lua_call(L, 2, 1);
    lua_Integer count = luaL_len(L, -1);
    for (worths->count = 0; worths->count < CLASS_LIMIT && worths->count < count; worths->count++) {
        lua_geti(L, -1, worths->count + 1);
        struct class_worth *worth = &worths->of[worths->count];
        *worth = (struct class_worth){.class_id = (unsigned)lua_values_number(L, "id"),
                                      .pages = lua_values_number(L, "pages"),
                                      .hit_ratio = lua_values_number(L, "hit_ratio"),
                                      .read_share = lua_values_number(L, "read_share"),
                                      .gain = lua_values_number(L, "gain"),
                                      .loss = lua_values_number(L, "loss"),
                                      .policy_gain = lua_values_number(L, "policy_gain")};
        lua_values_text(L, "policy", worth->policy, sizeof worth->policy);
        lua_pop(L, 1);
    }
    return 0;
}

unsigned brain_worth(const struct model *model, const struct class_worth **worth) {
    bool is_old;
    struct worths *worths =
        brain_cached(model, CACHED_WORTHS, sizeof *worths, query_replies_ms(model), &is_old);
    if (worths == NULL || brain_failure(brain_of(model)) != NULL) {
        return 0;
    }
    if (is_old) {
        worths->count = 0;
        brain_find(brain_of(model), query_find_worths, model, worths);
    }
    *worth = worths->of;
    return worths->count;
}

/* ---- columns of an operator's own ---- */

/* (brain, values) -> nothing */
static int query_find_values(lua_State *L) {
    struct own_values *values = lua_touserdata(L, 2);
    own_rules_push(L);
    lua_getfield(L, -1, "cells");
    lua_insert(L, -2);
    brain_push_observer(L, lua_touserdata(L, 1));
    lua_call(L, 2, 2);
    int numbers = lua_gettop(L);
    lua_pushvalue(L, -2);
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
        lua_Integer id = lua_tointeger(L, -2);
        lua_geti(L, numbers, id);
        for (unsigned i = 0; i < own_rules_columns() && id >= 0 && id < CLASS_LIMIT; i++) {
            lua_geti(L, -2, i + 1);
            const char *text = lua_tostring(L, -1);
            snprintf(values->text[i][id], OWN_CELL_BYTES, "%s", text != NULL ? text : "-");
            lua_pop(L, 1);
            if (lua_geti(L, -1, i + 1) == LUA_TNUMBER) {
                values->number[i][id] = lua_tonumber(L, -1);
            }
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    return 0;
}

/* The values of the operator's own columns. NULL: no snapshot, no memory, or Lua has failed. */
static const struct own_values *query_own_values(const struct model *model) {
    bool is_old;
    struct own_values *own = brain_cached(model, CACHED_OWN_VALUES, sizeof *own, 0, &is_old);
    if (own == NULL || brain_failure(brain_of(model)) != NULL) {
        return NULL;
    }
    if (is_old) {
        memset(own->text, 0, sizeof own->text);
        for (size_t i = 0; i < sizeof own->number / sizeof own->number[0][0]; i++) {
            own->number[i / CLASS_LIMIT][i % CLASS_LIMIT] = NAN;
        }
        brain_find(brain_of(model), query_find_values, brain_of(model), own);
    }
    return own;
}

const char *brain_own_value(const struct model *model, unsigned column, unsigned class_id) {
    const struct own_values *values = query_own_values(model);
    unsigned of = class_id < CLASS_LIMIT ? class_id : 0;
    const char *text = values != NULL ? values->text[column][of] : "";
    return text[0] != '\0' ? text : "-";
}

double brain_own_number(const struct model *model, unsigned column, unsigned class_id) {
    const struct own_values *values = query_own_values(model);
    return values != NULL ? values->number[column][class_id < CLASS_LIMIT ? class_id : 0] : NAN;
}
