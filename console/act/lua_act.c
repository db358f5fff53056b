#include "act/lua_act.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>

void act_set_text(lua_State *L, const char *field, const char *text) {
    if (text != NULL && text[0] != '\0') {
        lua_values_set_text(L, field, text);
    }
}

void act_push_who(lua_State *L, const struct snapshot *now) {
    lua_createtable(L, 0, 3);
    act_set_text(L, "version", now->version);
    act_set_text(L, "store", now->store);
    if (now->is_slated) {
        act_set_text(L, "slated", now->own_version[0] != '\0' ? now->own_version : "?");
    }
}

void act_push_replies(lua_State *L, const struct snapshot *now, const struct answers *answers) {
    char general[64];
    lua_createtable(L, 0, 5);
    if (snapshot_has_extstore(now)) { /* the modules read no other general stat */
        snprintf(general, sizeof general, "STAT extstore_limit_maxbytes %llu\r\n",
                 (unsigned long long)now->general[GENERAL_extstore_limit_maxbytes]);
        act_set_text(L, "general", general);
    }
    act_set_text(L, "settings", inquiry_text(answers, INQUIRY_SETTINGS));
    act_set_text(L, "config", inquiry_text(answers, INQUIRY_CONFIG));
    act_set_text(L, "policies", inquiry_text(answers, INQUIRY_POLICIES));
    act_set_text(L, "geometry", inquiry_text(answers, INQUIRY_GEOMETRY));
}

static void act_set_number(lua_State *L, const char *field, unsigned value) {
    lua_pushinteger(L, value);
    lua_setfield(L, -2, field);
}

void act_push_change(lua_State *L, const struct action *action) {
    lua_createtable(L, 0, 3);
    if (action->kind == ACTION_MOVE_PAGES) {
        act_set_number(L, "from", action->from);
        act_set_number(L, "to", action->to);
        act_set_number(L, "pages", action->pages);
    } else {
        act_set_text(L, "name", action->name);
        lua_pushstring(L, action->value);
        lua_setfield(L, -2, "value");
    }
}

void act_take_change(lua_State *L, struct action *action) {
    double pages = act_take_number(L, "pages");
    *action = (struct action){.kind = pages > 0 ? ACTION_MOVE_PAGES : ACTION_SET};
    if (pages > 0) {
        action->pages = (unsigned)pages;
        action->from = (unsigned)act_take_number(L, "from");
        action->to = (unsigned)act_take_number(L, "to");
    } else {
        lua_values_text(L, "name", action->name, sizeof action->name);
        lua_values_text(L, "value", action->value, sizeof action->value);
    }
}

double act_take_number(lua_State *L, const char *field) {
    double number = lua_values_number(L, field);
    return isnan(number) ? 0 : number;
}
