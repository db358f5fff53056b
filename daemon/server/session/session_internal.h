/* The structs and functions that the files of this folder share.
 *
 *     bytes ── parse ──> group ──> prefetch ──> classic_run, meta_run ──> replies, borrowed values
 *
 * A group fills while bytes are parsed, and each request's bucket is prefetched at once. When the
 * group is full, or the turn ends, the items are prefetched, and the requests run in order. All
 * replies of a turn lie in one run of bytes. A session's replies are contiguous, because sessions
 * are added one after the other. net does not include this. */
#ifndef SLATE_SERVER_SESSION_SESSION_INTERNAL_H
#define SLATE_SERVER_SESSION_SESSION_INTERNAL_H
#include <stdint.h>

#include "protocol/meta.h"
#include "protocol/parse.h"
#include "protocol/request.h"
#include "server/commands/command.h"
#include "server/session/session.h"
#include "server/text_out.h"
#include "server/verbs/verbs.h"
#include "watch/watcher.h"

enum {
    GROUP_RUN = 64,              /* a group of so many requests runs */
    GROUP_ROOM = 128,            /* most requests of a group: 64 keys of a line stay together */
    TURN_REQUESTS = 2048,        /* a batch of so many requests is full */
    TURN_SESSION_REQUESTS = 512, /* a session that ran so many requests waits for its next turn */
    /* the same while other sessions are interactive: a request of theirs that comes during a turn
     * waits for the turn's end */
    TURN_SESSION_INTERACTIVE = 128,
    INTERACTIVE_REQUESTS_MOST =
        16,                 /* a session with at most so many requests a turn is interactive */
    INTERACTIVE_TURNS = 64, /* turns for which an interactive session is remembered */
    TURN_SESSIONS = 1024,
    /* requests of a session that may run before its replies are counted again */
    SESSION_INFLIGHT_MOST = 80,
    SESSION_INFLIGHT_MOST_SLOW_READER = 2, /* the same for a slow reader */
    SESSION_INFLIGHT_MOST_COPY_PENALTY =
        4, /* the same for COPY_PENALTY_TURNS after a session copied much */
    COPY_PENALTY_TURNS = 256,
    COMMAND_PIECE_US = 50, /* time of a piece of a long answer */
    /* a session's commands of one turn: five sessions fill the turn's time for commands */
    SESSION_COMMANDS_US = BATCH_COMMANDS_US / 5,
    COPIED_MUCH_BYTES = 64 * 1024, /* a group that copied so much took long */
    COPIED_BYTES_US = 4096,        /* bytes copied in a microsecond, roughly */
    SHRINK_TURNS = 256,            /* buffers that were too large for so many turns shrink */
    REPLIES_FIRST_BYTES = 64 * 1024,
    NO_SLOT = TURN_SESSIONS,
    BIN_BYTES = 64 * 1024, /* receives data blocks that are dropped */
};
_Static_assert((int)PARSE_WAIT_MAX == (int)ITEM_COPY_MAX,
               "values that are copied wait whole in the buffer");
_Static_assert((int)PARSE_GET_MAX == (int)SESSION_LINE_BYTES, "a longer line is not waited for");
_Static_assert(SESSION_INFLIGHT_MOST >= GROUP_RUN, "a session may fill a group");

/* A run of bytes to send, with values in between. `bytes` and `values` belong to the batch or,
 * after output_save, to this struct. */
struct output {
    struct cache_thread       *ct;
    const char                *bytes;
    const struct output_value *values;
    size_t   at, end;               /* the next byte to send, and the end of the bytes */
    size_t   first;                 /* `at` at the start of the turn */
    uint32_t value_first;           /* value_next at the start of the turn */
    uint32_t value_next, value_end; /* the next value to send */
    uint32_t value_sent;            /* sent bytes of that value */
    struct cache_place place;       /* where value_sent ends in the value's chain */
    size_t   saved_bytes;            /* memory of saved output; 0: not saved */
};

