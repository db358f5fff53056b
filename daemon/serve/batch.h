/* Inside the serving of requests: what session.c, batch.c, output.c, classic.c, meta.c and intake.c
 * share.
 *
 *     bytes ── parse ──> group of requests ──> prefetch ──> classic_run, meta_run ──> batch's bytes, borrowed values
 *
 * A group fills while bytes are parsed, each request's bucket prefetched at once; when it is full,
 * or the turn ends, the items are prefetched and the requests run in order. All replies of a turn
 * lie in one run of bytes; a session's are contiguous, because sessions are added one after the
 * other. Nothing here is seen by net. */
#ifndef SLATE_SERVE_BATCH_H
#define SLATE_SERVE_BATCH_H
#include <stdint.h>
#include <string.h>

#include "cache/cache.h"
#include "mem/item.h"
#include "proto/meta.h"
#include "proto/parse.h"
#include "proto/request.h"
#include "serve/server.h"
#include "serve/session.h"
#include "serve/text_out.h"
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
    COMMAND_PIECE_US = 200, /* a long answer's piece takes so long */
    COPIED_MUCH_BYTES = 64 * 1024, /* a group that copied so much was long, too */
    COPIED_BYTES_US = 4096, /* copied in a microsecond, or so */
    SHRINK_TURNS = 256, /* buffers that were too large for so many turns shrink */
    /* bytes that any one reply needs at most, but for borrowed values and commands' texts */
    REPLY_ROOM = 4096,
    BIN_BYTES = 64 * 1024, /* where swallowed data blocks go */
};
_Static_assert((int)PARSE_WAIT_MAX == (int)ITEM_COPY_MAX,
               "values that are copied wait whole in the buffer");
_Static_assert((int)PARSE_GET_MAX == (int)SESSION_LINE_BYTES, "a longer line is not waited for");
_Static_assert(REPLY_ROOM > ITEM_COPY_MAX + 8 + 1024, "a reply's head and a copied value");
_Static_assert(SESSION_UNSEEN >= GROUP_RUN, "a session may fill a group");

/* A borrowed value among the bytes of an output. */
struct output_value {
    size_t       at; /* it comes before the byte at this place */
    struct item *item;
    uint32_t     value_bytes;
};

/* A run of bytes to send and the values between them. `bytes` and `values` belong to the batch, or
 * to output_keep. */
struct output {
    struct cache_thread       *ct;
    const char                *bytes;
    const struct output_value *values;
    size_t   at, end;               /* the next byte to send, and where they end */
    uint32_t value_next, value_end; /* the next value to send */
    uint32_t value_sent;            /* bytes of it that are sent */
    struct cache_place place;       /* and where they end in its chain */
    bool     kept;
};

/* A session's part in a turn. */
struct slot {
    struct session *session;
    struct output   output;
    uint64_t        value_bytes; /* borrowed ones */
    uint32_t        requests;
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
    size_t             got; /* of value_bytes + 2 */
    bool               waits; /* no more memory could be had the last time: other drafts hold it */
    bool               waited; /* it was so once */
    bool               late; /* nothing came for too long */
    struct cache_place place; /* where they end in the draft's chain */
    char               line_end[2];
};

struct session {
    struct parser       parser;
    struct intake      *intake;        /* a value being received, or NULL */
    struct command_more *more;         /* an answer that goes on in the next turn, or NULL */
    uint64_t            swallow_bytes; /* of a refused data block, still to come */
    uint64_t            turn;          /* the turn in which `slot` is its */
    uint16_t            slot;
    uint8_t             need;
    bool                spoke; /* its first byte has come */
    bool                lags;  /* its client is slow to take what was sent */
    /* its last requests copied much: the next run one by one, as commands do */
    bool                copies;
    /* requests that came with those at hand ran in an earlier turn, which a command ended */
    bool                piped;
    bool                closing;
    bool                quit;     /* the client said so */
    int                 fd;       /* of its connection, for those who watch; -1: none */
    struct watcher     *watcher;  /* since the watch command, or NULL */
};

