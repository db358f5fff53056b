#include "metrics/page.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

/* Generated from lua/slate: a module's name and its text. */
static const struct {
    const char *name, *text;
} modules[] = {
#include "metrics/modules.inc"
};

/* A require for those modules alone. */
static const char loader[] =
    "local texts, loaded = ..., {}\n"
    "function require(name)\n"
    "    if loaded[name] == nil then\n"
    "        local chunk = assert(load(texts[name] or error('no module ' .. name, 0), '=' .. name, "
    "'t'))\n"
    "        loaded[name] = chunk(name)\n"
    "    end\n"
    "    return loaded[name]\n"
    "end\n"
    "return require('slate.cli.page').text\n";

const char *const page_groups[PAGE_GROUPS] = {
    "", "slabs", "items", "settings", "moves", "memory", "curve", "whatif", "describe", "slated",
};

struct page {
    lua_State *L; /* at 1 the function that makes a page, at 2 the last one */
    size_t     used_bytes;
};

static void *allocate(void *arg, void *old, size_t old_bytes, size_t bytes) {
    struct page *page = arg;
    if (old == NULL) {
        old_bytes = 0; /* Lua says there what kind of object it will be */
    }
    if (bytes == 0) {
        free(old);
        page->used_bytes -= old_bytes;
        return NULL;
    }
    if (bytes > old_bytes && bytes - old_bytes > PAGE_MEMORY_BYTES - page->used_bytes) {
        return NULL;
    }
    void *now = realloc(old, bytes);
    if (now != NULL) {
        page->used_bytes += bytes - old_bytes;
    }
    return now != NULL || bytes > old_bytes ? now : old; /* shrinking works */
}

static void say(lua_State *L, char *why) {
    const char *said = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "no message";
    snprintf(why, PAGE_WHY_BYTES, "%.*s", PAGE_WHY_BYTES - 1, said);
}

/* In a protected call, since each step may lack memory. */
static int open_modules(lua_State *L) {
    static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {LUA_TABLIBNAME, luaopen_table},
                                         {LUA_MATHLIBNAME, luaopen_math},
                                         {LUA_UTF8LIBNAME, luaopen_utf8}};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
        lua_pop(L, 1);
    }
    if (luaL_loadbufferx(L, loader, sizeof loader - 1, "=loader", "t") != LUA_OK) {
        return lua_error(L);
    }
    lua_createtable(L, 0, sizeof modules / sizeof *modules);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        lua_pushstring(L, modules[i].text);
        lua_setfield(L, -2, modules[i].name);
    }
    lua_call(L, 1, 1);
    return 1;
}

struct page *page_create(char *why) {
    struct page *page = calloc(1, sizeof *page);
    snprintf(why, PAGE_WHY_BYTES, "out of memory");
    if (page == NULL) {
        return NULL;
    }
    page->L = lua_newstate(allocate, page);
    if (page->L == NULL) {
        free(page);
        return NULL;
    }
    lua_pushcfunction(page->L, open_modules);
    if (lua_pcall(page->L, 0, 1, 0) != LUA_OK) {
        say(page->L, why);
        page_destroy(&page);
    }
    return page;
}

void page_destroy(struct page **taken) {
    struct page *page = *taken;
    *taken = NULL;
    if (page != NULL) {
        lua_close(page->L);
        free(page);
    }
}

struct asked {
    bool openmetrics;
    const struct page_answer *answers;
};

static int make(lua_State *L) {
    const struct asked *asked = lua_touserdata(L, 2);
    lua_settop(L, 1);
    lua_pushstring(L, asked->openmetrics ? "openmetrics" : "prometheus");
    lua_pushnumber(L, (lua_Number)clock_unix_ms() / 1e3);
    lua_createtable(L, 0, PAGE_GROUPS);
    for (int i = 0; i < PAGE_GROUPS; i++) {
        lua_pushlstring(L, asked->answers[i].bytes ? asked->answers[i].bytes : "",
                        asked->answers[i].count);
        lua_setfield(L, -2, page_groups[i]);
    }
    lua_call(L, 3, 1);
    return 1;
}

const char *page_text(struct page *page, bool openmetrics, const struct page_answer *answers,
                      size_t *bytes, char *why) {
    lua_State   *L = page->L;
    struct asked asked = {openmetrics, answers};
    lua_settop(L, 1); /* the last page may go */
    lua_pushcfunction(L, make);
    lua_pushvalue(L, 1);
    lua_pushlightuserdata(L, &asked);
    if (lua_pcall(L, 2, 1, 0) != LUA_OK || lua_type(L, -1) != LUA_TSTRING) {
        say(L, why);
        return NULL;
    }
    return lua_tolstring(L, -1, bytes);
}
