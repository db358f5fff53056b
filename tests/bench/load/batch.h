/* Batches: the commands that one connection sends at once, and the account of their replies.
 *
 * A batch is built from a source (batch_build), sent by the socket's owner (the bytes of
 * `out`), and ends when batch_feed has seen the reply to its last command. With --fill-on-miss a
 * batch of sets for the missed keys follows it (batch_build_fills).
 *
 *   op      one key                           get a b c      -> ops a, b, c
 *   group   one command and its reply         set d, set e   -> a group each; one for a whole
 *                                             run of quiet writes and the fence that ends it
 *
 * No sockets and no clocks here: times are given. A batcher belongs to one thread and serves all
 * of its batches. */
#ifndef LOAD_BATCH_H
#define LOAD_BATCH_H
#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "source.h"
#include "tally.h"

#define BATCH_BYTES_MAX (4u * 1024 * 1024) /* a batch ends when its values have more bytes than this */

struct op {
    uint64_t key_hash;
    uint32_t key_at; /* offset in `out` */
    uint32_t value_bytes, ttl_s; /* for the set that fills a miss */
    uint8_t key_bytes;
    bool missed, is_filled;
};

enum group_kind {
    GROUP_GET,
    GROUP_META_GET,
    GROUP_META_MGET,
    GROUP_WRITE,
    GROUP_OTHER,
    GROUP_QUIET
};

struct group {
    enum group_kind kind;
    uint32_t first, count; /* ops */
    uint64_t due_ns;       /* the time when the batch was sent, or with a rate was due */
};

struct batch {
    struct buffer out;
    struct op *ops;
    struct group *groups;
    uint32_t op_count, op_room, group_count, group_room;
    uint32_t group_at; /* group of the next reply */
    uint32_t op_at;    /* op of that group that the next value may belong to */
    uint32_t missed;   /* ops to fill */
    uint32_t answered; /* for a quiet group: writes with a reply after all */
    unsigned phase;    /* phase of a size shift */
    bool filling;
    char last_error[SAMPLE_BYTES]; /* the last reply of all its batches, if that was an error; otherwise "" */
};

struct keyset {
    uint64_t *slots; /* key hash, or 0 */
    uint32_t mask;
};

/* Open loop: commands become due at `next_due_ns` and then every `interval_ns` a request, or, with
 * a speed, when the trace has them. */
struct pace {
    double interval_ns, speed; /* both 0: closed loop */
    double next_due_ns;
    double start_ns;           /* with a speed: when the first request is due, … */
    uint64_t first_ms;         /* … and its time in the trace */
    bool has_first;
};
static inline bool pace_is_open(const struct pace *p) {
    return p->interval_ns > 0 || p->speed > 0;
}

struct batcher {
    const struct options *options;
    struct source *source;
    struct tally *tally;
    struct rng rng;
    struct pace pace;
    struct request held; /* taken from the source, not yet in a batch */
    bool has_held;
    bool ended;         /* the source has no more */
    struct keyset seen; /* replay: keys of the batch being built */
    struct buffer spare;
    uint64_t verify_tick;
    char failure[256]; /* set when a call below failed */
};

/* False when memory is out. Source and tally are borrowed. */
bool batcher_init(struct batcher *b, const struct options *o, struct source *source,
                  struct tally *tally, uint64_t seed);
void batcher_fini(struct batcher *b);
void batch_fini(struct batch *t);

/* Builds the next batch of at most `budget` requests; returns their number. 0: nothing is due yet, or the source has ended (b->ended), or
 * failed (b->failure is set). */
uint64_t batch_build(struct batch *t, struct batcher *b, uint64_t budget, uint64_t now_ns);

/* Replaces an answered batch by sets for its misses; false when there are none (or on failure). */
bool batch_build_fills(struct batch *t, struct batcher *b, uint64_t now_ns);

static inline bool batch_is_answered(const struct batch *t) {
    return t->group_at == t->group_count;
}

/* Accounts for the whole reply elements in the n bytes and returns the number of bytes used; the caller offers the others again with more
 * behind them, `*needed` bytes at least. A protocol breach sets b->failure. */
size_t batch_feed(struct batch *t, struct batcher *b, const char *bytes, size_t n, uint64_t now_ns,
                  size_t *needed);
#endif
