/* Parses packets to requests. One table has the parts of each opcode's packet. */
#include "protocol/binary.h"

enum {
    KEY = 1,             /* the packet has a key; without KEY and KEY_OR_NONE it has none */
    KEY_OR_NONE = 2,     /* there may be a key */
    VALUE = 4,           /* bytes behind the key are a value; without VALUE there are none */
    EXTRAS_OR_NONE = 8,
    QUIET = 16,
    KNOWN = 32,
    LOGIN = 64,          /* an unknown opcode if nobody has to log in */
};

static const struct rule {
    uint8_t verb, plain, extras_bytes, what;
} rules[] = {
    [BINARY_GET] = {VERB_BINARY_GET, BINARY_GET, 0, KNOWN | KEY},
    [BINARY_GETQ] = {VERB_BINARY_GET, BINARY_GET, 0, KNOWN | KEY | QUIET},
    [BINARY_GETK] = {VERB_BINARY_GET, BINARY_GETK, 0, KNOWN | KEY},
    [BINARY_GETKQ] = {VERB_BINARY_GET, BINARY_GETK, 0, KNOWN | KEY | QUIET},
    [BINARY_TOUCH] = {VERB_BINARY_TOUCH, BINARY_TOUCH, 4, KNOWN | KEY},
    [BINARY_GAT] = {VERB_BINARY_TOUCH, BINARY_GAT, 4, KNOWN | KEY},
    [BINARY_GATQ] = {VERB_BINARY_TOUCH, BINARY_GAT, 4, KNOWN | KEY | QUIET},
    [BINARY_GATK] = {VERB_BINARY_TOUCH, BINARY_GATK, 4, KNOWN | KEY},
    [BINARY_GATKQ] = {VERB_BINARY_TOUCH, BINARY_GATK, 4, KNOWN | KEY | QUIET},
    [BINARY_SET] = {VERB_BINARY_STORE, BINARY_SET, 8, KNOWN | KEY | VALUE},
    [BINARY_SETQ] = {VERB_BINARY_STORE, BINARY_SET, 8, KNOWN | KEY | VALUE | QUIET},
    [BINARY_ADD] = {VERB_BINARY_STORE, BINARY_ADD, 8, KNOWN | KEY | VALUE},
    [BINARY_ADDQ] = {VERB_BINARY_STORE, BINARY_ADD, 8, KNOWN | KEY | VALUE | QUIET},
    [BINARY_REPLACE] = {VERB_BINARY_STORE, BINARY_REPLACE, 8, KNOWN | KEY | VALUE},
    [BINARY_REPLACEQ] = {VERB_BINARY_STORE, BINARY_REPLACE, 8, KNOWN | KEY | VALUE | QUIET},
    [BINARY_APPEND] = {VERB_BINARY_STORE, BINARY_APPEND, 0, KNOWN | KEY | VALUE},
    [BINARY_APPENDQ] = {VERB_BINARY_STORE, BINARY_APPEND, 0, KNOWN | KEY | VALUE | QUIET},
    [BINARY_PREPEND] = {VERB_BINARY_STORE, BINARY_PREPEND, 0, KNOWN | KEY | VALUE},
    [BINARY_PREPENDQ] = {VERB_BINARY_STORE, BINARY_PREPEND, 0, KNOWN | KEY | VALUE | QUIET},
    [BINARY_DELETE] = {VERB_BINARY_DELETE, BINARY_DELETE, 0, KNOWN | KEY},
    [BINARY_DELETEQ] = {VERB_BINARY_DELETE, BINARY_DELETE, 0, KNOWN | KEY | QUIET},
    [BINARY_INCREMENT] = {VERB_BINARY_ARITH, BINARY_INCREMENT, 20, KNOWN | KEY},
    [BINARY_INCREMENTQ] = {VERB_BINARY_ARITH, BINARY_INCREMENT, 20, KNOWN | KEY | QUIET},
    [BINARY_DECREMENT] = {VERB_BINARY_ARITH, BINARY_DECREMENT, 20, KNOWN | KEY},
    [BINARY_DECREMENTQ] = {VERB_BINARY_ARITH, BINARY_DECREMENT, 20, KNOWN | KEY | QUIET},
    [BINARY_NOOP] = {VERB_BINARY_ANSWER, BINARY_NOOP, 0, KNOWN},
    [BINARY_VERSION] = {VERB_BINARY_ANSWER, BINARY_VERSION, 0, KNOWN},
    [BINARY_QUIT] = {VERB_BINARY_ANSWER, BINARY_QUIT, 0, KNOWN},
    [BINARY_QUITQ] = {VERB_BINARY_ANSWER, BINARY_QUIT, 0, KNOWN | QUIET},
    [BINARY_STAT] = {VERB_COMMAND, BINARY_STAT, 0, KNOWN | KEY_OR_NONE},
    [BINARY_FLUSH] = {VERB_COMMAND, BINARY_FLUSH, 4, KNOWN | EXTRAS_OR_NONE},
    [BINARY_FLUSHQ] = {VERB_COMMAND, BINARY_FLUSH, 4, KNOWN | EXTRAS_OR_NONE | QUIET},
    [BINARY_SASL_LIST_MECHS] = {VERB_BINARY_LOGIN, BINARY_SASL_LIST_MECHS, 0, KNOWN | LOGIN},
    [BINARY_SASL_AUTH] = {VERB_BINARY_LOGIN, BINARY_SASL_AUTH, 0, KNOWN | KEY | VALUE | LOGIN},
    [BINARY_SASL_STEP] = {VERB_BINARY_LOGIN, BINARY_SASL_STEP, 0, KNOWN | KEY | VALUE | LOGIN},
};
static const struct rule unknown;

