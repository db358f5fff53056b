/* The binary protocol: packets to requests, replies to bytes. Pure, and restartable at any byte.
 *
 * A packet has a head of BINARY_HEAD_BYTES, then extras, a key and a value; numbers are big-endian.
 * A request's `text` is its packet; head, extras and key lie in the buffer, and fields that the
 * reply repeats (opcode, opaque) or that few requests need are read there. A value of up to
 * PARSE_WAIT_MAX bytes waits in the buffer until it is complete. The caller receives a larger value
 * that is not complete (request.value NULL, `next` at the value's first byte). The client's data of
 * a login may wait for up to BINARY_LOGIN_MAX bytes. A packet whose lengths do not fit its opcode
 * gets an error, and ends the connection. Threading: any. Cost: a few ns a packet, XXH3 per key; no
 * allocation. */
#ifndef SLATE_PROTOCOL_BINARY_H
#define SLATE_PROTOCOL_BINARY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protocol/request.h"

enum {
    BINARY_REQUEST = 0x80, /* first byte of a client's packet */
    BINARY_REPLY = 0x81,   /* first byte of the server's packet */
    BINARY_HEAD_BYTES = 24,
    /* extras, key and value; a longer body ends the connection */
    BINARY_BODY_MAX = 1024 * 1024 * 1024,
    BINARY_LOGIN_MAX = 16 * 1024, /* a step of a login; a longer one is refused */
};

/* A quiet get has no reply to a miss; any other quiet command has no reply to its success. Errors
 * are always replied. */
enum binary_opcode {
    BINARY_GET = 0x00,
    BINARY_SET = 0x01,
    BINARY_ADD = 0x02,
    BINARY_REPLACE = 0x03,
    BINARY_DELETE = 0x04,
    BINARY_INCREMENT = 0x05,
    BINARY_DECREMENT = 0x06,
    BINARY_QUIT = 0x07,
    BINARY_FLUSH = 0x08,
    BINARY_GETQ = 0x09,
    BINARY_NOOP = 0x0a,
    BINARY_VERSION = 0x0b,
    BINARY_GETK = 0x0c,
    BINARY_GETKQ = 0x0d,
    BINARY_APPEND = 0x0e,
    BINARY_PREPEND = 0x0f,
    BINARY_STAT = 0x10,
    BINARY_SETQ = 0x11,
    BINARY_ADDQ = 0x12,
    BINARY_REPLACEQ = 0x13,
    BINARY_DELETEQ = 0x14,
    BINARY_INCREMENTQ = 0x15,
    BINARY_DECREMENTQ = 0x16,
    BINARY_QUITQ = 0x17,
    BINARY_FLUSHQ = 0x18,
    BINARY_APPENDQ = 0x19,
    BINARY_PREPENDQ = 0x1a,
    BINARY_TOUCH = 0x1c,
    BINARY_GAT = 0x1d,
    BINARY_GATQ = 0x1e,
    BINARY_SASL_LIST_MECHS = 0x20,
    BINARY_SASL_AUTH = 0x21,
    BINARY_SASL_STEP = 0x22,
    BINARY_GATK = 0x23,
    BINARY_GATKQ = 0x24,
};

enum binary_status {
    BINARY_OK = 0x00,
    BINARY_NOT_FOUND = 0x01,
    BINARY_EXISTS = 0x02,
    BINARY_TOO_LARGE = 0x03,
    BINARY_INVALID = 0x04,
    BINARY_NOT_STORED = 0x05,
    BINARY_NOT_A_NUMBER = 0x06,
    BINARY_AUTH_ERROR = 0x20,
    BINARY_AUTH_CONTINUE = 0x21,
    BINARY_UNKNOWN = 0x81,
    BINARY_NO_MEMORY = 0x82,
};

/* With this expiry time an incr or decr of a missing key creates no item. */
#define BINARY_NOT_CREATED 0xffffffffu

/* Parses packets from at (< end), at most as many as there is room for. Only the last packet may
 * have to run before the next one is parsed. A request for the table of commands, or a step of a
 * login, is returned alone. Without `logins` such steps are unknown commands. */
enum parsed binary_parse(char *at, char *end, bool logins, struct request *out, unsigned room,
                         unsigned *count, char **next);
/* True: n bytes, the start of a packet, hold its head, extras and key. */
bool binary_has_key(const char *bytes, size_t n);

/* --- reading a request --- */
static inline uint16_t binary_get16(const char *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap16(v);
}
static inline uint32_t binary_get32(const char *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}
static inline uint64_t binary_get64(const char *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}
static inline uint8_t binary_opcode(const char *packet) { return (uint8_t)packet[1]; }
/* Returns the opcode of the same command in the form that is not quiet. */
uint8_t binary_plain_opcode(const char *packet);
bool    binary_quiet(const char *packet);
/* Returns the opaque in the byte order of the packet, for the reply. */
static inline uint32_t binary_opaque(const char *packet) {
    uint32_t v;
    memcpy(&v, packet + 12, sizeof v);
    return v;
}
static inline uint64_t binary_cas(const char *packet) { return binary_get64(packet + 16); }
static inline const char *binary_extras(const char *packet) { return packet + BINARY_HEAD_BYTES; }

/* --- replies --- */
struct binary_head {
    uint8_t  opcode, extras_bytes;
    uint16_t key_bytes, status;
    uint32_t body_bytes; /* extras, key and value together */
    uint32_t opaque;
    uint64_t cas;
};
/* Writes BINARY_HEAD_BYTES bytes at p, and returns their end. */
static inline char *binary_put_head(char *p, const struct binary_head *h) {
    uint16_t key_bytes = __builtin_bswap16(h->key_bytes), status = __builtin_bswap16(h->status);
    uint32_t body_bytes = __builtin_bswap32(h->body_bytes);
    uint64_t cas = __builtin_bswap64(h->cas);
    p[0] = (char)BINARY_REPLY;
    p[1] = (char)h->opcode;
    memcpy(p + 2, &key_bytes, sizeof key_bytes);
    p[4] = (char)h->extras_bytes;
    p[5] = 0;
    memcpy(p + 6, &status, sizeof status);
    memcpy(p + 8, &body_bytes, sizeof body_bytes);
    memcpy(p + 12, &h->opaque, sizeof h->opaque);
    memcpy(p + 16, &cas, sizeof cas);
    return p + BINARY_HEAD_BYTES;
}
static inline char *binary_put32(char *p, uint32_t v) {
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}
static inline char *binary_put64(char *p, uint64_t v) {
    v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}
/* Returns memcached's text of an error. */
const char *binary_status_text(enum binary_status);
/* Writes a reply with a status and any text. */
char *binary_put_text(char *p, uint8_t opcode, uint32_t opaque, enum binary_status,
                      const char *text);
#endif
