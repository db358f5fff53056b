/* A stream of a server's log, by `watch` on a connection of its own: the last lines, how many came,
 * and how many the server dropped because there were too many for the server or for slatetop.
 *
 * A stream is read at most every WATCH_PAUSE_MS, WATCH_BYTES a time: a busy server costs slatetop
 * little, drops the other lines, and reports their number. No call blocks. One thread. */
#ifndef CONSOLE_LINK_WATCH_H
#define CONSOLE_LINK_WATCH_H
#include "facts/model.h"
#include "link/client.h"

enum { WATCH_LINES = 256, WATCH_LINE_BYTES = 160, WATCH_PAUSE_MS = 100 };

enum stream { STREAM_NONE, STREAM_EVICTIONS, STREAM_DELETIONS, STREAM_MUTATIONS, STREAM_FETCHERS,
              STREAM_CONNECTIONS, STREAM_COUNT };

struct watch_line {
    double at_s; /* by the server's clock */
    char text[WATCH_LINE_BYTES]; /* printable */
};

struct watch_log {
    enum stream stream;
    char note[NOTE_BYTES]; /* why no line comes; "" when lines come */
    uint64_t shown, lost; /* lines that came, and lines that the server dropped */
    unsigned line_count, newest; /* lines: a ring */
    struct watch_line lines[WATCH_LINES];
};

struct watch {
    struct watch_log *log; /* NULL: nothing is watched */
    struct client *client;
    unsigned generation; /* connection that has the stream */
    uint64_t next_ms;    /* no read before this time */
};

/* Watches a stream on a new connection, in place of the previous stream; false when out of
 * memory. */
bool watch_start(struct watch *watch, const struct address *address, const struct access *access,
                 enum stream stream);
/* Ends the previous stream and notes why no new one begins; false when out of memory. */
bool watch_refuse(struct watch *watch, enum stream stream, const char *why);
void watch_stop(struct watch *watch);
/* True when there are new lines or a new note to draw. */
bool watch_step(struct watch *watch, uint64_t now_ms);
uint64_t watch_due_ms(const struct watch *watch);
/* The client to poll; NULL while there is nothing to read. */
const struct client *watch_polled(const struct watch *watch);

/* Takes one line of a stream. */
void watch_take(struct watch_log *log, const char *text, size_t bytes);
/* The index-th newest line; NULL past the end. */
const struct watch_line *watch_line(const struct watch_log *log, unsigned index);
/* Share of the lines that were lost, 0..1. */
double watch_lost_share(const struct watch_log *log);
const char *watch_stream_name(enum stream stream);
#endif
