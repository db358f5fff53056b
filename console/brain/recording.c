/* The reading half of recording.h. */
#include "brain/recording.h"

#include "brain/lua_state.h"
#include "brain/lua_values.h"
#include "facts/plain.h"
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
enum { READ_BYTES = 65536, FIELD_BYTES = 400 };
enum { SNAPSHOT = 2 }; /* its place on the stack, while it is taken */

struct recording {
    int fd;
    off_t file_bytes, read_bytes;
    unsigned long line; /* number of the one read last */
    char *text;         /* start..used: read and not yet handed out */
    size_t start, used, capacity;
    bool has_first;
    int64_t first_wall_ms, last_wall_ms;
    char server[200];
    struct snapshot last; /* for the settings that most lines leave out */
    lua_State *lua;
    int chain; /* of slate.facts.record_line, in Lua's registry */
};

/* One call of Lua for a recording. */
struct reading {
    struct recording *recording;
    const char *line;
    size_t bytes;
    struct snapshot *snapshot;
    int64_t wall_ms;
    char *text;
};

/* (reading) -> nothing */
static int begin(lua_State *L) {
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
        if (lua != NULL && lua_values_call(begin, &reading, why, why_bytes)) {
            recording->fd = fd;
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
        close((*recording)->fd);
        luaL_unref((*recording)->lua, LUA_REGISTRYINDEX, (*recording)->chain);
        lua_gc((*recording)->lua, LUA_GCCOLLECT); /* what was read is on the tape */
        lua_state_give_back();
        free((*recording)->text);
        free(*recording);
        *recording = NULL;
    }
}

/* Reads more behind what is there; false at the end of the file. */
static bool read_more(struct recording *recording) {
    if (recording->start > 0) {
        memmove(recording->text, recording->text + recording->start,
                recording->used - recording->start);
        recording->used -= recording->start;
        recording->start = 0;
    }
    if (recording->capacity < recording->used + READ_BYTES) {
        size_t wanted = 2 * recording->capacity + READ_BYTES;
        char *larger = realloc(recording->text, wanted);
        if (larger == NULL) {
            return false;
        }
        recording->text = larger;
        recording->capacity = wanted;
    }
    ssize_t got = read(recording->fd, recording->text + recording->used, READ_BYTES);
    if (got <= 0) {
        return false;
    }
    recording->used += (size_t)got;
    recording->read_bytes += got;
    return true;
}

/* The next line without its end; NULL at the end. A line that is too long comes as bytes 0 and
 * *is_long. */
static const char *next_line(struct recording *recording, size_t *bytes, bool *is_long) {
    size_t scanned = 0;
    *is_long = false;
    for (;;) {
        size_t there = recording->used - recording->start;
        char *newline = there > scanned ? memchr(recording->text + recording->start + scanned, '\n',
                                                 there - scanned)
                                        : NULL;
        if (newline != NULL) {
            char *from = recording->text + recording->start;
            *bytes = (size_t)(newline - from);
            recording->start += *bytes + 1;
            recording->line++;
            return *is_long ? (*bytes = 0, from) : from;
        }
        if (there > RECORDING_LINE_LIMIT) {
            *is_long = true;
            recording->start = recording->used; /* forget it, go on to its end */
            there = 0;
        }
        scanned = there;
        if (!read_more(recording)) {
            break;
        }
    }
    *bytes = recording->used - recording->start;
    if (*bytes == 0 && !*is_long) {
        return NULL;
    }
    recording->start = recording->used; /* a line torn at the end of the file */
    recording->line++;
    return *is_long ? (*bytes = 0, recording->text) : recording->text + recording->start - *bytes;
}

