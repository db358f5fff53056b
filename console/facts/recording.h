/* Recordings as slatectl writes and reads them: one snapshot a line, JSON of the schema
 * "slate/snapshot/1" (slatectl(1)), or what changed since the line before ("slate/change/1").
 *
 * Reading checks everything: a line that is not a whole snapshot is reported and skipped, and a
 * line of more than RECORDING_LINE_LIMIT bytes is such a line. Writing appends whole lines with one
 * write each, so that a recording stays readable whatever happens. Only regular files: nothing here
 * waits for anybody. One thread. */
#ifndef CONSOLE_FACTS_RECORDING_H
#define CONSOLE_FACTS_RECORDING_H
#include "facts/stats.h"

#include <jansson.h>

#define RECORDING_SCHEMA "slate/snapshot/1"
enum { RECORDING_LINE_LIMIT = 4 << 20 };

/* ---- reading ---- */

struct recording;
enum recording_result { RECORDING_SAMPLE, RECORDING_BAD_LINE, RECORDING_END };

/* NULL with a sentence in why when the file can't be read. */
struct recording *recording_open(const char *path, char *why, size_t why_bytes);
void recording_close(struct recording **recording);

/* The next snapshot, with at_ms counted from the first one and the time of day it was taken; or a
 * line that is none, and why. Settings are those of the last line that had them. Cost: O(line). */
enum recording_result recording_next(struct recording *recording, struct snapshot *snapshot,
                                     int64_t *wall_ms, char *why, size_t why_bytes);

/* The snapshot read last as a JSON object, valid until the next call; NULL before the first. */
const json_t *recording_line(const struct recording *recording);
/* The server of the line read last; "" before the first. */
const char *recording_server(const struct recording *recording);
/* Share of the file that has been read. */
double recording_progress(const struct recording *recording);

/* ---- writing ---- */

/* The replies of one refresh as the server sent them. All zero: nothing yet. */
struct raw_replies {
    char *text[GROUP_COUNT];
    size_t bytes[GROUP_COUNT], capacity[GROUP_COUNT];
};
/* Keeps a copy of a reply; one that memory has no room for is absent from the line. */
void raw_take(struct raw_replies *raw, enum stats_group group, const char *text, size_t bytes);
void raw_forget(struct raw_replies *raw); /* keeps the memory for the next refresh */
void raw_fini(struct raw_replies *raw);

/* The snapshot as a JSON object that the caller releases; NULL when out of memory. own_version is
 * slated's, "" for memcached. */
json_t *recording_build(const struct raw_replies *raw, const char *server, const char *own_version,
                        int64_t wall_ms);

/* A file that is appended to: whole snapshots, and between them lines of what changed
 * (recording_change.h). */
struct recording_writer {
    int fd;        /* -1: none is open */
    /* the snapshot written last, as a reader will have it; NULL: the next one is written whole */
    json_t *last;
    json_t *settings; /* as they were written last; NULL: not yet */
    unsigned since_whole;
};

/* Opens a recording to append to: a new file, or one that is a recording already. False with a
 * sentence in why. */
bool recording_append_to(struct recording_writer *writer, const char *path, char *why,
                         size_t why_bytes);
/* Takes a snapshot. False with a sentence in why when its line could not be written whole. */
bool recording_write(struct recording_writer *writer, json_t *taken, char *why, size_t why_bytes);
void recording_end(struct recording_writer *writer);
#endif
