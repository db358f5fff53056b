/* Shared by all threads of a run: the server, the violations found, the counts, and the board of the versions of each key
 * that a reader may still see. */
#ifndef MODEL_WORLD_H
#define MODEL_WORLD_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { OWNERS = 8, KEYS_AN_OWNER = 400, GUEST_KEYS = 40, HOT_KEYS = 2, SHARED_COUNTERS = 8, SHARED_LOGS = 4, SHARERS = 4 };
enum { LIVES_MAX = 1 << 16, LIFE_BITS = 32 }; /* of shared counters: the high half of a number is its life */
enum { GUEST_OWNER = OWNERS, KEYS_ALL = OWNERS * KEYS_AN_OWNER + GUEST_KEYS + HOT_KEYS };

/* Each is a claim of its own. */
#define WRONGS(X) \
    X(WRONG_VALUE, "no value is another's, torn or altered") \
    X(OLD_VALUE, "no value is older than one that was acknowledged later") \
    X(CAME_BACK, "nothing that was removed, refused, expired or flushed comes back") \
    X(WRONG_ANSWER, "every condition is decided by what is stored") \
    X(WRONG_FACT, "flags, times, CAS, stale and win marks are those of the last change") \
    X(OUT_OF_PLACE, "every reply answers what was asked, and nobody is left waiting") \
    X(SAME_CAS, "no two keys ever have the same CAS") \
    X(MISSING, "no key is missing where nothing is evicted") \
    X(BAD_REPORT, "every line of dumps and statistics is whole, and no counter goes backwards") \
    X(LOST_UPDATE, "no acknowledged increment or append of a shared key is lost or done twice")
#define WRONG_NAME(name, claim) name,
enum wrong { WRONGS(WRONG_NAME) WRONG_KINDS };

#define OPS(X) \
    X(OP_SET, "set") X(OP_ADD, "add") X(OP_REPLACE, "replace") X(OP_APPEND, "append") X(OP_PREPEND, "prepend") X(OP_CAS, "cas") \
    X(OP_INCR, "incr") X(OP_DECR, "decr") X(OP_TOUCH, "touch") X(OP_DELETE, "delete") X(OP_GET, "get") X(OP_GETS, "gets") \
    X(OP_GAT, "gat") X(OP_GATS, "gats") X(OP_MG, "mg") X(OP_MS_SET, "ms set") X(OP_MS_ADD, "ms add") X(OP_MS_REPLACE, "ms replace") \
    X(OP_MS_APPEND, "ms append") X(OP_MS_PREPEND, "ms prepend") X(OP_MA, "ma") X(OP_MD, "md") X(OP_ME, "me")
#define OTHERS(X) \
    X(OP_READ, "others' keys read") X(OP_SLOW, "read slowly") X(OP_HAMMER, "hot keys read or written") X(OP_SHARED, "shared keys changed") X(OP_HALF, "half-sent values") \
    X(OP_GUEST, "guests' visits") X(OP_REPORT, "dumps and statistics") X(OP_ORDER, "orders") X(OP_FLUSH, "flushes") X(OP_REFUSED, "refused for memory") \
    X(OP_HIT, "hits") X(OP_LOST, "keys that were evicted")
#define OP_NAME(name, text) name,
enum op { OPS(OP_NAME) OTHERS(OP_NAME) OP_KINDS };
extern const char *const op_names[OP_KINDS];

/* A version's number grows with every request that concerns the key. */
struct key_board {
    _Atomic uint32_t floor;  /* a value with a head that is read from now on has at least this version */
    _Atomic uint32_t issued; /* the highest version issued */
};

struct world {
    int      port;
    uint64_t seed;
    bool     roomy; /* nothing is evicted or flushed: then no key may be missing */
    _Atomic bool no_flush; /* set a while before the end */
    _Atomic bool done;
    struct key_board board[KEYS_ALL];
    _Atomic uint64_t flushes_begun, flushes_over; /* flushes are one after the other */
    _Atomic uint64_t ops[OP_KINDS], all_ops;
    _Atomic uint64_t wrongs[WRONG_KINDS];
    _Atomic uint64_t cas_seen[1 << 18]; /* by CAS: the key that had it */
    _Atomic uint32_t lives;           /* begun lives; those from LIVES_MAX on are not modelled */
    struct life {
        _Atomic uint64_t increments, highest; /* acknowledged ones; and those that lead to the highest number of a reply. At
                                               * the end both are equal */
    } life[LIVES_MAX];
};

void world_count(struct world *, enum op);
void world_count_if(struct world *, enum op, bool);
/* Returns when others have done at most so many operations more, or `*over`. Owners never rest, so the call returns. */
void world_rest(struct world *, uint64_t ops_most, uint64_t *random, const _Atomic bool *over);
void world_end(_Atomic bool *over);
/* Counts violations, and prints the first few. */
__attribute__((format(printf, 3, 4))) void world_wrong(struct world *, enum wrong, const char *format, ...);
void world_raise_floor(struct world *, uint32_t key_id, uint32_t version);
/* A CAS that was given to the key: false when it was seen with another key. */
bool world_note_cas(struct world *, uint32_t key_id, uint64_t cas);

/* The name of a key follows from its number: 8 to 250 bytes. */
enum { KEY_BYTES = 250 };
unsigned key_name(uint32_t key_id, char to[KEY_BYTES + 1]);

double now_s(void); /* monotonic */
void world_pass(double seconds);
#endif