/* The value on top as a server spells it; false for what no server says. */
static bool value_text(lua_State *L, char out[FIELD_BYTES]) {
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

/* Gives the fields of the table on top to the parser of replies, one "STAT" line each; pops it. */
static void take_fields(lua_State *L, struct snapshot *snapshot, enum stats_group group,
                        long long class_id) {
    for (lua_pushnil(L); lua_istable(L, -2) && lua_next(L, -2) != 0; lua_pop(L, 1)) {
        char text[FIELD_BYTES], line[2 * FIELD_BYTES + 80];
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
        if (name[0] == '\0' || strlen(name) >= FIELD_BYTES || strpbrk(name, " \r\n") != NULL ||
            !value_text(L, text)) {
            continue;
        }
        int n = class_id >= 0
                    ? snprintf(line, sizeof line, "STAT %lld:%s %s\r\n", class_id, name, text)
                    : snprintf(line, sizeof line, "STAT %s %s\r\n", name, text);
        snapshot_parse(snapshot, group, line, (size_t)n);
    }
    lua_settop(L, SNAPSHOT);
}

static void take_part(lua_State *L, struct snapshot *snapshot, enum stats_group group,
                      const char *name) {
    lua_getfield(L, SNAPSHOT, name);
    take_fields(L, snapshot, group, -1);
}

/* The snapshot at SNAPSHOT as the parser of replies makes it. */
static void take_snapshot(lua_State *L, struct snapshot *snapshot) {
    char slated[FIELD_BYTES];
    lua_values_text(L, "version", snapshot->version, sizeof snapshot->version);
    lua_values_text(L, "slated", slated, sizeof slated);
    take_part(L, snapshot, GROUP_GENERAL, "general");
    if (slated[0] != '\0') {
        lua_createtable(L, 0, 1);
        lua_values_set_text(L, "slated_version", slated);
        take_fields(L, snapshot, GROUP_SLATED, -1);
    }
    take_part(L, snapshot, GROUP_SETTINGS, "settings");
    take_part(L, snapshot, GROUP_SLABS, "totals");
    lua_getfield(L, SNAPSHOT, "classes");
    for (lua_Integer i = 1, count = luaL_len(L, -1); i <= count; i++) {
        lua_settop(L, SNAPSHOT);
        lua_getfield(L, SNAPSHOT, "classes");
        lua_geti(L, -1, i);
        double id = lua_values_number(L, "id");
        if (id >= 0 && id < CLASS_LIMIT) {
            take_fields(L, snapshot, GROUP_SLABS, (long long)id);
        }
    }
    lua_settop(L, SNAPSHOT);
}

/* (reading) -> nothing; raises what is wrong with the line */
static int read_line(lua_State *L) {
    struct reading *reading = lua_touserdata(L, 1);
    struct recording *recording = reading->recording;
    lua_rawgeti(L, LUA_REGISTRYINDEX, recording->chain);
    lua_getfield(L, -1, "decode");
    lua_insert(L, -2);
    lua_pushlstring(L, reading->line, reading->bytes);
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
    take_snapshot(L, reading->snapshot);
    lua_values_text(L, "server", recording->server, sizeof recording->server);
    plain_make(recording->server);
    if (recording->server[0] == '\0') {
        strcpy(recording->server, "?");
    }
    return 0;
}

enum recording_result recording_next(struct recording *recording, struct snapshot *snapshot,
                                     int64_t *wall_ms, char *why, size_t why_bytes) {
    struct reading reading = {.recording = recording, .snapshot = snapshot};
    char problem[FIELD_BYTES] = "it is longer than 4 MiB";
    bool is_long;
    do {
        reading.line = next_line(recording, &reading.bytes, &is_long);
        if (reading.line == NULL) {
            return RECORDING_END;
        }
    } while (reading.bytes == 0 && !is_long);
    if (is_long || !lua_values_call(read_line, &reading, problem, sizeof problem)) {
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
static int show_line(lua_State *L) {
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
    lua_values_call(show_line, &reading, why, sizeof why);
    return reading.text;
}

const char *recording_server(const struct recording *recording) {
    return recording->server;
}

double recording_progress(const struct recording *recording) {
    return recording->file_bytes > 0
               ? (double)(recording->read_bytes - (off_t)(recording->used - recording->start)) /
                     (double)recording->file_bytes
               : 1;
}
