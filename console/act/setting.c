#include "act/setting.h"

#include "brain/lua_state.h"
#include "facts/model.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is asked of slate.facts.settings_shown. */
struct question {
    const struct snapshot *now;
    const struct answers *answers;
    const struct tunable *row; /* of a step */
    const char *name, *value;
    unsigned class_id;
    int step;
    bool is_slated;
    char *out; /* of out_bytes */
    size_t out_bytes;
    struct tunable *rows;
    unsigned count;
};

/* What the table says of every row, whatever the server. */
static struct {
    unsigned count;
    struct {
        char name[SETTING_NAME_BYTES], label[SETTING_LABEL_BYTES], term[SETTING_NAME_BYTES];
    } of[SETTINGS_MOST + 1];
} names;

static void set_text(lua_State *L, const char *field, const char *text) {
    if (text != NULL && text[0] != '\0') {
        lua_pushstring(L, text);
        lua_setfield(L, -2, field);
    }
}

static void push_who(lua_State *L, const struct snapshot *now) {
    lua_createtable(L, 0, 3);
    set_text(L, "version", now->version);
    set_text(L, "store", now->store);
    if (now->is_slated) {
        set_text(L, "slated", now->own_version[0] != '\0' ? now->own_version : now->version);
    }
}

static void push_replies(lua_State *L, const struct answers *answers) {
    lua_createtable(L, 0, 4);
    set_text(L, "settings", answer_text(answers, INQUIRY_SETTINGS));
    set_text(L, "config", answer_text(answers, INQUIRY_CONFIG));
    set_text(L, "policies", answer_text(answers, INQUIRY_POLICIES));
    set_text(L, "geometry", answer_text(answers, INQUIRY_GEOMETRY));
}

static void take_text(lua_State *L, const char *field, char *out, size_t out_bytes) {
    lua_getfield(L, -1, field);
    const char *text = lua_tostring(L, -1);
    snprintf(out, out_bytes, "%s", text != NULL ? text : "");
    lua_pop(L, 1);
}

static double take_number(lua_State *L, const char *field) {
    lua_getfield(L, -1, field);
    double number = lua_isnumber(L, -1) ? lua_tonumber(L, -1) : 0;
    lua_pop(L, 1);
    return number;
}

/* The row on top of the stack. */
static void take_row(lua_State *L, struct tunable *row) {
    char form[8];
    take_text(L, "name", row->name, sizeof row->name);
    take_text(L, "label", row->label, sizeof row->label);
    take_text(L, "now", row->now, sizeof row->now);
    take_text(L, "source", row->source, sizeof row->source);
    take_text(L, "choices", row->choices, sizeof row->choices);
    take_text(L, "refusal", row->refusal, sizeof row->refusal);
    take_text(L, "form", form, sizeof form);
    row->form = form[0] == 'n' ? FORM_NUMBER : form[0] == 't' ? FORM_TEXT : FORM_CHOICE;
    row->least = take_number(L, "least");
    row->most = take_number(L, "most");
    row->step = take_number(L, "step");
}

/* ---- calls in which Lua may raise errors: (question) -> nothing ---- */

static struct question *begin(lua_State *L, const char *function) {
    lua_getglobal(L, "require");
    lua_pushstring(L, "slate.facts.settings_shown");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, function);
    return lua_touserdata(L, 1);
}

static int load_names(lua_State *L) {
    begin(L, "all");
    lua_call(L, 0, 1);
    lua_Integer count = luaL_len(L, -1);
    for (lua_Integer i = 1; i <= count && names.count <= SETTINGS_MOST; i++) {
        lua_geti(L, -1, i);
        take_text(L, "name", names.of[names.count].name, sizeof names.of[0].name);
        take_text(L, "label", names.of[names.count].label, sizeof names.of[0].label);
        take_text(L, "term", names.of[names.count].term, sizeof names.of[0].term);
        names.count++;
        lua_pop(L, 1);
    }
    return 0;
}

static int list(lua_State *L) {
    struct question *question = begin(L, "list");
    push_who(L, question->now);
    push_replies(L, question->answers);
    lua_pushinteger(L, question->class_id);
    lua_call(L, 3, 1);
    lua_Integer count = luaL_len(L, -1);
    for (lua_Integer i = 1; i <= count && question->count < SETTINGS_MOST; i++) {
        lua_geti(L, -1, i);
        take_row(L, &question->rows[question->count++]);
        lua_pop(L, 1);
    }
    return 0;
}

static int check(lua_State *L) {
    struct question *question = begin(L, "check_shown");
    push_who(L, question->now);
    push_replies(L, question->answers);
    lua_pushstring(L, question->name);
    lua_pushstring(L, question->value);
    lua_call(L, 4, 1);
    snprintf(question->out, question->out_bytes, "%s", lua_isstring(L, -1) ? lua_tostring(L, -1) : "");
    return 0;
}

