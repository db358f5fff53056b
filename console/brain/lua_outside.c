#include "brain/lua_outside.h"

#include "brain/lua_values.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int lua_outside_environment(lua_State *L) {
    lua_pushstring(L, getenv(luaL_checkstring(L, 1))); /* NULL becomes nil */
    return 1;
}

/* On failure -1 and errno. */
static int outside_open_regular(const char *path) {
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))) {
        close(fd);
        errno = EINVAL;
        fd = -1;
    }
    return fd;
}

bool lua_outside_push_file(lua_State *L, const char *path, size_t most_bytes) {
    luaL_Buffer buffer;
    char *to = luaL_buffinitsize(L, &buffer, most_bytes); /* may raise: no file is open yet */
    int fd = outside_open_regular(path);
    size_t bytes = 0;
    ssize_t got = fd >= 0 ? 1 : -1;
    while (got > 0 && bytes < most_bytes) {
        got = read(fd, to + bytes, most_bytes - bytes);
        bytes += got > 0 ? (size_t)got : 0;
    }
    int problem = errno;
    if (fd >= 0) {
        close(fd);
    }
    luaL_pushresultsize(&buffer, bytes);
    if (got < 0) {
        lua_pop(L, 1);
    }
    errno = problem;
    return got >= 0;
}

int lua_outside_read_file(lua_State *L) {
    size_t most_bytes = (size_t)luaL_checkinteger(L, 2);
    if (lua_outside_push_file(L, luaL_checkstring(L, 1), most_bytes)) {
        return 1;
    }
    int problem = errno;
    lua_pushnil(L);
    lua_pushstring(L, problem == EINVAL ? "not a regular file" : strerror(problem));
    lua_pushboolean(L, problem == ENOENT || problem == ENOTDIR);
    return 3;
}

/* ---- the operator's own files ---- */

struct place {
    const char *file;
    char *out;
    size_t out_bytes;
    bool is_there;
};

void lua_outside_push_place(lua_State *L, const char *file) {
    lua_values_push_function(L, "slate.base.places", "path");
    lua_pushstring(L, file);
    lua_pushcfunction(L, lua_outside_environment);
    lua_call(L, 2, 1);
}

/* (place) -> nothing */
static int outside_find_place(lua_State *L) {
    struct place *place = lua_touserdata(L, 1);
    lua_outside_push_place(L, place->file);
    const char *path = lua_tostring(L, -1);
    place->is_there = path != NULL && strlen(path) < place->out_bytes;
    if (place->is_there) {
        strcpy(place->out, path);
    }
    return 0;
}

bool lua_outside_place(const char *file, char *out, size_t out_bytes) {
    struct place place = {.file = file, .out = out, .out_bytes = out_bytes};
    char why[100];
    return lua_values_call(outside_find_place, &place, why, sizeof why) && place.is_there;
}