/* A session's part in a turn. */
struct slot {
    struct session *session;
    struct output   output;
    uint64_t        value_bytes; /* bytes of the borrowed values */
    uint32_t        requests;
    /* requests up to the last mn: their replies are sent without waiting for others */
    uint32_t        flushed_requests;
    uint32_t        commands_us; /* time of the session's commands in this turn */
    /* memory for replies ran out: the replies are dropped, and the session closes */
    bool            lost;
};

/* A large value on its way into item memory, and the arguments of its store. */
struct session_upload {
    struct cache_upload cache_upload;
    struct request     request; /* copies of its key and text lie behind this struct */
    struct meta_flags  flags;   /* of a meta command */
    struct cache_store store;
    bool               precheck_done;
    /* not CACHE_OK: the store's condition did not hold at the start: the value takes no memory, and
     * this is the result */
    enum cache_status  precheck;
    size_t             block_bytes; /* bytes of the value and of its line end, if any */
    size_t             received_bytes;         /* how many of these have come */
    bool               waits; /* the last try found no memory: other uploads hold it */
    bool               waited; /* the value has waited at least once */
    bool               refused; /* the value's memory was freed: its bytes came too slowly */
    struct cache_place place; /* where the received bytes end in the item's chain */
    char               line_end[2]; /* the received line end; after a packet's value: CR LF */
};

struct cyrus;

struct session {
    struct parser       parser;
    struct session_upload      *upload;        /* the value being received, or NULL */
    struct command_more *more;         /* a long answer that is not done, or NULL */
    uint64_t            swallow_bytes; /* bytes of a refused data block that are still to come */
    uint64_t            turn;          /* the turn to which `slot` belongs */
    uint16_t            slot;
    uint32_t            opaque;        /* of the packet to which `more` replies */
    uint8_t             opcode;        /* of the same packet */
    uint8_t             need;
    bool                last_turn_long; /* the last turn ran many requests */
    bool                protocol_known; /* the client's first byte has come */
    bool                unguarded; /* the role allows all requests */
    bool                login_tried; /* the last request was a name and a password */
    uint8_t             role;           /* enum role: the role now */
    /* enum role: the role after a login of a user without a role */
    uint8_t             role_default;
    uint8_t             role_most;      /* enum role: the highest role after a login */
    uint8_t             protocol;       /* enum listen_protocol */
    char               *user;           /* name@address after a login, or NULL */
    struct cyrus       *dialogue;       /* a login by SASL that has begun, or NULL */
    bool                slow_reader;  /* the client takes replies slowly */
    /* the last requests copied much: the next ones run one by one, within the time for commands */
    bool                serialize_next;
    /* a command ended an earlier turn, and requests that came together with it are still to run */
    bool                pipelined;
    bool                closing;
    bool                quit;     /* the client has sent quit */
    int                 fd;       /* the connection's, for events; -1: none */
    const char         *addr;     /* the client's address, or "-" */
    struct watcher     *watcher;  /* after the watch command, or NULL */
};

struct batch {
    struct server *server;
    struct serving sv; /* the cache and counters of requests, and their replies */
    /* the protocols that -B allows; a client's first byte shows its protocol */
    bool     speaks_text, speaks_binary;
    uint32_t reqs_per_event;
    uint32_t shares_from; /* while the batch has room a session may run more than this */
    uint64_t turn;
    uint32_t requests; /* of this turn */
    /* time of this turn's commands, and of copying joined values */
    uint32_t commands_us;
    uint64_t copied_bytes; /* cache_thread_copied at the last check */
    uint32_t answers_us; /* the part of commands_us that pieces of long answers took */
    /* further commands wait, because commands of other sessions came first */
    bool     commands_wait;
    bool     answers_wait;  /* pieces of long answers wait */
    void   (*wake)(void *); /* wakes the worker when another thread has made a reply */
    void    *wake_arg;
    unsigned copy_penalty_turns; /* turns with few requests in flight a session */
    unsigned interactive_turns; /* turns for which an interactive session is known */
    unsigned shrink_turns;  /* turns since the last check of the buffers */
    size_t   used_most, text_most; /* most bytes in the buffers since that check */
    unsigned grouped;  /* requests in the group */
    int64_t  key_due;  /* requests of small groups until the next key is sampled */
    uint32_t key_wait; /* those from the sample before to that one */
    uint64_t key_random;
    uint32_t key_every; /* mean distance of sampled keys; 0: sampling is off */
    unsigned slot_count, slot_current; /* slot_current: of the replies being written */
    struct text_out text; /* text of commands */
    struct request  group[GROUP_ROOM];
    /* where the index has the keys of the group's requests */
    struct index_hint hints[GROUP_ROOM];
    struct slot     slots[TURN_SESSIONS];
    char            bin[BIN_BYTES];
};
#define BATCH_COUNT(b, name) counter_add(&(b)->sv.counters->name, 1)