struct batch {
    struct server         *server;
    struct cache          *cache;
    struct cache_thread   *ct;
    struct serve_counters *counters;
    struct prefix_stats   *prefixes; /* of `stats detail`, NULL while that is off */
    unsigned watched; /* classes of events somebody watches, while a group of requests runs */
    struct cache_view looked; /* then: what the request at hand finds (serve/observe.c) */
    bool     refuses_binary; /* -B auto: a first byte of 0x80 is a binary client's */
    uint32_t reqs_per_event;
    uint64_t turn;
    uint32_t requests; /* of this turn */
    /* spent on commands in this turn, and on copying values that were joined */
    uint32_t commands_us;
    uint64_t copied_bytes; /* cache_thread_copied, when it was looked at last */
    bool     commands_wait; /* those that come now: others came before */
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
    char    *bytes;
    size_t   used, room;
    struct output_value *values;
    size_t   value_count, value_room;
    struct text_out text; /* of commands */
    struct request  group[GROUP_ROOM];
    struct slot     slots[TURN_SESSIONS];
    char            scratch[ITEM_COPY_MAX + 16];
    char            bin[BIN_BYTES];
};
#define BATCH_COUNT(b, name) counter_add(&(b)->counters->name, 1)

/* --- batch.c --- */
void batch_run_group(struct batch *);
/* Makes `slot` the one whose replies are written, and room for one; NULL: no memory, the session is
 * lost. */
char *batch_reply_begin(struct batch *, unsigned slot);
static inline void batch_reply_end(struct batch *b, const char *end) {
    b->used = (size_t)(end - b->bytes);
}
/* Sends `borrowed` at p; false: no memory, and it has been returned. */
bool batch_put_value(struct batch *, const char *p, struct item *borrowed, uint32_t value_bytes);

/* --- classic.c, meta.c: run a request, write its reply at p, return the end --- */
char *classic_run(struct batch *, const struct request *, char *p);
char *meta_run(struct batch *, const struct request *, char *p);
/* What to store, and the reply once it was tried. */
void  classic_store_of(const struct batch *, const struct request *, struct cache_store *);
char *classic_stored(struct batch *, const struct request *, enum cache_status,
                     const struct cache_view *, char *p);
const char *meta_store_of(const struct batch *, const struct request *, struct meta_flags *,
                          struct cache_store *);
char *meta_stored(struct batch *, const struct request *, const struct meta_flags *,
                  enum cache_status, const struct cache_view *, char *p);

/* Whether the request's own value is within the item limit, apart from what it is to be joined
 * with. */
bool value_fits_alone(const struct batch *, const struct request *);
/* Every failed ms leaves nothing behind, whatever its mode. */
void meta_drop(struct batch *, const struct key *);

/* --- intake.c --- */
/* Starts receiving the value of r; the first bytes come with intake_take, and memory only then. A
 * refusal is replied and what is left of the block swallowed, here and below: the session has no
 * intake then. */
void   intake_begin(struct batch *, struct session *, const struct request *r);
/* Returns how many bytes it took. Fewer than n, and not whole, or no room ahead for the next:
 * memory must be waited for. */
size_t intake_take(struct batch *, struct session *, const char *bytes, size_t n);
/* there is no room for the value's next byte */
bool   intake_waits(const struct intake *);
/* its bytes don't come: gives its memory back */
void   intake_late(struct batch *, struct session *);
void   intake_give_up(struct batch *, struct session *);       /* refuses a late one */
/* all is there: store, reply */
void   intake_finish(struct batch *, struct session *);
void   intake_abandon(struct cache_thread *, struct session *);
static inline bool intake_whole(const struct intake *in) {
    return in->got == (size_t)in->request.value_bytes + 2;
}

/* --- text into a reply --- */
static inline char *put_bytes(char *p, const char *text, size_t n) {
    memcpy(p, text, n);
    return p + n;
}
#define PUT(p, text) put_bytes((p), (text), sizeof(text) - 1)
static inline char *put_text(char *p, const char *text) { return put_bytes(p, text, strlen(text)); }
/* A key, 16 bytes at a time: keys lie in buffers with slack behind, replies have room. */
static inline char *put_key(char *p, const struct key *key) {
    for (size_t i = 0; i < key->len; i += 16) {
        memcpy(p + i, key->ptr + i, 16);
    }
    return p + key->len;
}

static const char reply_too_large[] = "SERVER_ERROR object too large for cache\r\n";
static const char reply_no_memory[] = "SERVER_ERROR out of memory storing object\r\n";
static const char reply_bad_data[] = "CLIENT_ERROR bad data chunk\r\n";
#endif
