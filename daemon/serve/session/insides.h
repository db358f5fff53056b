/* Inside the serving of requests: what the files of this folder share.
 *
 *     bytes ── parse ──> group ──> prefetch ──> classic_run, meta_run ──> replies, borrowed values
 *
 * A group fills while bytes are parsed, each request's bucket prefetched at once; when it is full,
 * or the turn ends, the items are prefetched and the requests run in order. All replies of a turn
 * lie in one run of bytes; a session's are contiguous, because sessions are added one after the
 * other. Nothing here is seen by net. */
#ifndef SLATE_SERVE_SESSION_INSIDES_H
#define SLATE_SERVE_SESSION_INSIDES_H
#include <stdint.h>

#include "proto/meta.h"
#include "proto/parse.h"
#include "proto/request.h"
#include "serve/command.h"
#include "serve/session/session.h"
#include "serve/text_out.h"
#include "serve/verbs/verbs.h"
#include "watch/watcher.h"

enum {
    GROUP_RUN = 64,      /* requests after which a group runs */
    GROUP_ROOM = 128,    /* what it holds: a get line of 64 keys need not be cut */
    TURN_REQUESTS = 2048, /* a batch of so many is full */
    TURN_SESSION_REQUESTS = 512, /* and a session that ran so many in a turn waits for its next */
    TURN_SESSIONS = 1024,
    /* requests of one session that may run before its replies are looked at … */
    SESSION_UNSEEN = 80,
    SESSION_UNSEEN_LAGGING = 2, /* … and while its client lags */
    SESSION_UNSEEN_WARY = 4,    /* … and for WARY_TURNS after any session's requests copied much */
    WARY_TURNS = 256,
    COMMAND_PIECE_US = 50, /* a long answer's piece takes so long */
    /* a session's commands of one turn: five sessions fill the turn's time for commands */
    SESSION_COMMANDS_US = BATCH_COMMANDS_US / 5,
    COPIED_MUCH_BYTES = 64 * 1024, /* a group that copied so much was long, too */
    COPIED_BYTES_US = 4096, /* copied in a microsecond, or so */
    SHRINK_TURNS = 256, /* buffers that were too large for so many turns shrink */
    REPLIES_FIRST_BYTES = 64 * 1024,
    NO_SLOT = TURN_SESSIONS,
    BIN_BYTES = 64 * 1024, /* where swallowed data blocks go */
};
_Static_assert((int)PARSE_WAIT_MAX == (int)ITEM_COPY_MAX,
               "values that are copied wait whole in the buffer");
_Static_assert((int)PARSE_GET_MAX == (int)SESSION_LINE_BYTES, "a longer line is not waited for");
_Static_assert(SESSION_UNSEEN >= GROUP_RUN, "a session may fill a group");

/* A run of bytes to send and the values between them. `bytes` and `values` belong to the batch, or
 * to output_keep. */
struct output {
    struct cache_thread       *ct;
    const char                *bytes;
    const struct output_value *values;
    size_t   at, end;               /* the next byte to send, and where they end */
    size_t   first;                 /* where they began in this turn … */
    uint32_t value_first;           /* … and the values */
    uint32_t value_next, value_end; /* the next value to send */
    uint32_t value_sent;            /* bytes of it that are sent */
    struct cache_place place;       /* and where they end in its chain */
    size_t   kept_bytes;            /* of output_keep: what it takes of memory */
};

/* A session's part in a turn. */
struct slot {
    struct session *session;
    struct output   output;
    uint64_t        value_bytes; /* borrowed ones */
    uint32_t        requests;
    uint32_t        flushed;     /* of these, up to the last mn: their replies wait for no other */
    uint32_t        commands_us; /* of its commands, in this turn */
    bool            lost; /* no memory for its replies: they are dropped and the session closes */
};

/* A large value on its way into item memory, and what to do with it then. */
struct intake {
    struct cache_draft draft;
    struct request     request; /* its key and text are copies behind this struct */
    struct meta_flags  flags;   /* of a meta command */
    struct cache_store store;
    bool               judged;
    /* not CACHE_OK: its condition did not hold when it began; it takes no memory, and is
     * answered so */
    enum cache_status  verdict;
    size_t             block_bytes; /* the value and its line end, if it has one */
    size_t             got;         /* of these */
    bool               waits; /* no more memory could be had the last time: other drafts hold it */
    bool               waited; /* it was so once */
    bool               refused; /* the cache gave its memory back: too little, or too slow */
    struct cache_place place; /* where they end in the draft's chain */
    char               line_end[2]; /* as it came; of a packet: CR LF */
};

struct cyrus;

struct session {
    struct parser       parser;
    struct intake      *intake;        /* a value being received, or NULL */
    struct command_more *more;         /* an answer that goes on in the next turn, or NULL */
    uint64_t            swallow_bytes; /* of a refused data block, still to come */
    uint64_t            turn;          /* the turn in which `slot` is its */
    uint16_t            slot;
    uint32_t            opaque;        /* of the packet to whose command `more` belongs */
    uint8_t             need;
    bool                spoke; /* its first byte has come */
    bool                plain; /* and its requests need no look at the role */
    bool                tried_login; /* its last request was a name and a password */
    uint8_t             role;           /* enum role: what it may do now … */
    uint8_t             role_otherwise; /* … after a login of a user without a role … */
    uint8_t             role_most;      /* … and with any user's */
    uint8_t             protocol;       /* enum listen_protocol */
    char               *user;           /* name@address since the login, or NULL */
    struct cyrus       *dialogue;       /* of a login by SASL, since its first step, or NULL */
    bool                lags;  /* its client is slow to take what was sent */
    /* its last requests copied much: the next run one by one, as commands do */
    bool                copies;
    /* requests that came with those at hand ran in an earlier turn, which a command ended */
    bool                piped;
    bool                closing;
    bool                quit;     /* the client said so */
    int                 fd;       /* of its connection, for those who watch; -1: none … */
    const char         *addr;     /* … and its client's address; or: - */
    struct watcher     *watcher;  /* since the watch command, or NULL */
};

