#include "brain/lua_outside.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int lua_outside_environment(lua_State *L) {
    lua_pushstring(L, getenv(luaL_checkstring(L, 1))); /* NULL becomes nil */
    return 1;
}

/* -1 and errno. */
static int open_regular(const char *path) {
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))) {
        close(fd);
        errno = EINVAL;
        fd = -1;
    }
    return fd;
}

bool lua_outside_push_file(lua_State *L, const char *path, size_t most_bytes, bool only_regular) {
    luaL_Buffer buffer;
    char *to = luaL_buffinitsize(L, &buffer, most_bytes); /* before the file is open: it may fail */
    int fd = only_regular ? open_regular(path) : open(path, O_RDONLY | O_CLOEXEC);
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