static int step(lua_State *L) {
    static const char *const forms[] = {[FORM_NUMBER] = "number", [FORM_CHOICE] = "choice", [FORM_TEXT] = "text"};
    struct question *question = begin(L, "step");
    const struct tunable *row = question->row;
    lua_createtable(L, 0, 6);
    set_text(L, "name", row->name);
    set_text(L, "form", forms[row->form]);
    lua_pushstring(L, row->choices);
    lua_setfield(L, -2, "choices");
    lua_pushnumber(L, row->least);
    lua_setfield(L, -2, "least");
    lua_pushnumber(L, row->most);
    lua_setfield(L, -2, "most");
    lua_pushnumber(L, row->step);
    lua_setfield(L, -2, "step");
    lua_pushstring(L, question->value);
    lua_pushinteger(L, question->step);
    lua_call(L, 3, 1);
    snprintf(question->out, question->out_bytes, "%s", lua_tostring(L, -1));
    return 0;
}

static int line_of(lua_State *L) {
    struct question *question = begin(L, "shown_lines");
    lua_pushstring(L, question->name);
    lua_pushstring(L, question->value);
    lua_pushboolean(L, question->is_slated);
    lua_call(L, 3, 1);
    if (lua_istable(L, -1) && lua_geti(L, -1, question->step + 1) == LUA_TSTRING) {
        snprintf(question->out, question->out_bytes, "%s", lua_tostring(L, -1));
    }
    return 0;
}

/* False when Lua failed: its words are in why. */
static bool ask(lua_CFunction function, struct question *question, char *why, size_t why_bytes) {
    lua_State *L = lua_state_take();
    if (L == NULL) {
        snprintf(why, why_bytes, "out of memory");
        return false;
    }
    lua_pushcfunction(L, function);
    lua_pushlightuserdata(L, question);
    bool is_done = lua_pcall(L, 1, 0, 0) == LUA_OK;
    if (!is_done) {
        snprintf(why, why_bytes, "%s", lua_isstring(L, -1) ? lua_tostring(L, -1) : "an error without words");
        lua_pop(L, 1);
    }
    lua_state_give_back();
    return is_done;
}

/* ---- for C ---- */

static unsigned place_of(const char *name) {
    char why[NOTE_BYTES];
    if (names.count == 0) {
        ask(load_names, NULL, why, sizeof why);
    }
    unsigned at = 0;
    while (at < names.count && strcmp(names.of[at].name, name) != 0) {
        at++;
    }
    return at;
}

const char *setting_label(const char *name) {
    unsigned at = place_of(name);
    return at < names.count ? names.of[at].label : name;
}

const char *setting_term(const char *name) {
    unsigned at = place_of(name);
    return at < names.count ? names.of[at].term : name;
}

const char *setting_name_at(unsigned row) {
    place_of("");
    return row + 1 < names.count ? names.of[row].name : NULL; /* the last one is lru_tune, which has no row */
}

unsigned settings_list(const struct snapshot *now, const struct answers *answers, unsigned class_id,
                       struct tunable out[SETTINGS_MOST]) {
    char why[NOTE_BYTES];
    struct question question = {.now = now, .answers = answers, .class_id = class_id, .rows = out};
    return ask(list, &question, why, sizeof why) ? question.count : 0;
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

void setting_step(const struct tunable *row, const char *value, int by, char out[SETTING_VALUE_BYTES]) {
    char why[NOTE_BYTES], from[SETTING_VALUE_BYTES];
    snprintf(from, sizeof from, "%s", value); /* it may be out */
    struct question question = {.row = row, .value = from, .step = by, .out = out, .out_bytes = SETTING_VALUE_BYTES};
    ask(step, &question, why, sizeof why);
}

bool setting_check(const struct snapshot *now, const struct answers *answers, const char *name, const char *value,
                   char *why, size_t why_bytes) {
    struct question question = {.now = now, .answers = answers, .name = name, .value = value, .out = why,
                                .out_bytes = why_bytes};
    return ask(check, &question, why, why_bytes) && why[0] == '\0';
}

bool setting_line(bool is_slated, const char *name, const char *value, unsigned index, char line[SETTING_LINE_BYTES]) {
    char why[NOTE_BYTES];
    struct question question = {.name = name, .value = value, .is_slated = is_slated, .step = (int)index, .out = line,
                                .out_bytes = SETTING_LINE_BYTES};
    line[0] = '\0';
    return ask(line_of, &question, why, sizeof why) && line[0] != '\0';
}
