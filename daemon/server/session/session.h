/* A connection's protocol life without a socket: bytes in, replies out. TCP, UNIX sockets and unit
 * tests all drive this.
 *
 * A worker gathers the bytes of every connection that is ready in a turn into one batch, runs it,
 * and sends each session's output:
 *
 *     cache_turn_begin(ct); batch_begin(batch);
 *     for each ready connection: used = batch_add(batch, session, bytes, n);
 *     batch_run(batch);                                // until here the bytes stay as they are
 *     for each: out = batch_output(batch, session); output_iov, send, output_sent;
 *               output_keep                            // keeps what is left to be sent
 *     batch_end(batch); cache_turn_end(ct);
 *
 * batch_add parses, and runs a group of requests whenever one is full; batch_run runs the last. A
 * group's buckets and items are prefetched, then its requests run in order, so those of one session
 * keep theirs. A session is added once a turn. Limits of a turn, for a session: reqs_per_event
 * requests, or up to 512 while the batch has run fewer than 2048; each key of a get line counts. It
 * ends once its commands (anything but reading, storing and counting keys) have taken a fifth of
 * the time for commands, with one whose answer goes on, and once the replies come to
 * SESSION_REPLY_BYTES, borrowed values included: what runs together before they are looked at
 * adds less than 192 KiB of copies. A session whose client lags is held to
 * SESSION_REPLY_BYTES_LAGGING, and two requests. One whose requests copied much, as an append to a
 * large value does, runs one at a time, within the time for commands. For the batch: it is full
 * with 2048 requests or BATCH_FULL_BYTES of replies, and it runs commands for BATCH_COMMANDS_US;
 * those of other sessions then wait for the next turn. Errors: without memory for its replies a
 * session loses them and closes; without memory for a value it answers so. Threading: a session and
 * a batch belong to one worker thread. Cost: no allocation, lock or system call of their own, but
 * one allocation for a value that is received piece by piece. */
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

/* NULL: out of memory. A few dozen bytes */
struct session *session_create(void);
void            session_destroy(struct session **, struct batch *); /* abandons a half-read value */

struct batch *batch_create(struct server *, struct cache_thread *, struct serve_counters *);
void          batch_destroy(struct batch **);

enum session_need {
    SESSION_NEED_BYTES, /* what was not used is the start of a request: keep it, read more */
    /* after batch_run: the session takes value bytes by session_value_* until it has them all */
    SESSION_NEED_VALUE,
    /* a value waits for memory that others hold: receive nothing, call batch_add with the rest a
     * little later */
    SESSION_NEED_MEMORY,
    /* there is more to run: call batch_add with the rest, which may be nothing, in the next turn */
    SESSION_NEED_TURN,
    /* the same, and it is a command, or an answer that goes on (session_answers): in a turn in
     * which batch_has_time */
    SESSION_NEED_COMMAND,
    /* its answer waits for another thread: the same, once what batch_on_event was given has been
     * called */
    SESSION_NEED_EVENT,
    /* a request longer than `n`: only a get line and a login are; grow the buffer, to
     * SESSION_LINE_BYTES and a receive */
    SESSION_NEED_ROOM,
    SESSION_CLOSE,      /* send the output, then hang up */
    /* send the output, then session_watch(); bytes that come later are nobody's */
    SESSION_WATCHES,
};
enum {
    SESSION_LINE_BYTES = 64 * 1024,
    SESSION_REPLY_BYTES = 64 * 1024,
    SESSION_REPLY_BYTES_LAGGING = 4 * 1024,
    BATCH_FULL_BYTES = 256 * 1024,
    BATCH_COMMANDS_US = 250,
};
/* What wakes the worker: called from any thread, when the answer that a session waits for
 * (SESSION_NEED_EVENT) may be there. Before the first turn. */
void   batch_on_event(struct batch *, void (*wake)(void *), void *arg);
void   batch_begin(struct batch *);
/* Ends the borrowing of values that were neither sent nor kept, because their client is gone. The
 * next turn, which would do so, too, may be far off. */
void   batch_end(struct batch *);
bool   batch_full(const struct batch *);
bool   batch_has_time(const struct batch *); /* for another command in this turn */
/* From now on, in this turn, commands wait: other sessions came before with theirs. */
void   batch_defer_commands(struct batch *);
/* In this turn answers that go on wait. */
void   batch_defer_answers(struct batch *);
/* Of the turn that ends: how long pieces of answers took, and whether sessions asked for something
 * else beside them. */
