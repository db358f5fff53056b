#include "bridge/lua_files.h"

#include "bridge/lua_type.h"
#include "link/poll_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINES_TYPE "slatetop.lines"
#define WRITER_TYPE "slatetop.writer"

enum {
    PATH_BYTES = 4096,
    FIRST_BYTE_MS = 30000, /* the longest wait for a FIFO or a terminal; <(command) is a FIFO */
    LOCK_TRIES = 20,
    LOCK_PAUSE_MS = 5
};

/* Returns nil and the reason in errno, in words. */
static int files_refuse(lua_State *L) {
    int problem = errno;
    lua_pushnil(L);
    lua_pushstring(L, problem == EINVAL ? "not a regular file" : strerror(problem));
    lua_pushboolean(L, problem == ENOENT || problem == ENOTDIR);
    return 3;
}

static int files_accept(lua_State *L) {
    lua_pushboolean(L, true);
    return 1;
}

/* Opens a regular file; -1 and errno on failure, EINVAL for another kind of file. */
static int files_open_regular(const char *path, int flags, mode_t mode) {
    struct stat facts;
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, mode);
    if (fd >= 0 && (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))) {
        close(fd);
        errno = EINVAL;
        fd = -1;
    }
    return fd;
}

/* Opens any file whose first byte comes within FIRST_BYTE_MS. */
static int files_open_secret(const char *path) {
    struct stat facts;
    struct pollfd one = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .events = POLLIN};
    if (one.fd < 0) {
        return -1;
    }
    bool may_wait =
        fstat(one.fd, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
    if (may_wait && poll(&one, 1, FIRST_BYTE_MS) == 0) {
        close(one.fd);
        errno = ETIMEDOUT;
        return -1;
    }
    fcntl(one.fd, F_SETFL, O_RDONLY);
    return one.fd;
}

/* Pushes at most most_bytes from an open file; false and errno on failure, with a text pushed even
 * so. */
static bool files_push_part(lua_State *L, int fd, size_t most_bytes) {
    luaL_Buffer buffer;
    size_t bytes = 0;
    ssize_t got = fd >= 0 ? 1 : -1;
    luaL_buffinit(L, &buffer);
    while (got > 0 && bytes < most_bytes) {
        size_t room = most_bytes - bytes < LUAL_BUFFERSIZE ? most_bytes - bytes : LUAL_BUFFERSIZE;
        got = read(fd, luaL_prepbuffsize(&buffer, room), room);
        luaL_addsize(&buffer, got > 0 ? (size_t)got : 0);
        bytes += got > 0 ? (size_t)got : 0;
    }
    int problem = errno;
    luaL_pushresult(&buffer);
    errno = problem;
    return got >= 0;
}

/* As files_push_part, and closes the file. Returns the count of results: the text, or nil and the
 * reason. */
static int files_push_text(lua_State *L, int fd, size_t most_bytes) {
    bool is_read = files_push_part(L, fd, most_bytes);
    int problem = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = problem;
    return is_read ? 1 : files_refuse(L);
}

/* read(path, most_bytes) */
static int files_call_read(lua_State *L) {
    size_t most_bytes = (size_t)luaL_checkinteger(L, 2);
    return files_push_text(L, files_open_regular(luaL_checkstring(L, 1), O_RDONLY, 0), most_bytes);
}

/* read_secret(path, most_bytes) */
static int files_call_read_secret(lua_State *L) {
    size_t most_bytes = (size_t)luaL_checkinteger(L, 2);
    return files_push_text(L, files_open_secret(luaL_checkstring(L, 1)), most_bytes);
}

/* Pushes the lines in the last most_bytes of a file that are there from their beginning; false and
 * errno on failure, with a text pushed even so. */
static bool files_push_tail(lua_State *L, int fd, off_t most_bytes) {
    off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0,
          from = end > most_bytes ? end - most_bytes : 0;
    if (fd >= 0) {
        lseek(fd, from, SEEK_SET);
    }
    bool is_read = files_push_part(L, fd, (size_t)most_bytes);
    size_t bytes;
    const char *text = lua_tolstring(L, -1, &bytes);
    const char *newline = is_read && from > 0 ? memchr(text, '\n', bytes) : NULL;
    if (newline != NULL) {
        lua_pushlstring(L, newline + 1, bytes - (size_t)(newline + 1 - text));
        lua_remove(L, -2);
    }
    return is_read;
}

/* read_tail(path, most_bytes) -> the lines at the end of the file */
static int files_call_read_tail(lua_State *L) {
    off_t most_bytes = (off_t)luaL_checkinteger(L, 2);
    int fd = files_open_regular(luaL_checkstring(L, 1), O_RDONLY, 0);
    bool is_read = files_push_tail(L, fd, most_bytes);
    int problem = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = problem;
    return is_read ? 1 : files_refuse(L);
}

