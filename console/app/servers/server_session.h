/* One server that slatetop watches: its connection, poller, model and past, and the events of
 * alarms and of the link; or a recording in place of the connection. No call blocks. One thread;
 * all times are monotonic milliseconds, wall_ms is the time of day. */
#ifndef CONSOLE_APP_SERVERS_SERVER_SESSION_H
#define CONSOLE_APP_SERVERS_SERVER_SESSION_H
#include "act/acting.h"
#include "brain/recording.h"
#include "facts/model.h"
#include "facts/tape.h"
#include "link/poller.h"
#include "link/watch.h"

enum { ALARM_AFTER_MS = 5000, LOAD_MS = 5 /* loading of a recording in one step */ };

/* A state of the server of which events report the beginning and the end. */
struct alarm {
    bool is_raised;
    uint64_t differs_ms; /* since when the figures contradict is_raised; 0: they agree */
};

struct session {
    struct address address;
    struct client *client;       /* NULL: a recording is replayed */
    /* the recording under loading; NULL: there is none, or all of it is on the tape */
    struct recording *recording;
    bool is_replay;
    struct poller poller;
    struct model *model;
    struct acting acting; /* the changes under way on this server, and their undo */
    struct tape *tape;
    struct raw_replies raw; /* replies of the last refresh, if stores_raw */
    bool stores_raw;
    struct recording_writer record; /* the recording's file; not open: no recording */
    char record_name[200];
    unsigned bad_lines; /* bad lines of the replayed recording */
    struct watch watch;
    struct alarm starvation[CLASS_LIMIT]; /* the class starves */
    struct alarm overrun;                 /* more memory is held than the limit allows */
    bool has_news;   /* there is something to draw; the drawer clears it */
    bool has_sample; /* a snapshot was completed; its reader clears it */
};

/* NULL when out of memory. Connects at the first session_step. The tape keeps
 * at most tape_bytes. */
struct session *session_create(const struct address *address, const struct access *access,
                               uint64_t interval_ms, size_t tape_bytes);
/* Replays a recording: loads it, LOAD_MS a step, onto the tape. NULL with a sentence in why. */
struct session *session_replay(const char *path, char *why, size_t why_bytes);
void session_destroy(struct session **session);

/* Begins to append every snapshot to a file; false with a sentence in why. A full disk ends the
 * recording with an event. */
bool session_record(struct session *session, const char *path, char *why, size_t why_bytes);

/* The last completed snapshot as a line of a recording; the caller frees it. NULL when the line
 * cannot be made. Needs stores_raw. */
char *session_line(const struct session *session, int64_t wall_ms);

/* Reads the replies that have come. Then session_take returns, one a call, the replies to lines
 * that the poller did not send (tag TAG_OTHER and up); the poller's own go into the model. Then
 * session_end requests the next refresh when it is due. */
void session_step(struct session *session, uint64_t now_ms);
bool session_take(struct session *session, struct reply *reply, uint64_t now_ms, int64_t wall_ms);
void session_end(struct session *session, uint64_t now_ms, int64_t wall_ms);

/* Sets the inquiries that the screen needs of this server beyond a refresh. */
void session_want(struct session *session, const struct wants *wants, uint64_t now_ms);

uint64_t session_due_ms(const struct session *session);

/* The time of the next try to connect; 0 when the link is up or a try is under way. */
uint64_t session_retry_ms(const struct session *session);
#endif