struct batch {
    struct server *server;
    struct serving sv; /* what its requests run on, and their replies */
    bool     speaks_text, speaks_binary; /* -B; what a client speaks its first byte tells */
    uint32_t reqs_per_event;
    uint64_t turn;
    uint32_t requests; /* of this turn */
    /* spent on commands in this turn, and on copying values that were joined */
    uint32_t commands_us;
    uint64_t copied_bytes; /* cache_thread_copied, when it was looked at last */
    uint32_t answers_us; /* of them, pieces of answers that went on */
    bool     commands_wait; /* those that come now: others came before */
    bool     answers_wait;  /* those that go on */
    void   (*wake)(void *); /* who waits for an event is woken by this */
    void    *wake_arg;
    unsigned wary_turns; /* still */
    unsigned shrink_turns;  /* since buffers were looked at … */
    size_t   used_most, text_most; /* … and what they held at most */
    unsigned grouped;  /* requests in the group */
    int64_t  key_due;  /* requests until one's key is noted for the hot keys … */
    int64_t  key_wait; /* … and what that was after the last one */
    uint64_t key_random;
    uint32_t key_every; /* distance in the mean; 0: none is noted */
    unsigned slot_count, slot_current; /* slot_current: whose replies are being written */
    struct text_out text; /* of commands */
    struct request  group[GROUP_ROOM];
    struct index_spot spots[GROUP_ROOM]; /* of their keys */
    struct slot     slots[TURN_SESSIONS];
    char            bin[BIN_BYTES];
};
#define BATCH_COUNT(b, name) counter_add(&(b)->sv.counters->name, 1)

/* --- replies.c --- */
/* Makes `slot` the one whose replies are written, and room for one; NULL: no memory, the session is
 * lost. */
char *batch_reply_begin(struct batch *, unsigned slot);
static inline void batch_reply_end(struct batch *b, const char *end) {
    b->sv.used = (size_t)(end - b->sv.bytes);
}
/* Ends the replies of the current slot, as far as they have been written. */
void batch_settle_slot(struct batch *);
/* Puts what a command wrote behind the replies of its session. */
void batch_reply_text(struct batch *, unsigned slot);
/* The same, as packets, one or more of the answer to a packet with that opcode and opaque. */
void batch_reply_packets(struct batch *, unsigned slot, uint8_t opcode, uint32_t opaque);
/* No memory for the replies of a session, whose slot is the current one: what it has is dropped,
 * what it still asks is not run, and it closes. */
void batch_lose(struct batch *, struct slot *);
/* Borrowed values that nobody sent or kept. */
void batch_return_values(struct batch *);
/* Nothing of the last turn is in use any more. What grew for a few turns is given back. Without
 * memory for less, it stays. */
void batch_shrink_replies(struct batch *);
static inline size_t session_reply_bytes_most(const struct session *s) {
    return s->lags ? SESSION_REPLY_BYTES_LAGGING : SESSION_REPLY_BYTES;
}

/* --- run.c --- */
void batch_run_group(struct batch *);
/* The next piece of an answer that goes on. */
void batch_run_more(struct batch *, struct session *);
/* Whether much was copied since it was last asked: an append or prepend copies the whole value. It
 * counts as the time of commands. */
bool batch_copied_much(struct batch *);
void batch_note_prefixes(struct batch *); /* whether `stats detail` is on */

/* --- intake.c --- */
/* Starts receiving the value of r; the first bytes come with intake_take, and memory only then. A
 * refusal is replied and what is left of the block swallowed, here and in intake_finish: the
 * session has no intake then. All requests before it have run, here and there. */
void   intake_begin(struct batch *, struct session *s, const struct request *r);
/* Returns how many bytes it took. Fewer than n, and neither ended nor whole, or no room ahead for
 * the next: memory must be waited for. */
size_t intake_take(struct batch *, struct session *s, const char *bytes, size_t n);
/* there is no room for the value's next byte */
bool   intake_waits(const struct intake *);
/* whole or refused: intake_finish comes next */
bool   intake_ended(const struct intake *);
/* stores the value or refuses it, and replies */
void   intake_finish(struct batch *, struct session *);
void   intake_abandon(struct cache_thread *, struct session *);

/* --- login.c --- */
/* parse() of a session without a role: one request at most, which is an answer. Gives the session
 * its role when name and password are right. */
enum parsed login_parse(struct batch *, struct session *, const char *at, const char *end,
                        struct request *out, unsigned *count, char **next);
/* From now on the audit names the user, too. */
void login_take_name(struct session *, const char *name, size_t name_bytes);
/* Makes refusals of those requests that the session's role forbids. */
void login_guard(struct batch *, const struct session *, struct request *, unsigned count);

/* --- login_sasl.c --- */
/* parse() of a session without a role that speaks the binary protocol. */
enum parsed login_sasl_parse(struct session *, char *at, char *end, struct request *out,
                             unsigned *count, char **next);
/* Runs VERB_BINARY_LOGIN: the session sleeps until another thread has taken the step, or the answer
 * is written at p. Returns where it ends. */
char *login_sasl_run(struct batch *, const struct request *, char *p);

/* For audit and log: the user at its address, or the address. */
static inline const char *session_who(const struct session *s) {
    return s->user != NULL ? s->user : s->addr;
}
#endif
