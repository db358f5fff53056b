/* An owner's request for one of its keys: chosen at random, written to a connection, and its reply compared with the model. */
#ifndef MODEL_REQUEST_H
#define MODEL_REQUEST_H
#include "entry.h"
#include "wire.h"

enum { GET_KEYS_MAX = 6, SHOW_MAX = 12 };

struct request {
    enum op op;
    struct entry *e[GET_KEYS_MAX]; /* one, but for get, gets, gat, gats */
    unsigned keys;
    struct segment segment;        /* the value to store, to join, or to make on a miss */
    uint32_t client_flags;
    bool     touches;              /* meta T, or a command with a time of its own */
    int32_t  exptime;
    bool     compares, lower;      /* meta C, cas; meta I of a store */
    uint64_t compare_cas;
    uint64_t give_cas;             /* meta E; 0: none */
    bool     vivifies;             /* meta N */
    int32_t  vivify_exptime;
    int32_t  recache_s;            /* meta R; 0: none */
    bool     invalidates, drops_value; /* meta I and x of a delete */
    bool     decrements;
    uint64_t delta;
    char     show[SHOW_MAX];       /* meta: the requested return flags, in this order */
    bool     silent;               /* noreply or q, and mn after it */
    bool     binary;               /* the key goes as base64 */
    uint32_t opaque;
    uint32_t version;
    double   sent_s;
    uint64_t flushes_over;         /* when the request was sent */
};

/* Chooses a request for one of the owner's keys; of the model only the requests on their way change. */
void request_choose(struct request *, struct world *, uint64_t *random, struct entry *entries);
void request_say(const struct request *, struct wire *);
size_t request_reply_bytes(const struct request *); /* about the most bytes */
/* False: the connection can't be used any more. */
bool request_hear(const struct request *, struct world *, struct wire *);
#endif
