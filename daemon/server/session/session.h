/* A connection's protocol state without a socket: bytes in, replies out. TCP, UNIX sockets, UDP and
 * unit tests all drive this.
 *
 * A worker gathers the bytes of every connection that is ready in a turn into one batch, runs the
 * batch, and sends each session's output:
 *
 *     cache_turn_begin(ct); batch_begin(batch);
 *     for each ready connection: used = batch_add(batch, session, bytes, n);
 *     batch_run(batch);                                // until here the bytes stay as they are
 *     for each: out = batch_output(batch, session); output_iov, send, output_sent;
 *               output_save                            // saves unsent bytes
 *     batch_end(batch); cache_turn_end(ct);
 *
 * batch_add parses, and runs a group of requests whenever one is full; batch_run runs the last
 * group. The buckets and items of a group are prefetched, then its requests run in order, so
 * requests of a session run in their order. A session is added once a turn.
 *
 * Limits of a session in a turn: reqs_per_event requests, or up to 512 while the batch has run
 * fewer than 2048; each key of a get line counts. The turn also ends once the session's commands
 * (anything but reading, storing and counting keys) have taken a fifth of the time for commands,
 * after a command whose answer continues, and once the replies reach SESSION_REPLY_BYTES with
 * borrowed values. The requests that run before replies are counted again add less than 192 KiB of
 * copies. A slow reader has SESSION_REPLY_BYTES_SLOW_READER, and two requests. A session whose
 * requests have copied much (an append to a large value) runs them one at a time, within the time
 * for commands.
 *
 * Limits of a batch: it is full with 2048 requests or BATCH_FULL_BYTES of replies, and runs
 * commands for BATCH_COMMANDS_US; commands of other sessions then wait for the next turn.
 *
 * Errors: without memory for its replies a session loses them and closes; without memory for a
 * value it replies so. Threading: a session and a batch belong to one worker thread. Cost: no
 * allocation, lock or system call, except one allocation for a value that is received in pieces. */
#ifndef SLATE_SERVER_SESSION_SESSION_H
#define SLATE_SERVER_SESSION_SESSION_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "server/auth/role.h"
#include "server/config/listen_list.h"
#include "server/server.h"

struct session;
struct batch;

/* NULL: out of memory. Takes a few dozen bytes. */
struct session *session_create(void);
void            session_destroy(struct session **, struct batch *); /* drops a half-read value */

struct batch *batch_create(struct server *, struct cache_thread *, struct serve_counters *);
void          batch_destroy(struct batch **);

enum session_need {
    SESSION_NEED_BYTES, /* unused bytes are the start of a request: save them, receive more */
    /* after batch_run: pass value bytes by session_value_* until all have come */
    SESSION_NEED_VALUE,
    /* a value waits for memory that others hold: receive nothing, and call batch_add with the
     * unused bytes a little later */
    SESSION_NEED_MEMORY,
    /* there is more to run: call batch_add with the unused bytes, if any, in the next turn */
    SESSION_NEED_TURN,
    /* a command, or a long answer (session_answer_continues), waits: call batch_add with the unused
     * bytes in a turn in which batch_has_time */
    SESSION_NEED_COMMAND_TIME,
    /* another thread makes the reply: call batch_add after the function of batch_on_event */
    SESSION_NEED_WAKE,
    /* a get line or a login is longer than `n`: grow the buffer, up to SESSION_LINE_BYTES and a
     * receive */
    SESSION_NEED_ROOM,
    SESSION_CLOSE, /* send the output, then hang up */
    /* send the output, then call session_watch; drop later bytes */
    SESSION_WATCHES,
};
enum {
    SESSION_LINE_BYTES = 64 * 1024,
    SESSION_REPLY_BYTES = 64 * 1024,
    SESSION_REPLY_BYTES_SLOW_READER = 4 * 1024,
    BATCH_FULL_BYTES = 256 * 1024,
    BATCH_COMMANDS_US = 250,
};
/* Sets the function that wakes the worker. Any thread calls it when the reply that a session waits
 * for (SESSION_NEED_WAKE) may be ready. Before the first turn. */
void   batch_on_event(struct batch *, void (*wake)(void *), void *arg);
void   batch_begin(struct batch *);
/* Returns borrowed values that were neither sent nor saved, because their client is gone.
 * batch_begin does so, too, but the next turn may be far off. */
