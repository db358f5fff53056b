/* The writing half of recording.h. */
#include "brain/recording.h"

#include "brain/lua_state.h"
#include "brain/lua_values.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULE "slate.facts.record_line"
#define SCHEMA "slate/snapshot/1"
enum { EXAMINE_BYTES = 65536 };

/* One call of Lua for a line. */
struct making {
    struct recording_writer *writer; /* NULL: a whole line is wanted */
    const struct raw_replies *raw;
    const struct raw_about *about;
    char *text; /* with a newline behind it */
    size_t bytes;
};

void raw_take(struct raw_replies *raw, enum stats_group group, const char *text, size_t bytes) {
    if (raw->capacity[group] < bytes) {
        char *larger = realloc(raw->text[group], bytes);
        if (larger == NULL) {
            raw->bytes[group] = 0;
            return;
        }
        raw->text[group] = larger;
        raw->capacity[group] = bytes;
    }
    memcpy(raw->text[group], text, bytes);
    raw->bytes[group] = bytes;
}

void raw_forget(struct raw_replies *raw) {
    memset(raw->bytes, 0, sizeof raw->bytes);
}

void raw_fini(struct raw_replies *raw) {
    for (int group = 0; group < GROUP_COUNT; group++) {
        free(raw->text[group]);
    }
    *raw = (struct raw_replies){0};
}

static void push_replies(lua_State *L, const struct raw_replies *raw) {
    static const char *const groups[] = {[GROUP_GENERAL] = "", [GROUP_ITEMS] = "items",
                                         [GROUP_SLABS] = "slabs", [GROUP_SETTINGS] = "settings"};
    lua_createtable(L, 0, GROUP_COUNT);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if (raw->bytes[i] > 0) {
            lua_pushlstring(L, raw->text[i], raw->bytes[i]);
            lua_setfield(L, -2, groups[i]);
        }
    }
}

/* Pushes the function that makes the line, with the writer's chain where it has one. */
static int push_maker(lua_State *L, struct recording_writer *writer) {
    if (writer == NULL) {
        lua_values_push_function(L, MODULE, "whole");
        return 0;
    }
    if (!writer->has_begun) {
        lua_values_push_function(L, MODULE, "chain");
        lua_pushboolean(L, true);
        lua_call(L, 1, 1);
        writer->chain = luaL_ref(L, LUA_REGISTRYINDEX);
        writer->has_begun = lua_state_take() != NULL; /* until recording_end */
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, writer->chain);
    lua_getfield(L, -1, "next");
    lua_insert(L, -2);
    return 1;
}

/* (making) -> nothing */
static int make_line(lua_State *L) {
    struct making *making = lua_touserdata(L, 1);
    int count = push_maker(L, making->writer);
    push_replies(L, making->raw);
    lua_createtable(L, 0, 3);
    lua_values_set_number(L, "time_s", (double)making->about->wall_ms / 1000);
    lua_values_set_text(L, "server", making->about->server);
    if (making->about->own_version[0] != '\0') {
        lua_values_set_text(L, "slated", making->about->own_version);
    }
    lua_call(L, count + 2, 1);
    const char *text = luaL_checklstring(L, -1, &making->bytes);
    making->text = malloc(making->bytes + 2);
    if (making->text == NULL) {
        return luaL_error(L, "out of memory");
    }
    memcpy(making->text, text, making->bytes);
    memcpy(making->text + making->bytes, "\n", 2);
    return 0;
}

char *recording_whole(const struct raw_replies *raw, const struct raw_about *about) {
    struct making making = {.raw = raw, .about = about};
    char why[200];
    lua_values_call(make_line, &making, why, sizeof why);
    return making.text;
}

/* Looks at a file that exists: true when it is empty or a recording. */
static bool is_recording(int fd, off_t bytes, bool *ends_whole) {
    char first[EXAMINE_BYTES + 1], last = '\n';
    ssize_t got = pread(fd, first, EXAMINE_BYTES, 0);
    if (got <= 0) {
        *ends_whole = true;
        return got == 0;
    }
    first[got] = '\0';
    *ends_whole = pread(fd, &last, 1, bytes - 1) == 1 && last == '\n';
    return strstr(first, "{\"schema\":\"" SCHEMA "\"") != NULL;
}

bool recording_append_to(struct recording_writer *writer, const char *path, char *why,
                         size_t why_bytes) {
    struct stat info;
    bool ends_whole;
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd < 0 || fstat(fd, &info) != 0) {
        snprintf(why, why_bytes, "cannot write %.100s: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        snprintf(why, why_bytes, "cannot write %.100s: not a regular file", path);
    } else if (!is_recording(fd, info.st_size, &ends_whole)) {
        snprintf(why, why_bytes, "%.100s exists and is not a recording: nothing was written to it",
                 path);
    } else if (!ends_whole && write(fd, "\n", 1) != 1) {
        /* the torn line of an earlier run stays open */
        snprintf(why, why_bytes, "cannot write %.100s: %s", path, strerror(errno));
    } else {
        *writer = (struct recording_writer){.fd = fd};
        return true;
    }
    if (fd >= 0) {
        close(fd);
    }
    return false;
}

void recording_end(struct recording_writer *writer) {
    if (writer->fd >= 0) {
        close(writer->fd);
    }
    if (writer->has_begun) {
        luaL_unref(lua_state_take(), LUA_REGISTRYINDEX, writer->chain);
        lua_state_give_back();
        lua_state_give_back();
    }
    *writer = (struct recording_writer){.fd = -1};
}

bool recording_write(struct recording_writer *writer, const struct raw_replies *raw,
                     const struct raw_about *about, char *why, size_t why_bytes) {
    struct making making = {.writer = writer, .raw = raw, .about = about};
    char problem[160];
    bool is_written = false;
    if (lua_values_call(make_line, &making, problem, sizeof problem)) {
        errno = ENOSPC; /* where not all of it is taken */
        is_written = /* one write, one line */
            write(writer->fd, making.text, making.bytes + 1) == (ssize_t)making.bytes + 1;
        snprintf(problem, sizeof problem, "%s", strerror(errno));
        free(making.text);
    }
    if (!is_written) {
        snprintf(why, why_bytes, "the recording ends here: %s", problem);
    }
    return is_written;
}
