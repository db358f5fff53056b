/* The flags of meta commands. mg, ms, md and ma share one parser: each accepts every flag that one
 * of them knows. */
#ifndef SLATE_PROTOCOL_META_H
#define SLATE_PROTOCOL_META_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/request.h"
#include "protocol/token.h"

enum {
    META_FLAGS_MAX = 18,       /* ms may have one less, since its datalen counts as a flag */
    META_OPAQUE_BYTES_MAX = 32, /* length of an O token with the O */
};

/* A flag's bit in `present`. */
#define META_BIT(c) ((uint64_t)1 << ((c) - 'A'))

struct meta_flags {
    uint64_t present;
    int32_t  touch_exptime;  /* T */
    int32_t  vivify_exptime; /* N */
    int32_t  recache;        /* R */
    uint32_t client_flags;   /* F */
    uint64_t compare_cas;    /* C */
    uint64_t cas;            /* E */
    uint64_t delta;          /* D; without D: 1 */
    uint64_t initial;        /* J */
    char     mode;           /* M; without M: 0 */
    bool     opaque_too_long;
    unsigned token_count;
    /* in the order of the request, which is the order of the reply */
    struct token tokens[META_FLAGS_MAX];
};
static inline bool meta_has(const struct meta_flags *m, char c) {
    return (m->present & META_BIT(c)) != 0;
}

/* Reads the flags of a parsed meta command. Returns NULL, or the error to reply with its line
 * end. */
const char *meta_flags_parse(const struct request *, struct meta_flags *);
#endif
