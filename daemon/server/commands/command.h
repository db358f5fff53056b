/* The context of a command outside the hot path: its line, where its answer goes, and how a long
 * answer continues. */
#ifndef SLATE_SERVER_COMMANDS_COMMAND_H
#define SLATE_SERVER_COMMANDS_COMMAND_H
#include <stdbool.h>
#include <stddef.h>

#include "base/future.h"
#include "cache/cache.h"
#include "server/auth/role.h"
#include "server/commands/command_words.h"
#include "server/server.h"
#include "server/text_out.h"

struct watcher;
struct command_context;
struct command_order;

/* A long answer is sent in pieces. The command leaves `more` in its context. From then on the
 * session owns `more`, runs nothing else, and calls command_continue once a turn, when all earlier
 * bytes are sent. A piece may be empty, and ends when command_piece_full is true. When the
 * connection ends early, the session calls destroy. An answer that waits for another thread sets
 * `asleep`: the session does not call until that thread has called ctx->wake. A wake may come too
 * early; then the answer sets `asleep` again. */
struct command_more {
    /* writes a piece to ctx->out; false: this was the last piece */
    bool (*run)(struct command_more *, struct command_context *);
    void (*destroy)(struct command_more *);
    bool mute; /* noreply: drops the pieces */
    bool packets; /* the pieces are packets of the binary protocol, not text */
    /* the answer ends when the client hangs up, even if the client has only shut its sending
     * side */
    bool ends_with_client;
    bool asleep;
};

struct command_context {
    struct server       *server;
    const char          *who; /* the client's address for the audit, or "-" */
    enum role            role; /* the session's role */
    struct cache_thread *ct;   /* NULL in an order */
    struct command_order *order; /* of the control thread; NULL: a worker runs the command */
    const char          *line; /* without line end, not terminated; valid during the call */
    size_t               line_bytes;
    bool                 noreply; /* the line's last word is `noreply` */
    /* other requests of the same turn ran before, none of them mn; all replies are sent together */
    bool                 follows;
    struct text_out     *out;
    size_t               piece_bytes; /* a piece ends when `out` holds so many bytes */
    /* by clock_mono_us: when a piece ends, and when it began */
    uint64_t             until_us, now_us;
    /* any thread may call wake(wake_arg) to continue an answer that is asleep */
    void               (*wake)(void *);
    void                *wake_arg;
    struct serve_counters *counters; /* the worker's */
    bool                 close; /* set by the command: hang up after the answer */
    struct command_more *more;  /* set by the command: the answer continues */
    /* set by the command: after the answer the session watches */
    struct watcher      *watcher;
};

/* True: the piece of a long answer is long enough. Costs 30 ns: call it for every line or item. */
bool command_piece_full(const struct command_context *);
/* Writes the next piece. After the last piece, or without memory for a piece, destroys `more` and
 * sets it to NULL. Threading: the session's worker. */
void command_continue(struct command_more **, struct command_context *);

/* --- replies that another thread makes (base/future.h): the session sleeps until woken --- */

/* The first member of the command's own struct. */
struct command_wait {
    struct command_more more; /* first: the session knows only this */
    struct future      *future;
    /* writes the reply, or a piece of it; false: this was the last piece */
    bool (*reply)(struct command_wait *, struct command_context *);
    /* drops the request and frees the struct */
    void (*destroy)(struct command_wait *);
};

/* Called before the request is handed over. From then on the reply wakes the session. */
void command_wait_begin(struct command_wait *, struct command_context *, struct future *,
                        bool (*reply)(struct command_wait *, struct command_context *),
                        void (*destroy)(struct command_wait *));
/* Undoes command_wait_begin when the request was not handed over. */
void command_wait_end(struct command_wait *);

/* --- commands that change the server: orders of the control thread (control/control.h) --- */

typedef void (*command_words)(struct command_context *, const struct words *);

/* Makes the control thread run the command, with a context of its own, while the session sleeps.
 * The order is executed, and recorded, even if the session ends. */
void command_order(struct command_context *, const struct words *, command_words run);

/* command_defer: the order is answered later, by command_answered on the control thread. Its
 * context lives until then. */
void command_defer(struct command_context *);
void command_answered(struct command_context *);

/* --- long answers, with END behind the last piece ---
 *
 * The command passes a function that writes rows from *next on, at least one, until
 * command_piece_full. A row is the command's unit: a class, a page, a place in a table. `state`
 * holds further arguments; it is copied when the answer takes more than one piece. A row shows the
 * time at which its piece is written, unless the state holds a copy of all rows. */

/* false: there are no more rows */
typedef bool (*command_piece_write)(struct command_context *, uint32_t *next, void *state);

/* Writes the first piece, from row `first` on, and leaves further pieces to the session. Without
 * memory for them the answer is an error. */
void command_answer_pieces(struct command_context *, command_piece_write, uint32_t first,
                           void *state, size_t state_bytes);

/* --- coalesced replies (coalesced_reply.h): one session makes the answer, all send it in pieces
 * ---
 *
 * An answer about COALESCED_MANY_ITEMS or more is reused for COALESCED_AGE_COSTS times the
 * processor time that it took. So making answers takes only a part of one processor, however many
 * clients request them. With fewer items a client sees its latest store at once. */
enum { COALESCED_MANY_ITEMS = 100 * 1000, COALESCED_AGE_COSTS = 20 };

/* Makes an answer. Threading: the worker of the session that makes the answer. */
struct coalesced_maker {
    size_t state_bytes;
    /* The state is all zero before. False: out of memory. */
    bool (*begin)(void *state, struct command_context *);
    /* Works until done or command_piece_full. True: work is left. */
    bool (*go_on)(void *state, struct command_context *, struct text_out *answer);
    void (*end)(void *state); /* also after a failed begin */
};

/* Answers the command; `shared` outlives the session. */
void command_answer_coalesced(struct command_context *, struct coalesced_reply *shared,
                              const struct coalesced_maker *);
#endif
