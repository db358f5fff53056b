#include "bridge/lua_term.h"

#include "bridge/lua_cells.h"
#include "draw/term.h"

#include <lauxlib.h>
#include <signal.h>
#include <string.h>

enum { WHY_BYTES = 300 };

/* open({ is_ascii, is_mono, has_mouse, theme }) -> true; or nil and why there is no terminal */
static int term_call_open(lua_State *L) {
    char why[WHY_BYTES] = "";
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "is_ascii");
    lua_getfield(L, 1, "is_mono");
    lua_getfield(L, 1, "has_mouse");
    lua_getfield(L, 1, "theme");
    struct term_options options = {.ascii = lua_toboolean(L, -4),
                                   .mono = lua_toboolean(L, -3),
                                   .mouse = lua_toboolean(L, -2),
                                   .theme = (unsigned)luaL_optinteger(L, -1, 1) - 1};
    if (term_open(&options, why, sizeof why)) {
        lua_pushboolean(L, true);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
}

static int term_call_close(lua_State *L) {
    (void)L;
    term_close();
    return 0;
}

/* size() -> width, height */
static int term_call_size(lua_State *L) {
    int width, height;
    term_size(&width, &height);
    lua_pushinteger(L, width);
    lua_pushinteger(L, height);
    return 2;
}

static int term_call_show(lua_State *L) {
    term_show(lua_cells_check(L, 1));
    return 0;
}

static int term_call_redraw(lua_State *L) {
    (void)L;
    term_redraw();
    return 0;
}

static int term_call_suspend(lua_State *L) {
    (void)L;
    term_suspend();
    return 0;
}

static int term_call_resize(lua_State *L) {
    (void)L;
    term_resize();
    return 0;
}

/* copy(text): to the clipboard of the terminal */
static int term_call_copy(lua_State *L) {
    term_copy(luaL_checkstring(L, 1));
    return 0;
}

/* set_theme(index) -> whether the terminal has colours; the first index is 1 */
static int term_call_set_theme(lua_State *L) {
    lua_pushboolean(L, term_set_theme((unsigned)luaL_checkinteger(L, 1) - 1));
    return 1;
}

static int term_call_set_mouse(lua_State *L) {
    term_set_mouse(lua_toboolean(L, 1));
    return 0;
}

static int term_call_is_ascii(lua_State *L) {
    lua_pushboolean(L, term_is_ascii());
    return 1;
}

static int term_call_is_gone(lua_State *L) {
    lua_pushboolean(L, term_is_gone());
    return 1;
}

/* ---- keys ---- */

static const struct {
    uint32_t key;
    const char *name;
} named[] = {
    {KEY_ARROW_UP, "up"},
    {KEY_ARROW_DOWN, "down"},
    {KEY_ARROW_LEFT, "left"},
    {KEY_ARROW_RIGHT, "right"},
    {KEY_PAGE_UP, "page_up"},
    {KEY_PAGE_DOWN, "page_down"},
    {KEY_TO_HOME, "home"},
    {KEY_TO_END, "end"},
    {KEY_RETURN, "enter"},
    {KEY_ERASE, "backspace"},
    {KEY_BACK_TAB, "backtab"},
    {KEY_ESCAPE, "escape"},
    {'\t', "tab"},
    {' ', "space"},
    {KEY_POINTER, "pointer"},
};

static void term_push_key(lua_State *L, uint32_t key) {
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (named[i].key == key) {
            lua_pushstring(L, named[i].name);
            return;
        }
    }
    if (key > KEY_FUNCTION && key <= KEY_FUNCTION_LAST) {
        lua_pushfstring(L, "f%d", (int)(key - KEY_FUNCTION));
    } else if (key > 0 && key < ' ') {
        lua_pushfstring(L, "ctrl-%c", (int)(key | 0x60));
    } else {
        lua_pushfstring(L, "%U", (long)(key < KEY_NONE ? key : 0xfffd));
    }
}

/* key() -> the next key, and whether it is pasted; nil when none waits */
static int term_call_key(lua_State *L) {
    uint32_t key = term_key();
    if (key == KEY_NONE) {
        return 0;
    }
    term_push_key(L, key);
    lua_pushboolean(L, term_is_pasted());
    return 2;
}

/* pointer() -> "click", "wheel_up" or "wheel_down", y, x */
static int term_call_pointer(lua_State *L) {
    static const char *const acts[] = {"click", "wheel_up", "wheel_down"};
    struct pointer pointer = term_pointer();
    lua_pushstring(L, acts[pointer.act]);
    lua_pushinteger(L, pointer.y);
    lua_pushinteger(L, pointer.x);
    return 3;
}

/* catch_interrupts(): without a terminal, signal() has those that end the program */
static int term_call_catch_interrupts(lua_State *L) {
    lua_pushboolean(L, term_catch_interrupts());
    return 1;
}

/* signal() -> "winch", "int" (for all that end the program), or nil */
static int term_call_signal(lua_State *L) {
    int number = term_signal();
    if (number == 0) {
        return 0;
    }
    lua_pushstring(L, number == SIGWINCH ? "winch" : "int");
    return 1;
}

static const luaL_Reg functions[] = {
    {"open", term_call_open},
    {"close", term_call_close},
    {"size", term_call_size},
    {"show", term_call_show},
    {"redraw", term_call_redraw},
    {"suspend", term_call_suspend},
    {"resize", term_call_resize},
    {"copy", term_call_copy},
    {"set_theme", term_call_set_theme},
    {"set_mouse", term_call_set_mouse},
    {"is_ascii", term_call_is_ascii},
    {"is_gone", term_call_is_gone},
    {"key", term_call_key},
    {"pointer", term_call_pointer},
    {"catch_interrupts", term_call_catch_interrupts},
    {"signal", term_call_signal},
    {NULL, NULL},
};

int lua_term_open(lua_State *L) {
    luaL_newlib(L, functions);
    return 1;
}