void   batch_end(struct batch *);
bool   batch_full(const struct batch *);
bool   batch_has_time(const struct batch *); /* for another command in this turn */
/* Makes further commands of this turn wait, because commands of other sessions came first. */
void   batch_defer_commands(struct batch *);
/* Makes long answers wait in this turn. */
void   batch_defer_answers(struct batch *);
/* About the turn that ends: how long pieces of long answers took, and whether there were other
 * requests. */
uint32_t batch_answers_us(const struct batch *);
bool   batch_has_interactive(const struct batch *);
/* Parses requests out of n bytes. Returns how many bytes they took. The buffer has 64 readable
 * bytes behind the n bytes. */
size_t batch_add(struct batch *, struct session *, char *bytes, size_t n);
void   batch_run(struct batch *);
/* Valid after batch_run, or after a batch_add that added nothing. */
enum session_need session_need(const struct session *);

/* A slow reader has taken little of what was sent. Its session's turns are short. */
void session_set_slow_reader(struct session *, bool slow_reader);
bool session_is_slow_reader(const struct session *);

/* Sets the connection's descriptor, which events show, and the client's address, which the audit
 * shows. `addr` outlives the session. Default: -1 and "-". */
void session_set_client(struct session *, int fd, const char *addr);
/* Makes the logger write watched events to `fd`, until session_destroy. False: no descriptor; hang
 * up. */
bool session_watch(struct session *, int fd);
/* The listener's rules for a session: the protocol, and `role`. With must_log_in the session has no
 * role until a login; then it has the user's role, or `role` if the user has none, but at most
 * `most`. Set before the first bytes. Without rules a session may do all. */
struct session_access {
    enum role role, most;
    bool      must_log_in;
    enum listen_protocol protocol;
};
void session_set_access(struct session *, const struct session_access *);
/* The client has proven this name, which has this role, by a login or by a certificate. From now on
 * the audit shows the name. */
void session_let_in(struct session *, const char *name, size_t name_bytes, enum role);
/* After SESSION_NEED_WAKE. True: the reply is useless once the client has shut its sending side. */
bool session_ends_with_client(const struct session *);
bool session_answer_continues(const struct session *); /* a long answer is not done */
/* After SESSION_CLOSE. True: the client has sent quit. */
bool session_client_quit(const struct session *);

/* True: a value is coming that holds memory. */
bool session_value_holds_memory(const struct session *);
/* Returns the cache's record of the value that is coming; NULL: none is coming. */
const struct cache_upload *session_value_upload(const struct session *);
/* Notes that all bytes of a waiting value have come, though not all were received. False: this was
 * known, or no value waits. */
bool session_value_arrived(struct session *);
/* Returns how many bytes of a value are still to come, with its line end. */
size_t session_value_left(const struct session *);
/* True: bytes saved for SESSION_NEED_BYTES are a complete request except for its value. */
bool session_waits_for_value(const struct session *, const char *bytes, size_t n);
/* The value's bytes did not come in time: frees the value's memory. The next batch_add refuses the
 * value. Inside a cache turn. */
void session_value_time_out(struct session *, struct batch *);
/* session_value_iov returns where the bytes of a large value may be received in place, as far as
 * there is memory; pass further bytes to batch_add. session_value_got reports n received bytes.
 * Once the value is complete, the next batch_add runs its store, and needs no bytes for that. Data
 * blocks that are dropped go the same way, into a bin. */
int  session_value_iov(struct session *, struct batch *, struct iovec *, int max);
void session_value_got(struct session *, size_t n);

/* --- output: bytes and borrowed values, in order --- */
struct output;
/* NULL: nothing to send. Valid until batch_end. */
struct output *batch_output(struct batch *, struct session *);
size_t output_bytes(const struct output *);                    /* left to send */
int    output_iov(struct output *, struct iovec *, int max);
/* returns borrowed values that are fully sent to the cache */
void   output_sent(struct output *, size_t n);
/* Moves unsent output, and `text` behind it, to memory of its own, so that the output survives the
 * turn. NULL: out of memory (then drop the connection). output_saved_bytes returns how much memory
 * that will take without the text or, of saved output, how much it took. */
struct output *output_save(struct output *, const char *text);
size_t         output_saved_bytes(const struct output *);
/* Drops unsent output, but for the end of the line, or value, that has begun to be sent. An error
 * line may follow there, even in the middle of a multi-get. The next `begun_bytes` count as begun.
 * False: the output is packets, and is unchanged. Not for saved output. */
bool output_cut(struct output *, size_t begun_bytes);
/* Frees saved output, and returns its borrowed values to the cache. */
void   output_destroy(struct output **);
#endif