uint32_t batch_answers_us(const struct batch *);
bool   batch_asked_beside(const struct batch *);
/* Parses requests out of n bytes; returns how many bytes they took. The buffer has 64 readable
 * bytes beyond n. */
size_t batch_add(struct batch *, struct session *, char *bytes, size_t n);
void   batch_run(struct batch *);
/* true after batch_run, or after batch_add when it added nothing */
enum session_need session_need(const struct session *);

/* Whether much of what was sent still waits for the client to take it: then the session's turns are
 * short. */
void session_set_lags(struct session *, bool lags);
bool session_lags(const struct session *);

/* The connection's descriptor, as events tell it to those who watch, and the client's address, as
 * the audit tells it; `addr` outlives the session. Before: -1 and "-". */
void session_set_client(struct session *, int fd, const char *addr);
/* Lets the logger write what is watched to `fd`, until session_destroy. False: no descriptor; hang
 * up. */
bool session_watch(struct session *, int fd);
/* What its listener says: what it speaks, and that the session has `role`; or, when it has to log
 * in, none until then, and the user's role after it, or `role` where the user has none, but no more
 * than `most`. Before its first bytes; else it may do all. */
struct session_access {
    enum role role, most;
    bool      must_log_in;
    enum listen_protocol protocol;
};
void session_set_access(struct session *, const struct session_access *);
/* Its client has proven this name, which has this role: by a login, or by a certificate. From now
 * on the audit names the client so. */
void session_let_in(struct session *, const char *name, size_t name_bytes, enum role);
/* After SESSION_NEED_EVENT: whether nobody needs the answer once the client has ended its
 * sending. */
bool session_ends_with_client(const struct session *);
bool session_answers(const struct session *); /* an answer goes on */
/* After SESSION_CLOSE: whether it was the client's wish. */
bool session_quit(const struct session *);

/* Whether a value is coming that holds memory. */
bool session_holds_draft(const struct session *);
/* Of a value that is coming; NULL: none is. */
const struct cache_upload *session_draft(const struct session *);
/* Says of a value that waits for memory that all its bytes have come, though not all were received.
 * False: that was known, or none waits. */
bool session_value_arrived(struct session *);
/* How many bytes of a value are still to come, its line end counted. */
size_t session_value_left(const struct session *);
/* Of bytes that are kept for SESSION_NEED_BYTES: whether they are a request but for its value. */
bool session_waits_for_value(const struct session *, const char *bytes, size_t n);
/* The value's bytes did not come for too long: gives its memory back; the next batch_add refuses
 * it. Inside a cache turn. */
void session_value_late(struct session *, struct batch *);
/* A large value's bytes may land where they will stay. After session_value_got(n) either more is
 * wanted or the value is complete and its store runs with the next batch_add (which may have no
 * bytes at all). Swallowed data blocks go the same way, into a bin. Pieces are given for as much as
 * there is memory for; the rest of what comes goes to batch_add. */
int  session_value_iov(struct session *, struct batch *, struct iovec *, int max);
void session_value_got(struct session *, size_t n);

/* --- what a session has to send: bytes and borrowed values, in order --- */
struct output;
/* NULL: nothing to send. Valid until batch_end. */
struct output *batch_output(struct batch *, struct session *);
size_t output_bytes(const struct output *);                    /* left to send */
int    output_iov(struct output *, struct iovec *, int max);
/* returns borrowed values that are fully sent */
void   output_sent(struct output *, size_t n);
/* What is left, and `text` behind it, moved to memory of its own so that it survives the turn;
 * NULL: out of memory (then drop the connection). output_keep_bytes tells beforehand how much that
 * takes without the text, and of a kept one how much it took. */
struct output *output_keep(struct output *, const char *text);
size_t         output_keep_bytes(const struct output *);
/* Drops what is left but for the end of the line, or value, that has begun to be sent: there a line
 * that says why may follow, in the middle of a multi-get, too. The next `begun_bytes` count as
 * begun. False: packets are left, and nothing has changed. Not of a kept one. */
bool output_cut(struct output *, size_t begun_bytes);
/* of output_keep; returns what is still borrowed */
void   output_destroy(struct output **);
#endif
