#include "brain/recording.h"

#include "brain/lua_state.h"
#include "brain/lua_values.h"
#include "facts/words.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULE "slate.facts.record_line"
#define SCHEMA "slate/snapshot/1"
enum { EXAMINE_BYTES = 65536, FIELD_BYTES = 400 };
enum { SNAPSHOT = 2 }; /* the snapshot's index on the stack, while it is read */

struct recording {
    FILE *file;
    off_t file_bytes, read_bytes;
    unsigned long line; /* number of the last line read */
    bool has_first;
    int64_t first_wall_ms, last_wall_ms;
    char server[200];
    struct snapshot last; /* has the settings, which most lines leave out */
    lua_State *lua;
    int chain; /* a chain of slate.facts.record_line, in Lua's registry */
    char text[RECORDING_LINE_LIMIT]; /* the line; memory beyond its end is not touched */
};

/* One call of Lua for a recording. */
struct reading {
    struct recording *recording;
    size_t bytes; /* bytes of the line */
    struct snapshot *snapshot;
    int64_t wall_ms;
    char *text;
};

/* (reading) -> nothing */
static int recording_begin_chain(lua_State *L) {
    struct reading *reading = lua_touserdata(L, 1);
    lua_values_push_function(L, MODULE, "chain");
    lua_pushboolean(L, false);
    lua_pushboolean(L, true);
    lua_call(L, 2, 1);
    reading->recording->chain = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

struct recording *recording_open(const char *path, char *why, size_t why_bytes) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &info) != 0) {
        snprintf(why, why_bytes, "cannot read %.100s: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        snprintf(why, why_bytes, "cannot read %.100s: not a regular file", path);
    } else {
        struct recording *recording = calloc(1, sizeof *recording);
        lua_State *lua = recording != NULL ? lua_state_take() : NULL; /* until recording_close */
        struct reading reading = {.recording = recording};
        snprintf(why, why_bytes, "out of memory");
        if (lua != NULL && lua_values_call(recording_begin_chain, &reading, why, why_bytes) &&
            (recording->file = fdopen(fd, "r")) != NULL) {
            recording->file_bytes = info.st_size;
            recording->lua = lua;
            snapshot_init(&recording->last);
            return recording;
        }
        if (lua != NULL) {
            lua_state_give_back();
        }
        free(recording);
    }
    if (fd >= 0) {
        close(fd);
    }
    return NULL;
}

void recording_close(struct recording **recording) {
    if (*recording != NULL) {
        fclose((*recording)->file);
        luaL_unref((*recording)->lua, LUA_REGISTRYINDEX, (*recording)->chain);
        lua_gc((*recording)->lua, LUA_GCCOLLECT); /* the tape has the samples */
        lua_state_give_back();
        free(*recording);
        *recording = NULL;
    }
}

/* Reads the next line into text, RECORDING_LINE_LIMIT bytes at most; false at the end of the file.
 * A torn last line counts. */
static bool recording_next_line(struct recording *recording, size_t *bytes) {
    int byte;
    for (*bytes = 0; (byte = getc_unlocked(recording->file)) != EOF && byte != '\n'; ++*bytes) {
        if (*bytes < RECORDING_LINE_LIMIT) {
            recording->text[*bytes] = (char)byte;
        }
    }
    recording->read_bytes += (off_t)*bytes + 1;
    recording->line++;
    return *bytes > 0 || byte != EOF;
}

/* Writes the value on top as a server spells it; false for a kind that no server sends. */
static bool recording_value_text(lua_State *L, char out[FIELD_BYTES]) {
    switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
        if (lua_isinteger(L, -1)) {
            snprintf(out, FIELD_BYTES, "%lld", (long long)lua_tointeger(L, -1));
        } else {
            double number = lua_tonumber(L, -1);
            snprintf(out, FIELD_BYTES, fabs(number) < 1e18 ? "%.6f" : "%.17g", number);
        }
        return true;
    case LUA_TBOOLEAN:
        snprintf(out, FIELD_BYTES, "%s", lua_toboolean(L, -1) ? "yes" : "no");
        return true;
    case LUA_TSTRING:
        snprintf(out, FIELD_BYTES, "%s", lua_tostring(L, -1));
        out[strcspn(out, "\r\n")] = '\0';
        return true;
    default:
        return false;
    }
}