/* Makes the folders above a path; the file's open reports errors. */
static void files_make_folders(const char *path) {
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder; (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        mkdir(folder, 0700);
        *slash = '/';
    }
}

/* (compose, fd, most_bytes) -> whether the line was written. Errors may be raised in here. */
static int files_write_composed(lua_State *L) {
    int fd = (int)lua_tointeger(L, 2);
    lua_pushvalue(L, 1);
    files_push_tail(L, fd, (off_t)lua_tointeger(L, 3));
    lua_call(L, 1, 1);
    size_t bytes;
    const char *line = luaL_checklstring(L, -1, &bytes);
    errno = ENOSPC; /* the reason if the file takes only a part of the line */
    lua_pushboolean(L, write(fd, line, bytes) == (ssize_t)bytes);
    return 1;
}

/* append_locked(path, most_bytes, compose) -> true; or nil and why. compose gets the lines in the
 * last most_bytes and returns the text to append, under the lock that slatectl takes, too. */
static int files_call_append_locked(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    lua_Integer most_bytes = luaL_checkinteger(L, 2);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    files_make_folders(path);
    int fd = files_open_regular(path, O_RDWR | O_CREAT | O_APPEND, 0600);
    if (fd < 0) {
        return files_refuse(L);
    }
    /* slatectl holds the lock for some milliseconds; the screen waits no longer than that. */
    int tries = 0;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0 && tries++ < LOCK_TRIES) {
        clock_wait(NULL, 0, clock_ms() + LOCK_PAUSE_MS);
    }
    lua_pushcfunction(L, files_write_composed);
    lua_pushvalue(L, 3);
    lua_pushinteger(L, fd);
    lua_pushinteger(L, most_bytes);
    bool is_composed = lua_pcall(L, 3, 1, 0) == LUA_OK;
    int problem = errno;
    close(fd); /* other processes wait for its lock */
    errno = problem;
    if (is_composed) {
        return lua_toboolean(L, -1) ? files_accept(L) : files_refuse(L);
    }
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

