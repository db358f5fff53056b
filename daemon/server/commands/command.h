/* What a command outside the hot path is given and gives: its line, where its answer goes, and the
 * pieces of a long one. */
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

/* A long answer goes out in pieces. The command leaves `more` in its context; from then on it is
 * the session's, which runs nothing else and calls command_go_on once a turn, when all that was
 * written before is sent. A piece may be empty; it ends when command_piece_full says so. When the
 * connection ends before, the session calls destroy. An answer that waits for another thread sets
 * `asleep`: the session does not call until that thread has called ctx->wake, which may be too
 * early, and then sets it again. */
struct command_more {
    /* writes a piece to ctx->out; false: it was the last */
    bool (*run)(struct command_more *, struct command_context *);
    void (*destroy)(struct command_more *);
    bool mute; /* noreply: the pieces are thrown away */
    bool packets; /* the pieces are packets of the binary protocol, not text */
    /* it ends when the client hangs up, even if the client has ended only its own sending */
    bool ends_with_client;
    bool asleep;
};

struct command_context {
    struct server       *server;
    const char          *who; /* the client's address, for the audit; or: - */
    enum role            role; /* the session's */
    struct cache_thread *ct;   /* NULL in an order */
    struct command_order *order; /* the control thread runs the command; NULL: a worker does */
    const char          *line; /* without its line end; not terminated; valid during the call */
    size_t               line_bytes;
    bool                 noreply; /* the line's last word is `noreply` */
    /* requests of the same turn ran before it, none of them mn; their replies are sent with its
     * own */
    bool                 follows;
    struct text_out     *out;
    size_t               piece_bytes; /* when `out` holds so much, or … */
    /* … at this time of clock_mono_us, the rest is for the next turn; and when the piece began */
    uint64_t             until_us, now_us;
    /* any thread may call it, with its argument, to have an answer that is asleep go on */
    void               (*wake)(void *);
    void                *wake_arg;
    struct serve_counters *counters; /* the worker's */
    bool                 close; /* set by the command: hang up after the answer */
    struct command_more *more;  /* set by the command: the answer goes on */
    /* set by the command: after the answer the session is this watcher's */
    struct watcher      *watcher;
};

/* Whether a long answer's piece is long enough. At 30 ns, to be asked for every line or item. */
bool command_piece_full(const struct command_context *);
/* Writes the next piece. After the last one, or when there is no memory for it, what goes on is
 * destroyed and NULL. Threading: the session's worker. */
void command_go_on(struct command_more **, struct command_context *);

/* --- answers of another thread (base/future.h): the session sleeps until it is woken --- */

/* The first member of the command's own struct. */
struct waiting {
    struct command_more more; /* first: the session knows only this */
    struct future      *future;
    /* writes the answer, or a piece of it; false: that was the last */
    bool (*tell)(struct waiting *, struct command_context *);
    /* gives up the question and frees the struct */
    void (*destroy)(struct waiting *);
};

/* Before the question is handed over: from then on the answer wakes the session. */
void waiting_begin(struct waiting *, struct command_context *, struct future *,
                   bool (*tell)(struct waiting *, struct command_context *),
                   void (*destroy)(struct waiting *));
/* It was not handed over: as if it had not begun. */
void waiting_end(struct waiting *);

/* --- commands that change the server: orders of the control thread (control/control.h) --- */

typedef void (*command_words)(struct command_context *, const struct words *);

/* Has the control thread run the command, with a context of its own, while the session sleeps. The
 * order is carried out, and recorded, whether or not the session is still there. */
void command_order(struct command_context *, const struct words *, command_words run);

/* For an order that is answered later, by command_answered on the control thread: its context lives
 * until then. */
void command_defer(struct command_context *);
void command_answered(struct command_context *);

/* --- long answers, with END behind the last piece ---
 *
 * The command gives a function that writes from row *next on, at least one row, until
 * command_piece_full; a row is whatever the command counts by: a class, a page, a place in a table.
 * What it needs beside is `state`, copied when the answer takes more than a piece. Rows are as they
 * are when their piece is made, unless the state holds a copy of all. */

/* false: there are no more rows */
typedef bool (*pieces_write)(struct command_context *, uint32_t *next, void *state);

/* Writes the first piece, from row `first` on, and leaves the others to the session. Without memory
 * for that, the answer is an error. */
void pieces_answer(struct command_context *, pieces_write, uint32_t first, void *state,
                   size_t state_bytes);

/* --- answers that are shared (coalesced_reply.h): one session makes it, all tell it in pieces ---
 *
 * An answer about SHARED_MANY_ITEMS and more serves for SHARED_AGE_COSTS times the processor time
 * that it took. So making it takes a part of one processor only, whatever the number of those who
 * ask. With fewer items each client sees at once what it has just stored. */
enum { SHARED_MANY_ITEMS = 100 * 1000, SHARED_AGE_COSTS = 20 };

/* How an answer is made. Threading: the worker's of who makes it. */
struct shared_maker {
    size_t state_bytes;
    /* The state is zero before. False: out of memory. */
    bool (*begin)(void *state, struct command_context *);
    /* Works until it is done or command_piece_full, then returns whether work is left. */
    bool (*go_on)(void *state, struct command_context *, struct text_out *answer);
    void (*end)(void *state); /* also of a state that did not begin */
};

/* Answers the command; `shared` outlives the session. */
void tell_shared(struct command_context *, struct shared_answer *shared,
                  const struct shared_maker *);
#endif