/* Hands the fields of the table on top to the parser of replies as "STAT" lines; pops the table. */
static void recording_take_fields(lua_State *L, struct snapshot *snapshot, enum stats_group group,
                                  long long class_id) {
    for (lua_pushnil(L); lua_istable(L, -2) && lua_next(L, -2) != 0; lua_pop(L, 1)) {
        char text[FIELD_BYTES], line[2 * FIELD_BYTES + 80];
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
        if (name[0] == '\0' || strlen(name) >= FIELD_BYTES || strpbrk(name, " \r\n") != NULL ||
            !recording_value_text(L, text)) {
            continue;
        }
        int n = class_id >= 0
                    ? snprintf(line, sizeof line, "STAT %lld:%s %s\r\n", class_id, name, text)
                    : snprintf(line, sizeof line, "STAT %s %s\r\n", name, text);
        snapshot_parse(snapshot, group, line, (size_t)n);
    }
    lua_settop(L, SNAPSHOT);
}

static void recording_take_part(lua_State *L, struct snapshot *snapshot, enum stats_group group,
                                const char *name) {
    lua_getfield(L, SNAPSHOT, name);
    recording_take_fields(L, snapshot, group, -1);
}

/* Reads the table at SNAPSHOT into a snapshot, with the parser of replies. */
static void recording_take_snapshot(lua_State *L, struct snapshot *snapshot) {
    char slated[FIELD_BYTES];
    lua_values_text(L, "version", snapshot->version, sizeof snapshot->version);
    lua_values_text(L, "slated", slated, sizeof slated);
    recording_take_part(L, snapshot, GROUP_GENERAL, "general");
    if (slated[0] != '\0') {
        lua_createtable(L, 0, 1);
        lua_values_set_text(L, "slated_version", slated);
        recording_take_fields(L, snapshot, GROUP_SLATED, -1);
    }
    recording_take_part(L, snapshot, GROUP_SETTINGS, "settings");
    recording_take_part(L, snapshot, GROUP_SLABS, "totals");
    lua_getfield(L, SNAPSHOT, "classes");
    for (lua_Integer i = 1, count = luaL_len(L, -1); i <= count; i++) {
        lua_settop(L, SNAPSHOT);
        lua_getfield(L, SNAPSHOT, "classes");
        lua_geti(L, -1, i);
        double id = lua_values_number(L, "id");
        if (id >= 0 && id < CLASS_LIMIT) {
            recording_take_fields(L, snapshot, GROUP_SLABS, (long long)id);
        }
    }
    lua_settop(L, SNAPSHOT);
}

/* (reading) -> nothing; raises the mistake in the line */
static int recording_read_line(lua_State *L) {
    struct reading *reading = lua_touserdata(L, 1);
    struct recording *recording = reading->recording;
    lua_rawgeti(L, LUA_REGISTRYINDEX, recording->chain);
    lua_getfield(L, -1, "decode");
    lua_insert(L, -2);
    lua_pushlstring(L, recording->text, reading->bytes);
    lua_call(L, 2, 2);
    if (!lua_istable(L, -2)) {
        return lua_error(L);
    }
    lua_settop(L, SNAPSHOT);
    reading->wall_ms = llround(lua_values_number(L, "time_s") * 1000);
    if (recording->has_first && reading->wall_ms <= recording->last_wall_ms) {
        return luaL_error(L, "it is no later than the one before");
    }
    snapshot_init(reading->snapshot);
    snapshot_inherit(reading->snapshot, &recording->last);
    recording_take_snapshot(L, reading->snapshot);
    lua_values_text(L, "server", recording->server, sizeof recording->server);
    words_make_plain(recording->server);
    if (recording->server[0] == '\0') {
        strcpy(recording->server, "?");
    }
    return 0;
}

enum recording_result recording_next(struct recording *recording, struct snapshot *snapshot,
                                     int64_t *wall_ms, char *why, size_t why_bytes) {
    struct reading reading = {.recording = recording, .snapshot = snapshot};
    char problem[FIELD_BYTES] = "it is longer than 4 MiB";
    do {
        if (!recording_next_line(recording, &reading.bytes)) {
            return RECORDING_END;
        }
    } while (reading.bytes == 0);
    if (reading.bytes > RECORDING_LINE_LIMIT ||
        !lua_values_call(recording_read_line, &reading, problem, sizeof problem)) {
        words_printf(why, why_bytes, "line %lu is not a snapshot: %s", recording->line, problem);
        return RECORDING_BAD_LINE;
    }
    *wall_ms = reading.wall_ms;
    if (!recording->has_first) {
        recording->has_first = true;
        recording->first_wall_ms = *wall_ms;
    }
    snapshot->at_ms = (uint64_t)(*wall_ms - recording->first_wall_ms) + 1;
    recording->last_wall_ms = *wall_ms;
    snapshot_copy(&recording->last, snapshot);
    return RECORDING_SAMPLE;
}