/* replace(path, text) -> true; or nil and why: a reader sees the old text or the new one */
static int files_call_replace(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    size_t bytes;
    const char *text = luaL_checklstring(L, 2, &bytes);
    const char *next = lua_pushfstring(L, "%s.%d", path, (int)getpid());
    files_make_folders(path);
    int fd = files_open_regular(next, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool is_written = fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes;
    int problem = errno;
    if (fd >= 0) {
        is_written = close(fd) == 0 && is_written && rename(next, path) == 0;
        problem = is_written ? 0 : errno;
    }
    if (!is_written && fd >= 0) {
        unlink(next);
    }
    errno = problem;
    return is_written ? files_accept(L) : files_refuse(L);
}

/* ---- a reader of lines ---- */

struct lua_lines {
    FILE *file; /* NULL: closed */
    off_t file_bytes, read_bytes;
};

/* lines(path) -> reader; or nil and why */
static int files_call_lines(lua_State *L) {
    struct stat facts;
    int fd = files_open_regular(luaL_checkstring(L, 1), O_RDONLY, 0);
    if (fd < 0) {
        return files_refuse(L);
    }
    struct lua_lines *lines = lua_newuserdatauv(L, sizeof *lines, 0);
    *lines = (struct lua_lines){.file = fdopen(fd, "r")};
    lines->file_bytes = fstat(fd, &facts) == 0 ? facts.st_size : 0;
    luaL_setmetatable(L, LINES_TYPE);
    return 1;
}

/* lines:next(most_bytes) -> a line without its newline, whether it was cut; nil at the end. A torn
 * last line counts. */
static int files_next_line(lua_State *L) {
    struct lua_lines *lines = luaL_checkudata(L, 1, LINES_TYPE);
    size_t most_bytes = (size_t)luaL_checkinteger(L, 2), bytes = 0;
    luaL_Buffer buffer;
    int byte = EOF;
    luaL_buffinit(L, &buffer);
    while (lines->file != NULL && (byte = getc_unlocked(lines->file)) != EOF && byte != '\n') {
        if (bytes++ < most_bytes) {
            luaL_addchar(&buffer, (char)byte);
        }
    }
    lines->read_bytes += (off_t)bytes + 1;
    luaL_pushresult(&buffer);
    if (bytes == 0 && byte == EOF) {
        return 0;
    }
    lua_pushboolean(L, bytes > most_bytes);
    return 2;
}

/* lines:read_ratio() -> the share of the file that has been read */
static int files_read_ratio(lua_State *L) {
    struct lua_lines *lines = luaL_checkudata(L, 1, LINES_TYPE);
    bool is_read = lines->read_bytes >= lines->file_bytes;
    lua_pushnumber(L, is_read ? 1 : (double)lines->read_bytes / (double)lines->file_bytes);
    return 1;
}

static int files_close_lines(lua_State *L) {
    struct lua_lines *lines = luaL_checkudata(L, 1, LINES_TYPE);
    if (lines->file != NULL) {
        fclose(lines->file);
        lines->file = NULL;
    }
    return 0;
}

/* ---- a writer that appends ---- */

/* append_to(path) -> writer, the first line of the file, whether the file ends with a line's end;
 * or nil and why. Makes the file if it is missing; an empty file has no first line. */
static int files_call_append_to(lua_State *L) {
    enum { FIRST_LINE_BYTES = 65536 };
    int fd = files_open_regular(luaL_checkstring(L, 1), O_RDWR | O_CREAT | O_APPEND, 0644);
    if (fd < 0) {
        return files_refuse(L);
    }
    int *writer = lua_newuserdatauv(L, sizeof *writer, 0);
    *writer = fd;
    luaL_setmetatable(L, WRITER_TYPE);
    luaL_Buffer buffer;
    char last = '\n', *text = luaL_buffinitsize(L, &buffer, FIRST_LINE_BYTES);
    ssize_t got = pread(fd, text, FIRST_LINE_BYTES, 0);
    off_t end = lseek(fd, 0, SEEK_END);
    const char *newline = got > 0 ? memchr(text, '\n', (size_t)got) : NULL;
    luaL_pushresultsize(&buffer, newline != NULL ? (size_t)(newline - text)
                                 : got > 0       ? (size_t)got
                                                 : 0);
    if (end <= 0) {
        lua_pop(L, 1);
        return 1;
    }
    lua_pushboolean(L, pread(fd, &last, 1, end - 1) == 1 && last == '\n');
    return 3;
}

/* writer:append(text) -> true; or nil and why. One write: a crash leaves no torn line before it. */
static int files_append_text(lua_State *L) {
    int *writer = luaL_checkudata(L, 1, WRITER_TYPE);
    size_t bytes;
    const char *text = luaL_checklstring(L, 2, &bytes);
    ssize_t written = write(*writer, text, bytes);
    if (written >= 0 && (size_t)written < bytes) {
        errno = ENOSPC;
    }
    return written == (ssize_t)bytes ? files_accept(L) : files_refuse(L);
}

static int files_close_writer(lua_State *L) {
    int *writer = luaL_checkudata(L, 1, WRITER_TYPE);
    if (*writer >= 0) {
        close(*writer);
        *writer = -1;
    }
    return 0;
}

/* ---- the environment and the standard streams ---- */

static int files_call_environment(lua_State *L) {
    lua_pushstring(L, getenv(luaL_checkstring(L, 1))); /* NULL becomes nil */
    return 1;
}

/* who() -> user@host */
static int files_call_who(lua_State *L) {
    char host[64] = "";
    const char *user = getenv("USER");
    user = user != NULL ? user : getenv("LOGNAME");
    const struct passwd *account = user == NULL ? getpwuid(getuid()) : NULL;
    gethostname(host, sizeof host - 1);
    lua_pushfstring(L, "%s@%s",
                    user != NULL      ? user
                    : account != NULL ? account->pw_name
                                      : "",
                    host);
    return 1;
}

static int files_write_all(lua_State *L, FILE *stream) {
    size_t bytes;
    const char *text = luaL_checklstring(L, 1, &bytes);
    errno = 0;
    if (fwrite(text, 1, bytes, stream) == bytes && fflush(stream) == 0) {
        return files_accept(L);
    }
    bool has_reader_gone = errno == EPIPE;
    files_refuse(L);
    lua_pop(L, 1);
    lua_pushboolean(L, has_reader_gone);
    return 3;
}

static int files_call_write_out(lua_State *L) {
    return files_write_all(L, stdout);
}

static int files_call_write_error(lua_State *L) {
    return files_write_all(L, stderr);
}

/* ---- the module ---- */

static const luaL_Reg lines_methods[] = {{"next", files_next_line},
                                         {"read_ratio", files_read_ratio},
                                         {"close", files_close_lines},
                                         {"__gc", files_close_lines},
                                         {NULL, NULL}};

static const luaL_Reg writer_methods[] = {{"append", files_append_text},
                                          {"close", files_close_writer},
                                          {"__gc", files_close_writer},
                                          {NULL, NULL}};

static const luaL_Reg functions[] = {
    {"read", files_call_read},
    {"read_secret", files_call_read_secret},
    {"read_tail", files_call_read_tail},
    {"append_locked", files_call_append_locked},
    {"replace", files_call_replace},
    {"lines", files_call_lines},
    {"append_to", files_call_append_to},
    {"environment", files_call_environment},
    {"who", files_call_who},
    {"write_out", files_call_write_out},
    {"write_error", files_call_write_error},
    {NULL, NULL},
};

int lua_files_open(lua_State *L) {
    lua_type_make(L, LINES_TYPE, lines_methods);
    lua_type_make(L, WRITER_TYPE, writer_methods);
    luaL_newlib(L, functions);
    return 1;
}
