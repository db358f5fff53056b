/* One server that is watched: its connection, its poller, its model and its past, and the events
 * that come of how they go; or a recording in the place of the connection. No call blocks. One
 * thread; all times are monotonic milliseconds, wall_ms is the time of day. */
#ifndef CONSOLE_APP_SESSION_H
#define CONSOLE_APP_SESSION_H
#include "act/acting.h"
#include "brain/recording.h"
#include "facts/model.h"
#include "facts/tape.h"
#include "link/poller.h"
#include "link/watch.h"

enum { ALARM_AFTER_MS = 5000, LOAD_MS = 5 /* of a recording in one step */ };

/* What the events say of something that comes and goes. */
struct alarm {
    bool is_raised;
    uint64_t differs_ms; /* since when the figures say otherwise; 0: they agree */
};

struct session {
    struct address address;
    struct client *client;       /* NULL: a recording is replayed */
    /* being loaded; NULL when there is none, or all of it is on the tape */
    struct recording *recording;
    bool is_replay;
    struct poller poller;
    struct model *model;
    struct acting acting; /* what is changed there, and how it goes back */
    struct tape *tape;
    struct raw_replies raw; /* of the last refresh, when keeps_raw */
    bool keeps_raw;
    struct recording_writer record; /* what is recorded is appended to it; none open: nothing is */
    char record_name[200];
    unsigned bad_lines; /* of the recording that is replayed */
    struct watch watch;
    struct alarm starvation[CLASS_LIMIT]; /* the class starves */
    struct alarm overrun;                 /* more memory is held than the limit allows */
    bool has_news;   /* something to draw; whoever draws clears it */
    bool has_sample; /* a snapshot was completed; whoever wants to know clears it */
};

/* NULL when out of memory. Connects at the first session_step. The tape keeps
 * at most tape_bytes. */
struct session *session_create(const struct address *address, const struct access *access,
                               uint64_t interval_ms, size_t tape_bytes);
/* Replays a recording: loads it, LOAD_MS a step, onto the tape. NULL with a sentence in why. */
struct session *session_replay(const char *path, char *why, size_t why_bytes);
void session_destroy(struct session **session);

/* Begins to append every snapshot to a file; false with a sentence in why. A disk that is full ends
 * it with an event. */
bool session_record(struct session *session, const char *path, char *why, size_t why_bytes);

/* The snapshot that was completed last, as a whole line of a recording, which the caller frees;
 * NULL when it cannot be made. Needs keeps_raw. */
char *session_line(const struct session *session, int64_t wall_ms);

/* Reads what has come. Then session_take hands out, one a call, the replies to what others than the
 * poller sent (tag TAG_OTHER and up); the poller's own go into the model. Then session_end asks for
 * the next refresh when it is due. */
void session_step(struct session *session, uint64_t now_ms);
bool session_take(struct session *session, struct reply *reply, uint64_t now_ms,
                  int64_t wall_ms);
void session_end(struct session *session, uint64_t now_ms, int64_t wall_ms);

/* What is on the screen of it beyond a refresh. */
void session_want(struct session *session, const struct wants *wants, uint64_t now_ms);

uint64_t session_due_ms(const struct session *session);

/* Time of the next try to connect; 0 when the link is up or a try is under way. */
uint64_t session_retry_ms(const struct session *session);
#endif
