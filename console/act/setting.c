#include "act/setting.h"

#include "act/lua_act.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#define MODULE "slate.facts.settings_shown"

struct listing {
    const struct snapshot *now;
    const struct answers *answers;
    unsigned class_id, count;
    struct tunable *rows;
};

struct stepping {
    const struct tunable *row;
    const char *value;
    int by;
    char *out;
};

/* The columns of the Lua table that are the same for every server. */
static struct {
    unsigned count;
    struct {
        char name[SETTING_NAME_BYTES], label[SETTING_LABEL_BYTES], term[SETTING_NAME_BYTES];
    } of[SETTINGS_MOST + 1];
} names;

static int setting_load_names(lua_State *L) {
    lua_values_push_function(L, MODULE, "all");
    lua_call(L, 0, 1);
    lua_Integer count = luaL_len(L, -1);
    for (lua_Integer i = 1; i <= count && names.count <= SETTINGS_MOST; i++) {
        lua_geti(L, -1, i);
        lua_values_text(L, "name", names.of[names.count].name, sizeof names.of[0].name);
        lua_values_text(L, "label", names.of[names.count].label, sizeof names.of[0].label);
        lua_values_text(L, "term", names.of[names.count].term, sizeof names.of[0].term);
        names.count++;
        lua_pop(L, 1);
    }
    return 0;
}

/* The index of a setting in `names`; names.count when it is absent. */
static unsigned setting_index_of(const char *name) {
    char why[NOTE_BYTES];
    if (names.count == 0) {
        lua_values_call(setting_load_names, NULL, why, sizeof why);
    }
    unsigned at = 0;
    while (at < names.count && strcmp(names.of[at].name, name) != 0) {
        at++;
    }
    return at;
}

const char *setting_label(const char *name) {
    unsigned at = setting_index_of(name);
    return at < names.count ? names.of[at].label : name;
}

const char *setting_term(const char *name) {
    unsigned at = setting_index_of(name);
    return at < names.count ? names.of[at].term : name;
}

const char *setting_name_at(unsigned row) {
    setting_index_of("");
    /* the last name is lru_tune, which has no row */
    return row + 1 < names.count ? names.of[row].name : NULL;
}

/* ---- the list ---- */

static void setting_take_row(lua_State *L, struct tunable *row) {
    char form[8];
    lua_values_text(L, "name", row->name, sizeof row->name);
    lua_values_text(L, "label", row->label, sizeof row->label);
    lua_values_text(L, "now", row->now, sizeof row->now);
    lua_values_text(L, "source", row->source, sizeof row->source);
    lua_values_text(L, "choices", row->choices, sizeof row->choices);
    lua_values_text(L, "refusal", row->refusal, sizeof row->refusal);
    lua_values_text(L, "form", form, sizeof form);
    row->form = form[0] == 'n' ? FORM_NUMBER : form[0] == 't' ? FORM_TEXT : FORM_CHOICE;
    row->least = act_take_number(L, "least");
    row->most = act_take_number(L, "most");
    row->step = act_take_number(L, "step");
}

/* (listing) -> nothing */
static int setting_list_rows(lua_State *L) {
    struct listing *listing = lua_touserdata(L, 1);
    lua_values_push_function(L, MODULE, "list");
    act_push_who(L, listing->now);
    act_push_replies(L, listing->now, listing->answers);
    lua_pushinteger(L, listing->class_id);
    lua_call(L, 3, 1);
    lua_Integer count = luaL_len(L, -1);
    for (lua_Integer i = 1; i <= count && listing->count < SETTINGS_MOST; i++) {
        lua_geti(L, -1, i);
        setting_take_row(L, &listing->rows[listing->count++]);
        lua_pop(L, 1);
    }
    return 0;
}

unsigned settings_list(const struct snapshot *now, const struct answers *answers, unsigned class_id,
                       struct tunable out[SETTINGS_MOST]) {
    char why[NOTE_BYTES];
    struct listing listing = {.now = now, .answers = answers, .class_id = class_id, .rows = out};
    return lua_values_call(setting_list_rows, &listing, why, sizeof why) ? listing.count : 0;
}

bool settings_find(const struct snapshot *now, const struct answers *answers, const char *name,
                   unsigned class_id, struct tunable *out) {
    struct tunable rows[SETTINGS_MOST];
    unsigned count = settings_list(now, answers, class_id, rows), at = 0;
    while (at < count && strcmp(rows[at].name, name) != 0) {
        at++;
    }
    if (at < count) {
        *out = rows[at];
    }
    return at < count;
}

/* ---- changing a value ---- */

/* (stepping) -> nothing */
static int setting_step_row(lua_State *L) {
    static const char *const forms[] = {
        [FORM_NUMBER] = "number", [FORM_CHOICE] = "choice", [FORM_TEXT] = "text"};
    const struct stepping *stepping = lua_touserdata(L, 1);
    const struct tunable *row = stepping->row;
    lua_values_push_function(L, MODULE, "step");
    lua_createtable(L, 0, 6);
    act_set_text(L, "name", row->name);
    act_set_text(L, "form", forms[row->form]);
    lua_pushstring(L, row->choices);
    lua_setfield(L, -2, "choices");
    lua_pushnumber(L, row->least);
    lua_setfield(L, -2, "least");
    lua_pushnumber(L, row->most);
    lua_setfield(L, -2, "most");
    lua_pushnumber(L, row->step);
    lua_setfield(L, -2, "step");
    lua_pushstring(L, stepping->value);
    lua_pushinteger(L, stepping->by);
    lua_call(L, 3, 1);
    snprintf(stepping->out, SETTING_VALUE_BYTES, "%s", luaL_checkstring(L, -1));
    return 0;
}

void setting_step(const struct tunable *row, const char *value, int by,
                  char out[SETTING_VALUE_BYTES]) {
    char why[NOTE_BYTES], from[SETTING_VALUE_BYTES];
    snprintf(from, sizeof from, "%s", value); /* value and out may be the same buffer */
    struct stepping stepping = {.row = row, .value = from, .by = by, .out = out};
    lua_values_call(setting_step_row, &stepping, why, sizeof why);
}

/* ---- the effect of a value, in words ---- */

struct wording {
    const char *name, *value;
    char *out;
};

/* (wording) -> nothing */
static int setting_find_words(lua_State *L) {
    const struct wording *wording = lua_touserdata(L, 1);
    lua_values_push_function(L, MODULE, "value_words");
    lua_pushstring(L, wording->name);
    lua_pushstring(L, wording->value);
    lua_call(L, 2, 1);
    snprintf(wording->out, SETTING_WORDS_BYTES, "%s", luaL_checkstring(L, -1));
    return 0;
}

void setting_value_words(const char *name, const char *value, char out[SETTING_WORDS_BYTES]) {
    char why[NOTE_BYTES];
    struct wording wording = {name, value, out};
    out[0] = '\0';
    lua_values_call(setting_find_words, &wording, why, sizeof why);
}
