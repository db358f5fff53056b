/* Inside the serving of requests: what the files of this folder share.
 *
 *     bytes ── parse ──> group ──> prefetch ──> classic_run, meta_run ──> replies, borrowed values
 *
 * A group fills while bytes are parsed, each request's bucket prefetched at once; when it is full,
 * or the turn ends, the items are prefetched and the requests run in order. All replies of a turn
 * lie in one run of bytes; a session's are contiguous, because sessions are added one after the
 * other. Nothing here is seen by net. */
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
    GROUP_RUN = 64,      /* requests after which a group runs */
    GROUP_ROOM = 128,    /* what it holds: a get line of 64 keys need not be cut */
    TURN_REQUESTS = 2048, /* a batch of so many is full */
    TURN_SESSION_REQUESTS = 512, /* and a session that ran so many in a turn waits for its next */
    /* … or so many, while other sessions ask for little: a request of theirs that comes in a turn
     * waits for the turn's end */
    TURN_SESSION_BESIDE = 128,
    ASKS_LITTLE = 16,   /* a session asks for little if its turn has at most so many requests */
    BESIDE_TURNS = 64,  /* turns for which such a session is remembered */
    TURN_SESSIONS = 1024,
    /* requests of one session that may run before its replies are looked at … */
    SESSION_UNSEEN = 80,
    SESSION_UNSEEN_LAGGING = 2, /* … while its client lags … */
    SESSION_UNSEEN_WARY = 4,    /* … and for WARY_TURNS after requests of any session copied much */
    WARY_TURNS = 256,
    COMMAND_PIECE_US = 50, /* the time of a piece of a long answer */
    /* a session's commands of one turn: five sessions fill the turn's time for commands */
    SESSION_COMMANDS_US = BATCH_COMMANDS_US / 5,
    COPIED_MUCH_BYTES = 64 * 1024, /* a group that copied so much took long, too */
    COPIED_BYTES_US = 4096, /* bytes that are copied in a microsecond, roughly */
    SHRINK_TURNS = 256, /* buffers that were too large for so many turns shrink */
    REPLIES_FIRST_BYTES = 64 * 1024,
    NO_SLOT = TURN_SESSIONS,
    BIN_BYTES = 64 * 1024, /* room for data blocks that are swallowed */
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
    size_t   at, end;               /* the next byte to send, and the end of the bytes */
    size_t   first;                 /* where the bytes began in this turn … */
    uint32_t value_first;           /* … and the values */
    uint32_t value_next, value_end; /* the next value to send */
    uint32_t value_sent;            /* bytes of it that are sent */
    struct cache_place place;       /* and where they end in its chain */
    size_t   kept_bytes;            /* memory that output_keep took for it */
};

/* A session's part in a turn. */
struct slot {
    struct session *session;
    struct output   output;
    uint64_t        value_bytes; /* bytes of the borrowed values */
    uint32_t        requests;
    /* bytes up to the reply of the last mn: they wait for no other reply */
    uint32_t        flushed;
    uint32_t        commands_us; /* time of its commands in this turn */
    /* there was no memory for its replies: they are dropped, and the session closes */
    bool            lost;
};

/* A large value on its way into item memory, and what to do with it then. */
struct intake {
    struct cache_upload draft;
    struct request     request; /* its key and text are copies that lie behind this struct */
    struct meta_flags  flags;   /* of a meta command */
    struct cache_store store;
    bool               judged;
    /* not CACHE_OK: its condition did not hold when it began; it takes no memory, and this is its
     * answer */
    enum cache_status  verdict;
    size_t             block_bytes; /* bytes of the value and its line end, if it has one */
    size_t             got;         /* how many of them have come */
    bool               waits; /* the last try found no memory: other drafts hold it */
    bool               waited; /* it has waited at least once */
    bool               refused; /* the cache took its memory back: too little came, or too slowly */
    struct cache_place place; /* where the bytes that came end in the draft's chain */
    char               line_end[2]; /* the line end as it came; after a packet's value: CR LF */
};

struct cyrus;

struct session {
    struct parser       parser;
    struct intake      *intake;        /* a value being received, or NULL */
    struct command_more *more;         /* an answer that goes on in the next turn, or NULL */
    uint64_t            swallow_bytes; /* bytes of a refused data block that are still to come */
    uint64_t            turn;          /* the turn to which `slot` belongs */
    uint16_t            slot;
    uint32_t            opaque;        /* of the packet whose command's answer is `more` … */
    uint8_t             opcode;        /* … and its opcode */
    uint8_t             need;
    bool                asked_much; /* its share of its last turn was full */
    bool                spoke; /* the client's first byte has come */
    bool                plain; /* its requests need no look at its role */
    bool                tried_login; /* its last request was a name and a password */
    uint8_t             role;           /* what it may do now, an enum role … */
    /* … after a login of a user who has no role of their own … */
    uint8_t             role_otherwise;
    uint8_t             role_most;      /* … and at most, whoever the user is */
    uint8_t             protocol;       /* enum listen_protocol */
    char               *user;           /* name@address since the login, or NULL */
    struct cyrus       *dialogue;       /* of a login by SASL, since its first step, or NULL */
    bool                lags;  /* its client takes what was sent slowly */
    /* its last requests copied much: the next ones run one by one, as commands do */
    bool                copies;
    /* requests that arrived together with those at hand ran in an earlier turn, which a command
     * ended */
    bool                piped;
    bool                closing;
    bool                quit;     /* the client asked to be hung up on */
    int                 fd;       /* of its connection, for those who watch; -1: none … */
    const char         *addr;     /* … and its client's address; or: - */
    struct watcher     *watcher;  /* since the watch command, or NULL */
};