static const struct rule *binary_rule_of(const char *packet) {
    uint8_t opcode = binary_opcode(packet);
    return opcode < sizeof rules / sizeof *rules ? &rules[opcode] : &unknown;
}

uint8_t binary_plain_opcode(const char *packet) { return binary_rule_of(packet)->plain; }

bool binary_quiet(const char *packet) { return binary_rule_of(packet)->what & QUIET; }

struct lengths {
    uint32_t key, extras, body;
};

static struct lengths binary_lengths_of(const char *packet) {
    return (struct lengths){.key = binary_get16(packet + 2),
                            .extras = (uint8_t)packet[4],
                            .body = binary_get32(packet + 8)};
}

bool binary_has_key(const char *bytes, size_t n) {
    if (n < BINARY_HEAD_BYTES) {
        return false;
    }
    struct lengths have = binary_lengths_of(bytes);
    return n >= BINARY_HEAD_BYTES + have.extras + have.key;
}

static bool binary_fits(const struct rule *rule, const struct lengths *have) {
    bool no_extras = have->extras == 0 && (rule->what & EXTRAS_OR_NONE);
    bool extras = have->extras == rule->extras_bytes || no_extras;
    bool key = rule->what & KEY_OR_NONE ? true : (have->key > 0) == ((rule->what & KEY) != 0);
    bool value = rule->what & VALUE || have->body == have->extras + have->key;
    return extras && key && value;
}

/* Makes a request that only replies the status, in place of the packet. `left_bytes` behind the
 * packet's head are still to be dropped. */
static enum parsed binary_refuse(struct request *r, char *packet, enum binary_status status,
                                 uint32_t left_bytes, uint8_t flags, char **next) {
    *r = (struct request){.verb = VERB_BINARY_ANSWER,
                          .flags = (uint8_t)(REQUEST_BINARY | flags),
                          .value_bytes = left_bytes,
                          .text = packet,
                          .number = status};
    r->flags |= left_bytes > 0 ? REQUEST_SWALLOW : 0;
    *next = packet + BINARY_HEAD_BYTES;
    return PARSED;
}

/* Fills in the members that depend on the verb. */
static void binary_fill(struct request *r, char *packet, uint32_t extras_bytes) {
    const char *extras = binary_extras(packet);
    switch (r->verb) {
    case VERB_BINARY_STORE:
        r->number = binary_cas(packet);
        if (extras_bytes > 0) {
            r->client_flags = binary_get32(extras);
            r->exptime = (int32_t)binary_get32(extras + 4);
        }
        break;
    case VERB_BINARY_DELETE: r->number = binary_cas(packet); break;
    case VERB_BINARY_ARITH:
        r->number = binary_get64(extras);
        r->exptime = (int32_t)binary_get32(extras + 16);
        break;
    default: r->exptime = extras_bytes > 0 ? (int32_t)binary_get32(extras) : 0; break;
    }
}

