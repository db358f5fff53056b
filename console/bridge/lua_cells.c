#include "bridge/lua_cells.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#define CELLS_TYPE "slatetop.cells"
enum { GRAPH_VALUES_MOST = 1000 };

static const char *const style_names[STYLE_COUNT] = {
    "PLAIN", "DIM", "STRONG", "TITLE", "HEADER", "KEYBAR", "GRAPH", "GOOD", "WARN", "BAD", "DIALOG",
};

/* In the order of enum hot_kind. */
static const char *const hot_names[] = {"nothing", "key", "view", "sort", "row", "time", NULL};

struct cells *lua_cells_check(lua_State *L, int at) {
    return *(struct cells **)luaL_checkudata(L, at, CELLS_TYPE);
}

/* Coordinates may be fractions of a share: they are rounded down. */
static int cells_check_int(lua_State *L, int at) {
    lua_Number number = floor(luaL_checknumber(L, at));
    return number < -100000 ? -100000 : number > 100000 ? 100000 : (int)number;
}

static uint8_t cells_check_style(lua_State *L, int at) {
    return (uint8_t)luaL_checkinteger(L, at);
}

static int cells_area_field(lua_State *L, int at, const char *field) {
    lua_getfield(L, at, field);
    int value = cells_check_int(L, -1);
    lua_pop(L, 1);
    return value;
}

static struct rect cells_check_area(lua_State *L, int at) {
    luaL_checktype(L, at, LUA_TTABLE);
    return (struct rect){.y = cells_area_field(L, at, "y"),
                         .x = cells_area_field(L, at, "x"),
                         .height = cells_area_field(L, at, "height"),
                         .width = cells_area_field(L, at, "width")};
}

/* ---- functions of the module ---- */

/* new(width, height, is_ascii) -> grid */
static int cells_call_new(lua_State *L) {
    lua_settop(L, 3);
    struct cells **cells = lua_newuserdatauv(L, sizeof *cells, 0);
    *cells = cells_create(cells_check_int(L, 1), cells_check_int(L, 2), lua_toboolean(L, 3));
    luaL_setmetatable(L, CELLS_TYPE);
    return *cells != NULL ? 1 : luaL_error(L, "out of memory");
}

/* width_of(text) -> columns */
static int cells_call_width_of(lua_State *L) {
    lua_pushinteger(L, cells_width_of(luaL_checkstring(L, 1)));
    return 1;
}

/* rows_of(text, width) -> the rows that a paragraph takes */
static int cells_call_rows_of(lua_State *L) {
    struct rect area = {0, 0, 1000, cells_check_int(L, 2)};
    lua_pushinteger(L, cells_paragraph(NULL, area, 0, STYLE_PLAIN, luaL_checkstring(L, 1)));
    return 1;
}

/* The list of numbers at a place of the stack; nil and false are gaps. Returns how many, of a
 * longer list the last ones. */
static int cells_check_values(lua_State *L, int at, float values[GRAPH_VALUES_MOST]) {
    luaL_checktype(L, at, LUA_TTABLE);
    lua_getfield(L, at, "n");
    lua_Integer count = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : luaL_len(L, at);
    lua_Integer from = count > GRAPH_VALUES_MOST ? count - GRAPH_VALUES_MOST : 0;
    lua_pop(L, 1);
    for (lua_Integer i = from; i < count; i++) {
        values[i - from] = lua_geti(L, at, i + 1) == LUA_TNUMBER ? (float)lua_tonumber(L, -1) : NAN;
        lua_pop(L, 1);
    }
    return (int)(count - from);
}

/* without_spikes(values) -> a list, whether a value was cut */
static int cells_call_without_spikes(lua_State *L) {
    float values[GRAPH_VALUES_MOST];
    int count = cells_check_values(L, 1, values);
    bool has_cut = cells_cut_spikes(values, count);
    lua_createtable(L, count, 1);
    for (int i = 0; i < count; i++) {
        if (!isnan(values[i])) {
            lua_pushnumber(L, values[i]);
            lua_rawseti(L, -2, i + 1);
        }
    }
    lua_pushinteger(L, count);
    lua_setfield(L, -2, "n");
    lua_pushboolean(L, has_cut);
    return 2;
}

/* area(y, x, height, width) -> { y, x, height, width } */
static int cells_call_area(lua_State *L) {
    static const char *const fields[] = {"y", "x", "height", "width"};
    lua_createtable(L, 0, 4);
    for (int i = 0; i < 4; i++) {
        lua_pushinteger(L, cells_check_int(L, i + 1));
        lua_setfield(L, -2, fields[i]);
    }
    return 1;
}

/* ---- methods of a grid ---- */

static int cells_call_clear(lua_State *L) {
    cells_clear(lua_cells_check(L, 1));
    return 0;
}