struct batch {
    struct server *server;
    struct serving sv; /* what its requests run on, and their replies */
    /* the protocols that -B allows; a client's first byte tells which one it speaks */
    bool     speaks_text, speaks_binary;
    uint32_t reqs_per_event;
    uint32_t shares_from; /* a session gets a share above this while the batch has room */
    uint64_t turn;
    uint32_t requests; /* of this turn */
    /* time that this turn spent on commands, and on copying values that were joined */
    uint32_t commands_us;
    uint64_t copied_bytes; /* cache_thread_copied at the last look */
    uint32_t answers_us; /* the part of it that pieces of long answers took */
    /* commands that come now wait: other sessions came before with theirs */
    bool     commands_wait;
    bool     answers_wait;  /* pieces of long answers wait */
    void   (*wake)(void *); /* wakes the worker for sessions that wait for another thread */
    void    *wake_arg;
    unsigned wary_turns; /* turns for which sessions may run only few requests unseen */
    unsigned beside_turns; /* turns for which some session is known to ask for little */
    unsigned shrink_turns;  /* since buffers were looked at … */
    size_t   used_most, text_most; /* and the most that the buffers held since then */
    unsigned grouped;  /* requests in the group */
    int64_t  key_due;  /* requests until the next key is noted for the hot keys … */
    int64_t  key_wait; /* … and what that number was after the last one */
    uint64_t key_random;
    uint32_t key_every; /* the mean distance of such keys; 0: none is noted */
    unsigned slot_count, slot_current; /* slot_current: the slot whose replies are being written */
    struct text_out text; /* text that commands write */
    struct request  group[GROUP_ROOM];
    /* where the keys of the group's requests lie in the index */
    struct index_hint spots[GROUP_ROOM];
    struct slot     slots[TURN_SESSIONS];
    char            bin[BIN_BYTES];
};
#define BATCH_COUNT(b, name) counter_add(&(b)->sv.counters->name, 1)

/* --- replies.c --- */
/* Makes `slot` the one whose replies are written, and makes room for one reply. NULL: no memory;
 * the session is lost. */
char *batch_reply_begin(struct batch *, unsigned slot);
static inline void batch_reply_end(struct batch *b, const char *end) {
    b->sv.used = (size_t)(end - b->sv.bytes);
}
/* Ends the current slot's replies at what has been written. */
void batch_settle_slot(struct batch *);
/* Puts what a command wrote behind its session's replies. */
void batch_reply_text(struct batch *, unsigned slot);
/* The same as packets: one or more, which answer a packet with this opcode and opaque. */
void batch_reply_packets(struct batch *, unsigned slot, uint8_t opcode, uint32_t opaque);
/* There is no memory for the replies of the current slot's session: drops the replies that it has,
 * runs nothing more of it, and closes it. */
void batch_lose(struct batch *, struct slot *);
/* Makes the buffers ready for a turn, since nothing of the last one is in use. Buffers that grew
 * for a few turns shrink; without memory for smaller ones they stay. */
void batch_shrink_replies(struct batch *);
static inline size_t session_reply_bytes_most(const struct session *s) {
    return s->lags ? SESSION_REPLY_BYTES_LAGGING : SESSION_REPLY_BYTES;
}

/* --- batch_run.c --- */
void batch_run_group(struct batch *);
/* Writes the next piece of a long answer. */
void batch_run_more(struct batch *, struct session *);
/* Whether much was copied since the last call: an append or prepend copies the whole value. Copying
 * counts as time of commands. */
bool batch_copied_much(struct batch *);
void batch_note_prefixes(struct batch *); /* whether `stats detail` is on */

/* --- session_upload.c --- */
/* Starts receiving the value of r; the first bytes come with intake_take, and memory only then. A
 * refusal is replied and what is left of the block swallowed, here and in intake_finish: the
 * session has no intake then. All requests before it have run, here and there. */
void   intake_begin(struct batch *, struct session *s, const struct request *r);
/* Takes bytes of the value, and returns how many. It takes fewer than n, although the value has
 * neither ended nor is whole, if there is no room ahead: memory must be waited for. */
size_t intake_take(struct batch *, struct session *s, const char *bytes, size_t n);
/* Whether there is no room for the value's next byte. */
bool   intake_waits(const struct intake *);
/* Whether the value is whole, or refused: then intake_finish follows. */
bool   intake_ended(const struct intake *);
/* Stores the value or refuses it, and replies. */
void   intake_finish(struct batch *, struct session *);
void   intake_abandon(struct cache_thread *, struct session *);

/* --- login.c --- */
/* parse() of a session without a role: one request at most, which is an answer. Gives the session
 * its role when name and password are right. */
enum parsed login_parse(struct batch *, struct session *, const char *at, const char *end,
                        struct request *out, unsigned *count, char **next);
/* Turns requests that the session's role forbids into refusals. */
void login_guard(struct batch *, const struct session *, struct request *, unsigned count);

/* --- login_sasl.c --- */
/* parse() of a session without a role that speaks the binary protocol. */
enum parsed login_sasl_parse(struct session *, char *at, char *end, struct request *out,
                             unsigned *count, char **next);
/* Runs VERB_BINARY_LOGIN: the session sleeps until another thread has taken the step, or the answer
 * is written at p. Returns where it ends. */
char *login_sasl_run(struct batch *, const struct request *, char *p);

/* The client as audit and log name it: the user at the address, or the address alone. */
static inline const char *session_who(const struct session *s) {
    return s->user != NULL ? s->user : s->addr;
}
#endif
