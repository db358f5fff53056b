#include "brain/sizes.h"

#include "brain/inside.h"
#include "brain/lua_state.h"
#include "brain/lua_values.h"
#include "brain/observer.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULE "slate.judge.prediction"

struct size_plans {
    struct cached cached;
    struct size_plan plan;
};

static void sizes_of(lua_State *L, const char *name, struct size_list *list) {
    list->count = 0;
    if (lua_getfield(L, -1, name) == LUA_TTABLE) {
        lua_Integer count = luaL_len(L, -1);
        for (; list->count < SIZES_MOST && list->count < count; list->count++) {
            lua_geti(L, -1, list->count + 1);
            list->bytes[list->count] = lua_tonumber(L, -1);
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
}

static void sizes_push_predictions(lua_State *L, const struct prediction_list *list) {
    lua_createtable(L, 0, (int)list->count);
    for (unsigned i = 0; i < list->count; i++) {
        const struct prediction *prediction = &list->of[i];
        if (!prediction->is_known) {
            continue;
        }
        lua_createtable(L, 0, 5);
        lua_values_set_number(L, "classes", prediction->classes);
        lua_values_set_number(L, "waste_pct", prediction->waste_pct);
        lua_values_set_number(L, "items_pct", prediction->items_pct);
        lua_pushboolean(L, prediction->would_be_made);
        lua_setfield(L, -2, "would_be_made");
        lua_values_set_text(L, "words", prediction->words);
        lua_setfield(L, -2, prediction->order);
    }
}

static void sizes_push_inputs(lua_State *L, const struct model *model) {
    const struct details *details = model_details(model);
    const struct answers *answers = model_answers(model);
    lua_createtable(L, 0, 3);
    lua_values_set_text(L, "geometry", inquiry_text(answers, INQUIRY_GEOMETRY));
    lua_values_set_text(L, "sizes", inquiry_text(answers, INQUIRY_STOCK_SIZES));
    if (details != NULL) {
        sizes_push_predictions(L, &details->predictions);
        lua_setfield(L, -2, "outlooks");
    }
}

/* Reads the choice on top of the stack. */
static void sizes_take_choice(lua_State *L, struct size_plan *plan) {
    struct size_choice *choice = &plan->of[plan->count++];
    lua_values_text(L, "order", choice->order, sizeof choice->order);
    lua_values_text(L, "words", choice->words, sizeof choice->words);
    choice->is_known = lua_values_flag(L, "is_known");
    choice->is_worth_it = lua_values_flag(L, "is_worth_it");
    choice->is_best = lua_values_flag(L, "is_best");
    choice->classes = lua_values_number(L, "classes");
    choice->waste_ratio = lua_values_number(L, "waste_ratio");
    choice->items_change = lua_values_number(L, "items_change");
    if (choice->is_best) {
        sizes_of(L, "sizes", &plan->best);
    }
}

/* (model, plan), both as light userdata -> nothing */
static int find_sizes(lua_State *L) {
    const struct model *model = lua_touserdata(L, 1);
    struct size_plan *plan = lua_touserdata(L, 2);
    lua_values_push_function(L, MODULE, "size_choices");
    brain_push_observer(L, brain_of(model));
    sizes_push_inputs(L, model);
    lua_call(L, 2, 1);
    sizes_of(L, "now", &plan->now);
    plan->waste_ratio = lua_values_number(L, "waste_ratio");
    lua_Integer count = luaL_len(L, -1);
    while (plan->count < SIZE_CHOICES_MOST && plan->count < count) {
        lua_geti(L, -1, plan->count + 1);
        sizes_take_choice(L, plan);
        lua_pop(L, 1);
    }
    return 0;
}

/* The sum of the times of the replies that the plan uses: any new reply changes the sum. */
static uint64_t sizes_replies_ms(const struct model *model) {
    const struct details *details = model_details(model);
    const struct answers *answers = model_answers(model);
    uint64_t sum = answers->of[INQUIRY_GEOMETRY].at_ms + answers->of[INQUIRY_STOCK_SIZES].at_ms;
    for (unsigned i = 0; details != NULL && i < details->predictions.count; i++) {
        sum += details->predictions.of[i].known_ms;
    }
    return sum;
}

const struct size_plan *brain_sizes(const struct model *model) {
    bool is_old;
    struct size_plans *plans =
        brain_cached(model, CACHED_SIZES, sizeof *plans, sizes_replies_ms(model), &is_old);
    if (plans == NULL || brain_failure(brain_of(model)) != NULL) {
        return NULL;
    }
    if (is_old) {
        plans->plan = (struct size_plan){.waste_ratio = NAN};
        brain_find(brain_of(model), find_sizes, model, &plans->plan);
    }
    return &plans->plan;
}

/* (list of orders as light userdata) -> how many */
static int sizes_find_orders(lua_State *L) {
    char(*out)[PREDICTION_ORDER_BYTES] = lua_touserdata(L, 1);
    lua_values_push_function(L, MODULE, "size_orders");
    lua_call(L, 0, 1);
    lua_Integer count = luaL_len(L, -1), taken = 0;
    for (; taken < count && taken < SIZE_CHOICES_MOST; taken++) {
        lua_geti(L, -1, taken + 1);
        snprintf(out[taken], PREDICTION_ORDER_BYTES, "%s", lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    lua_pushinteger(L, taken);
    return 1;
}

unsigned brain_size_orders(char out[SIZE_CHOICES_MOST][PREDICTION_ORDER_BYTES]) {
    unsigned count = 0;
    lua_State *L = lua_state_take();
    if (L == NULL) {
        return 0;
    }
    lua_pushcfunction(L, sizes_find_orders);
    lua_pushlightuserdata(L, out);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK) {
        count = (unsigned)lua_tointeger(L, -1);
    }
    lua_settop(L, 0);
    lua_state_give_back();
    return count;
}