/* grid:fill(area, glyph, style): the glyph is a text of one character */
static int cells_call_fill(lua_State *L) {
    const char *glyph = luaL_checkstring(L, 3);
    struct cells *cells = lua_cells_check(L, 1);
    struct rect area = cells_check_area(L, 2);
    uint8_t style = cells_check_style(L, 4);
    if ((unsigned char)glyph[0] < 0x80) {
        cells_fill(cells, area, (unsigned char)glyph[0], style);
        return 0;
    }
    lua_getglobal(L, "utf8");
    lua_getfield(L, -1, "codepoint");
    lua_pushvalue(L, 3);
    lua_call(L, 1, 1);
    cells_fill(cells, area, (uint32_t)lua_tointeger(L, -1), style);
    return 0;
}

/* grid:text(y, x, style, text) -> the column after the text */
static int cells_call_text(lua_State *L) {
    lua_pushinteger(L,
                    cells_text(lua_cells_check(L, 1), cells_check_int(L, 2), cells_check_int(L, 3),
                               cells_check_style(L, 4), luaL_checkstring(L, 5)));
    return 1;
}

/* grid:text_fit(y, x, width, style, text) */
static int cells_call_text_fit(lua_State *L) {
    cells_text_fit(lua_cells_check(L, 1), cells_check_int(L, 2), cells_check_int(L, 3),
                   cells_check_int(L, 4), cells_check_style(L, 5), luaL_checkstring(L, 6));
    return 0;
}

/* grid:escaped(text) -> the text with %XX in place of what the grid does not show */
static int cells_call_escaped(lua_State *L) {
    char out[2048];
    cells_escape(lua_cells_check(L, 1), luaL_checkstring(L, 2), out, sizeof out);
    lua_pushstring(L, out);
    return 1;
}

/* grid:text_right(y, x_end, style, text) */
static int cells_call_text_right(lua_State *L) {
    cells_text_right(lua_cells_check(L, 1), cells_check_int(L, 2), cells_check_int(L, 3),
                     cells_check_style(L, 4), luaL_checkstring(L, 5));
    return 0;
}

/* grid:paragraph(area, style, text, skip or nil) -> rows taken */
static int cells_call_paragraph(lua_State *L) {
    int skip = lua_isnoneornil(L, 5) ? 0 : cells_check_int(L, 5);
    lua_pushinteger(L, cells_paragraph(lua_cells_check(L, 1), cells_check_area(L, 2), skip,
                                       cells_check_style(L, 3), luaL_checkstring(L, 4)));
    return 1;
}

/* grid:rule(y, x, width, title) */
static int cells_call_rule(lua_State *L) {
    cells_rule(lua_cells_check(L, 1), cells_check_int(L, 2), cells_check_int(L, 3),
               cells_check_int(L, 4), luaL_checkstring(L, 5));
    return 0;
}

/* grid:head(y, x, width, text) */
static int cells_call_head(lua_State *L) {
    cells_head(lua_cells_check(L, 1), cells_check_int(L, 2), cells_check_int(L, 3),
               cells_check_int(L, 4), luaL_checkstring(L, 5));
    return 0;
}

/* grid:graph(area, style, values, low) -> the largest value drawn */
static int cells_call_graph(lua_State *L) {
    float values[GRAPH_VALUES_MOST];
    int count = cells_check_values(L, 4, values);
    lua_pushnumber(L, cells_graph(lua_cells_check(L, 1), cells_check_area(L, 2),
                                  cells_check_style(L, 3), values, count,
                                  (float)luaL_checknumber(L, 5)));
    return 1;
}

/* grid:bar(y, x, width, used_share, slack_share) */
static int cells_call_bar(lua_State *L) {
    cells_bar(lua_cells_check(L, 1), cells_check_int(L, 2), cells_check_int(L, 3),
              cells_check_int(L, 4), luaL_checknumber(L, 5), luaL_checknumber(L, 6));
    return 0;
}

/* grid:hot(area, kind, value) */
static int cells_call_hot(lua_State *L) {
    cells_hot(lua_cells_check(L, 1), cells_check_area(L, 2),
              (enum hot_kind)luaL_checkoption(L, 3, NULL, hot_names),
              (unsigned)luaL_optinteger(L, 4, 0));
    return 0;
}

/* grid:hot_at(y, x) -> kind, value; nil where there is nothing to click */
static int cells_call_hot_at(lua_State *L) {
    const struct hotspot *hot =
        cells_hot_at(lua_cells_check(L, 1), cells_check_int(L, 2), cells_check_int(L, 3));
    if (hot == NULL) {
        return 0;
    }
    lua_pushstring(L, hot_names[hot->kind]);
    lua_pushinteger(L, hot->value);
    return 2;
}