/* (reading) -> nothing */
static int recording_show_line(lua_State *L) {
    struct reading *reading = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, reading->recording->chain);
    lua_getfield(L, -1, "shown");
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    const char *text = lua_tostring(L, -1);
    reading->text = text != NULL ? strdup(text) : NULL;
    return 0;
}

char *recording_line(const struct recording *recording) {
    struct reading reading = {.recording = (struct recording *)recording};
    char why[FIELD_BYTES];
    lua_values_call(recording_show_line, &reading, why, sizeof why);
    return reading.text;
}

const char *recording_server(const struct recording *recording) {
    return recording->server;
}

double recording_progress(const struct recording *recording) {
    return recording->read_bytes < recording->file_bytes
               ? (double)recording->read_bytes / (double)recording->file_bytes
               : 1;
}

/* ---- writing ---- */

/* One call of Lua for a line. */
struct making {
    struct recording_writer *writer; /* NULL: make a complete line */
    const struct raw_replies *raw;
    const struct raw_about *about;
    char *text; /* ends in a newline */
    size_t bytes;
};

void recording_take(struct raw_replies *raw, enum stats_group group, const char *text,
                    size_t bytes) {
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

void recording_forget(struct raw_replies *raw) {
    memset(raw->bytes, 0, sizeof raw->bytes);
}

void recording_fini(struct raw_replies *raw) {
    for (int group = 0; group < GROUP_COUNT; group++) {
        free(raw->text[group]);
    }
    *raw = (struct raw_replies){0};
}

static void recording_push_replies(lua_State *L, const struct raw_replies *raw) {
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

/* Pushes the function that makes the line, and the writer's chain if there is one. */
static int recording_push_maker(lua_State *L, struct recording_writer *writer) {
    if (writer == NULL) {
        lua_values_push_function(L, MODULE, "whole");
        return 0;
    }
    if (!writer->has_begun) {
        lua_values_push_function(L, MODULE, "chain");
        lua_pushboolean(L, true);
        lua_call(L, 1, 1);
        writer->chain = luaL_ref(L, LUA_REGISTRYINDEX);
        writer->has_begun = lua_state_take() != NULL; /* recording_end gives it back */
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, writer->chain);
    lua_getfield(L, -1, "next");
    lua_insert(L, -2);
    return 1;
}

/* (making) -> nothing */
static int recording_make_line(lua_State *L) {
    struct making *making = lua_touserdata(L, 1);
    int count = recording_push_maker(L, making->writer);
    recording_push_replies(L, making->raw);
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

char *recording_complete_line(const struct raw_replies *raw, const struct raw_about *about) {
    struct making making = {.raw = raw, .about = about};
    char why[200];
    lua_values_call(recording_make_line, &making, why, sizeof why);
    return making.text;
}

/* Looks at a file that exists: true when it is empty or a recording. */
static bool is_recording(int fd, off_t bytes, bool *ends_complete) {
    char first[EXAMINE_BYTES + 1], last = '\n';
    ssize_t got = pread(fd, first, EXAMINE_BYTES, 0);
    if (got <= 0) {
        *ends_complete = true;
        return got == 0;
    }
    first[got] = '\0';
    *ends_complete = pread(fd, &last, 1, bytes - 1) == 1 && last == '\n';
    return strstr(first, "{\"schema\":\"" SCHEMA "\"") != NULL;
}

bool recording_append_to(struct recording_writer *writer, const char *path, char *why,
                         size_t why_bytes) {
    struct stat info;
    bool ends_complete;
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd < 0 || fstat(fd, &info) != 0) {
        snprintf(why, why_bytes, "cannot write %.100s: %s", path, strerror(errno));
    } else if (!S_ISREG(info.st_mode)) {
        snprintf(why, why_bytes, "cannot write %.100s: not a regular file", path);
    } else if (!is_recording(fd, info.st_size, &ends_complete)) {
        snprintf(why, why_bytes, "%.100s exists and is not a recording: nothing was written to it",
                 path);
    } else if (!ends_complete && write(fd, "\n", 1) != 1) {
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
    if (lua_values_call(recording_make_line, &making, problem, sizeof problem)) {
        errno = ENOSPC; /* the reason if the file takes only a part */
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
