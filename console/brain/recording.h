/* Recordings, in the format of slatectl: one snapshot a line, JSON of the schema "slate/snapshot/1"
 * (slatectl(1)), or the changes since the previous line ("slate/change/1").
 * lua/slate/facts/record_line.lua makes and reads the lines; the files are handled here.
 *
 * Reading checks everything: a line that is not a complete snapshot is reported and skipped, and a
 * line of more than RECORDING_LINE_LIMIT bytes is such a line. Writing appends complete lines with
 * one write each, so that a recording stays readable after any crash. Only regular files, so no
 * call waits for another process. One thread. */
#ifndef CONSOLE_BRAIN_RECORDING_H
#define CONSOLE_BRAIN_RECORDING_H
#include "facts/stats_snapshot.h"

enum { RECORDING_LINE_LIMIT = 4 << 20 };

/* ---- reading ---- */

struct recording;
enum recording_result { RECORDING_SAMPLE, RECORDING_BAD_LINE, RECORDING_END };

/* NULL with a sentence in why when the file can't be read. */
struct recording *recording_open(const char *path, char *why, size_t why_bytes);
void recording_close(struct recording **recording);

/* Reads the next snapshot, at_ms counted from the first one, and its time of day; or reports a bad
 * line, and why. Settings are those of the last line that had them. Cost: O(line). */
enum recording_result recording_next(struct recording *recording, struct snapshot *snapshot,
                                     int64_t *wall_ms, char *why, size_t why_bytes);

/* The last snapshot as a complete line without a newline; the caller frees it. NULL before the
 * first, and when out of memory. */
char *recording_line(const struct recording *recording);
/* The server of the last line; "" before the first. */
const char *recording_server(const struct recording *recording);
/* Share of the file that has been read. */
double recording_progress(const struct recording *recording);

/* ---- writing ---- */

/* The replies of one refresh as the server sent them. All zero: nothing yet. */
struct raw_replies {
    char *text[GROUP_COUNT];
    size_t bytes[GROUP_COUNT], capacity[GROUP_COUNT];
};
/* Copies a reply. Without memory for the copy, the line lacks the reply. */
void recording_take(struct raw_replies *raw, enum stats_group group, const char *text,
                    size_t bytes);
void recording_forget(struct raw_replies *raw); /* the memory stays for the next refresh */
void recording_fini(struct raw_replies *raw);

/* The origin of the replies. */
struct raw_about {
    const char *server, *own_version; /* own_version: slated's; "" for memcached */
    int64_t wall_ms;
};

/* The snapshot as a complete line with its newline; the caller frees it. NULL when the line cannot
 * be made. */
char *recording_complete_line(const struct raw_replies *raw, const struct raw_about *about);

/* A file under recording: complete snapshots, and between them lines of changes. */
struct recording_writer {
    int fd;     /* -1: none is open */
    bool has_begun;
    int chain;  /* a chain of slate.facts.record_line, in Lua's registry, if has_begun */
};

/* Opens a recording to append to: a new file, or one that is a recording already. False with a
 * sentence in why. */
bool recording_append_to(struct recording_writer *writer, const char *path, char *why,
                         size_t why_bytes);
/* Appends a snapshot. False with a sentence in why when not all of its line was written. */
bool recording_write(struct recording_writer *writer, const struct raw_replies *raw,
                     const struct raw_about *about, char *why, size_t why_bytes);
void recording_end(struct recording_writer *writer);
#endif