/* grid:box(area, title) */
static int cells_call_box(lua_State *L) {
    cells_box(lua_cells_check(L, 1), cells_check_area(L, 2), luaL_checkstring(L, 3));
    return 0;
}

/* grid:select(y, x, width) */
static int cells_call_select(lua_State *L) {
    cells_select(lua_cells_check(L, 1), cells_check_int(L, 2), cells_check_int(L, 3),
                 cells_check_int(L, 4));
    return 0;
}

/* grid:dim(area): dims the cells; the row under the cursor stays marked */
static int cells_call_dim(lua_State *L) {
    struct cells *cells = lua_cells_check(L, 1);
    struct rect area = cells_check_area(L, 2);
    for (int y = area.y; y < area.y + area.height && y < cells->height; y++) {
        for (int x = area.x; x < area.x + area.width && x < cells->width; x++) {
            struct cell *cell = &cells->grid[y * cells->width + x];
            cell->style = (uint8_t)(STYLE_DIM | (cell->style & CELL_SELECTED));
        }
    }
    return 0;
}

/* grid:row(y) -> its text, and the styles of its cells, a byte each */
static int cells_call_row(lua_State *L) {
    struct cells *cells = lua_cells_check(L, 1);
    int y = cells_check_int(L, 2);
    luaL_argcheck(L, y >= 0 && y < cells->height, 2, "no such row");
    luaL_Buffer text;
    luaL_buffinit(L, &text);
    for (int x = 0; x < cells->width; x++) {
        uint32_t glyph = cells->grid[y * cells->width + x].glyph;
        lua_pushfstring(L, glyph == CELL_REST ? "" : "%U", (unsigned long)glyph);
        luaL_addvalue(&text);
    }
    luaL_pushresult(&text);
    luaL_Buffer styles;
    luaL_buffinit(L, &styles);
    for (int x = 0; x < cells->width; x++) {
        luaL_addchar(&styles, (char)cells->grid[y * cells->width + x].style);
    }
    luaL_pushresult(&styles);
    return 2;
}

static int cells_call_free(lua_State *L) {
    cells_destroy((struct cells **)luaL_checkudata(L, 1, CELLS_TYPE));
    return 0;
}

/* Fields are numbers of the grid; other names are methods. upvalue 1: the methods. */
static int cells_call_index(lua_State *L) {
    const struct cells *cells = lua_cells_check(L, 1);
    const char *name = luaL_checkstring(L, 2);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) {
        return 1;
    }
    if (strcmp(name, "width") == 0) {
        lua_pushinteger(L, cells->width);
    } else if (strcmp(name, "height") == 0) {
        lua_pushinteger(L, cells->height);
    } else if (strcmp(name, "clipped") == 0) {
        lua_pushinteger(L, cells->clipped);
    } else {
        return luaL_error(L, "a grid has no %s", name);
    }
    return 1;
}

static const luaL_Reg methods[] = {
    {"clear", cells_call_clear},
    {"fill", cells_call_fill},
    {"text", cells_call_text},
    {"text_fit", cells_call_text_fit},
    {"escaped", cells_call_escaped},
    {"text_right", cells_call_text_right},
    {"paragraph", cells_call_paragraph},
    {"rule", cells_call_rule},
    {"head", cells_call_head},
    {"graph", cells_call_graph},
    {"bar", cells_call_bar},
    {"hot", cells_call_hot},
    {"hot_at", cells_call_hot_at},
    {"box", cells_call_box},
    {"select", cells_call_select},
    {"dim", cells_call_dim},
    {"row", cells_call_row},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"new", cells_call_new},
    {"area", cells_call_area},
    {"width_of", cells_call_width_of},
    {"rows_of", cells_call_rows_of},
    {"without_spikes", cells_call_without_spikes},
    {NULL, NULL},
};

static void cells_push_themes(lua_State *L) {
    lua_createtable(L, THEME_COUNT, 0);
    for (int i = 0; i < THEME_COUNT; i++) {
        lua_pushstring(L, cells_themes[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

int lua_cells_open(lua_State *L) {
    if (luaL_newmetatable(L, CELLS_TYPE)) {
        luaL_newlib(L, methods);
        lua_pushcclosure(L, cells_call_index, 1);
        lua_setfield(L, -2, "__index");
        lua_pushcfunction(L, cells_call_free);
        lua_setfield(L, -2, "__gc");
    }
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    for (int style = 0; style < STYLE_COUNT; style++) {
        lua_pushinteger(L, style);
        lua_setfield(L, -2, style_names[style]);
    }
    lua_pushinteger(L, CELL_SELECTED);
    lua_setfield(L, -2, "SELECTED");
    cells_push_themes(L);
    lua_setfield(L, -2, "themes");
    return 1;
}