/* Completes a request whose value starts at `value`. */
static enum parsed binary_take_value(struct request *r, char *value, char *end, char **next) {
    size_t have = (size_t)(end - value);
    *next = value;
    if (have >= r->value_bytes) {
        r->value = value;
        *next = value + r->value_bytes;
        return PARSED;
    }
    if (r->value_bytes <= PARSE_WAIT_MAX) {
        return PARSE_MORE;
    }
    return r->verb == VERB_BINARY_LOGIN ? PARSE_GROW : PARSED;
}

static enum parsed binary_parse_packet(char *packet, char *end, bool logins, struct request *r,
                                       char **next) {
    if ((uint8_t)packet[0] != BINARY_REQUEST) {
        return PARSE_CLOSE;
    }
    if (end - packet < BINARY_HEAD_BYTES) {
        return PARSE_MORE;
    }
    struct lengths have = binary_lengths_of(packet);
    const struct rule *rule = binary_rule_of(packet);
    if (have.key + have.extras > have.body) {
        return binary_refuse(r, packet, BINARY_UNKNOWN, 0, REQUEST_LAST, next);
    }
    if (have.body > BINARY_BODY_MAX || have.key > KEY_BYTES_MAX) {
        return binary_refuse(r, packet, BINARY_INVALID, 0, REQUEST_LAST, next);
    }
    if (!(rule->what & KNOWN)) {
        return binary_refuse(r, packet, BINARY_UNKNOWN, have.body, 0, next);
    }
    if (!binary_fits(rule, &have)) {
        return binary_refuse(r, packet, BINARY_INVALID, 0, REQUEST_LAST, next);
    }
    if ((rule->what & LOGIN) && !logins) {
        return binary_refuse(r, packet, BINARY_UNKNOWN, have.body, 0, next);
    }
    if ((rule->what & LOGIN) && have.body > BINARY_LOGIN_MAX) {
        return binary_refuse(r, packet, BINARY_NO_MEMORY, have.body, 0, next);
    }
    char *key = packet + BINARY_HEAD_BYTES + have.extras, *value = key + have.key;
    if (value > end) {
        return PARSE_MORE;
    }
    *r = (struct request){.verb = rule->verb,
                          .flags = REQUEST_BINARY,
                          .value_bytes = have.body - have.extras - have.key,
                          .key = have.key > 0 ? key_make(key, have.key) : (struct key){.ptr = key},
                          .text = packet};
    if (rule->plain == BINARY_QUIT) {
        r->flags |= REQUEST_LAST;
    }
    binary_fill(r, packet, have.extras);
    return binary_take_value(r, value, end, next);
}

/* True: the request must run before the next one is parsed. */
static bool binary_needs_caller(const struct request *r) {
    return verb_is_command(r->verb) || r->flags & (REQUEST_SWALLOW | REQUEST_LAST) || !r->value;
}

enum parsed binary_parse(char *at, char *end, bool logins, struct request *out, unsigned room,
                         unsigned *count, char **next) {
    enum parsed how = PARSED;
    unsigned n = 0;
    *next = at;
    for (bool more = true; more && n < room && at < end;) {
        how = binary_parse_packet(at, end, logins, &out[n], next);
        if (how != PARSED || (n > 0 && verb_is_command(out[n].verb))) {
            break;
        }
        more = !binary_needs_caller(&out[n]);
        at = *next;
        n++;
    }
    *next = at;
    *count = n;
    return n > 0 ? PARSED : how;
}

/* --- replies --- */

const char *binary_status_text(enum binary_status status) {
    switch (status) {
    case BINARY_OK: return "";
    case BINARY_NOT_FOUND: return "Not found";
    case BINARY_EXISTS: return "Data exists for key.";
    case BINARY_TOO_LARGE: return "Too large.";
    case BINARY_INVALID: return "Invalid arguments";
    case BINARY_NOT_STORED: return "Not stored.";
    case BINARY_NOT_A_NUMBER: return "Non-numeric server-side value for incr or decr";
    case BINARY_AUTH_ERROR: return "Auth failure.";
    case BINARY_AUTH_CONTINUE: return "";
    case BINARY_UNKNOWN: return "Unknown command";
    case BINARY_NO_MEMORY: return "Out of memory";
    }
    return "";
}

char *binary_put_text(char *p, uint8_t opcode, uint32_t opaque, enum binary_status status,
                      const char *text) {
    size_t bytes = strlen(text);
    struct binary_head head = {.opcode = opcode,
                               .status = (uint16_t)status,
                               .body_bytes = (uint32_t)bytes,
                               .opaque = opaque};
    p = binary_put_head(p, &head);
    memcpy(p, text, bytes);
    return p + bytes;
}