/* --- replies.c --- */
/* Makes `slot` the current slot, and makes room for one reply. Returns where to write the reply.
 * NULL: no memory; the session has lost its replies. */
char *batch_reply_begin(struct batch *, unsigned slot);
static inline void batch_reply_end(struct batch *b, const char *end) {
    b->sv.used = (size_t)(end - b->sv.bytes);
}
/* Ends the current slot's replies behind the bytes written so far. */
void batch_settle_replies(struct batch *);
/* Appends a command's text to its session's replies. */
void batch_reply_text(struct batch *, unsigned slot);
/* The same as packets: one or more replies to a packet with this opcode and opaque. */
void batch_reply_packets(struct batch *, unsigned slot, uint8_t opcode, uint32_t opaque);
/* There is no memory for the replies of the current slot: drops its replies, runs no further
 * requests of its session, and closes the session. */
void batch_lose_replies(struct batch *, struct slot *);
/* Called while no buffer is in use. Shrinks buffers that were larger than needed; without memory
 * for smaller ones they stay. */
void batch_shrink_replies(struct batch *);
static inline size_t session_reply_bytes_most(const struct session *s) {
    return s->slow_reader ? SESSION_REPLY_BYTES_SLOW_READER : SESSION_REPLY_BYTES;
}

/* --- output.c --- */
/* Returns the borrowed values of the output to the cache. */
void output_return_values(struct output *, const struct output_value *values);

/* --- batch_run.c --- */
void batch_run_group(struct batch *);
/* Writes the next piece of a long answer. */
void batch_run_more(struct batch *, struct session *);
/* True: much was copied since the last call (an append or prepend copies the whole value). Copying
 * counts as time of commands. */
bool batch_copied_much(struct batch *);

/* --- session_upload.c --- */
/* Starts receiving the value of r. session_upload_take brings the first bytes, and takes memory
 * only then. Both this function and session_upload_finish reply a refusal, and swallow the rest of
 * the block: then the session has no upload. All requests before r have run. */
void   session_upload_begin(struct batch *, struct session *s, const struct request *r);
/* Takes bytes of the value, and returns how many. Takes fewer than n bytes of an unfinished value
 * when there is no room: then the value must wait for memory. */
size_t session_upload_take(struct batch *, struct session *s, const char *bytes, size_t n);
/* True: the value is complete, or refused. Call session_upload_finish then. */
bool   session_upload_ended(const struct session_upload *);
/* Stores or refuses the value, and replies. */
void   session_upload_finish(struct batch *, struct session *);
void   session_upload_abandon(struct cache_thread *, struct session *);

/* --- login.c --- */
/* The parser of a session without a role. Returns at most one request, a reply. Gives the session
 * its role when name and password are right. */
enum parsed login_parse(struct batch *, struct session *, const char *at, const char *end,
                        struct request *out, unsigned *count, char **next);
/* Turns requests that the session's role forbids into refusals. */
void login_guard(struct batch *, const struct session *, struct request *, unsigned count);

/* --- login_sasl.c --- */
/* The same for the binary protocol. */
enum parsed login_sasl_parse(struct session *, char *at, char *end, struct request *out,
                             unsigned *count, char **next);
/* Runs VERB_BINARY_LOGIN: the session sleeps until another thread has done the step, or an error is
 * written at p. Returns the end of the reply. */
char *login_sasl_run(struct batch *, const struct request *, char *p);

/* Returns the client's name for audit and log: user@address, or the address alone. */
static inline const char *session_who(const struct session *s) {
    return s->user != NULL ? s->user : s->addr;
}
#endif
