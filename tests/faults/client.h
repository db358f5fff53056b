/* A client that knows its stored values, and so the possible replies after a fault: a hit has the whole last value, a miss needs a reason,
 * an error has one of the known texts, and a connection may be closed but never hangs. */
#ifndef FAULTS_CLIENT_H
#define FAULTS_CLIENT_H
#include "server.h"

enum { KNOWN_MAX = 64, KEY_ROOM = 32, LINE_ROOM = 512, VALUE_LEAST = 40, WHY_ROOM = 600 };
enum heard { HEARD, CLOSED, HUNG };

struct known {
    char     key[KEY_ROOM];
    uint32_t stored, bytes;             /* the serial of the last acknowledged value; 0: none */
    uint32_t maybe_stored, maybe_bytes; /* sent without a reply so far */
    bool     may_miss;
};

struct client {
    struct server *server;
    int    fd; /* -1: not connected */
    char  *in; /* received and unread bytes: from `at` to `have` */
    size_t at, have, room;
    char   asked[64];       /* the request that was sent last */
    char   line[LINE_ROOM]; /* the line that ended the last answer */
    struct known known[KNOWN_MAX];
    unsigned known_count;
    uint32_t serial;
    bool     may_lose;      /* items may be evicted */
    unsigned hits, misses, refused, closed; /* so far */
    char   why[WHY_ROOM];   /* the first violation; "": none */
};

__attribute__((format(printf, 2, 3))) static inline void client_blame(struct client *c, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    if (c->why[0] == '\0') {
        vsnprintf(c->why, sizeof c->why, format, ap);
    }
    va_end(ap);
}

static inline void client_drop(struct client *c) {
    if (c->fd >= 0) {
        close(c->fd);
    }
    c->fd = -1;
    c->at = c->have = 0;
}

static inline void client_init(struct client *c, struct server *s) {
    memset(c, 0, sizeof *c);
    c->server = s;
    c->fd = -1;
}

static inline void client_fini(struct client *c) {
    client_drop(c);
    free(c->in);
}

/* Connects unless connected; false: no server listens. */
static inline bool client_connect(struct client *c) {
    if (c->fd < 0) {
        c->fd = server_connect(c->server);
    }
    return c->fd >= 0;
}

static inline enum heard client_lost(struct client *c, enum heard how) {
    if (how == CLOSED) {
        c->closed++;
    } else {
        client_blame(c, "no answer in half a minute to '%s'", c->asked);
    }
    client_drop(c);
    return how;
}

/* Sends all bytes while reading replies, so that neither side waits for the other. */
static inline enum heard client_send(struct client *c, const char *bytes, size_t n);

/* Waits for more bytes. */
static inline enum heard client_more(struct client *c) {
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    if (c->room - c->have < 65536) {
        if (c->at > 0) {
            memmove(c->in, c->in + c->at, c->have - c->at);
            c->have -= c->at;
            c->at = 0;
        }
        if (c->room - c->have < 65536) {
            c->room = c->room * 2 + 131072;
            c->in = realloc(c->in, c->room);
        }
    }
    if (poll(&p, 1, HANG_MS) <= 0) {
        return client_lost(c, HUNG);
    }
    ssize_t n = recv(c->fd, c->in + c->have, c->room - c->have, 0);
    if (n <= 0) {
        return client_lost(c, CLOSED);
    }
    c->have += (size_t)n;
    return HEARD;
}

static inline enum heard client_send(struct client *c, const char *bytes, size_t n) {
    snprintf(c->asked, sizeof c->asked, "%.*s", (int)strcspn(bytes, "\r"), bytes);
    if (!client_connect(c)) {
        return client_lost(c, CLOSED);
    }
    while (n > 0) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN | POLLOUT};
        if (poll(&p, 1, HANG_MS) <= 0) {
            return client_lost(c, HUNG);
        }
        if (p.revents & POLLIN && client_more(c) != HEARD) {
            return CLOSED;
        }
        if (p.revents & POLLOUT) {
            ssize_t sent = send(c->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN) {
                return client_lost(c, CLOSED);
            }
            bytes += sent > 0 ? sent : 0;
            n -= sent > 0 ? (size_t)sent : 0;
        } else if (p.revents & (POLLERR | POLLHUP)) {
            return client_lost(c, CLOSED);
        }
    }
    return HEARD;
}

/* The next line without its end, into c->line. */
static inline enum heard client_line(struct client *c) {
    for (;;) {
        char *from = c->in + c->at, *end = c->have > c->at ? memchr(from, '\n', c->have - c->at) : NULL;
        if (end) {
            size_t n = (size_t)(end - from);
            c->at += n + 1;
            n -= n > 0 && from[n - 1] == '\r';
            n = n < LINE_ROOM - 1 ? n : LINE_ROOM - 1;
            memcpy(c->line, from, n);
            c->line[n] = '\0';
            return HEARD;
        }
        if (client_more(c) != HEARD) {
            return CLOSED;
        }
    }
}

/* --- values that name their key --- */

static inline void value_make(char *to, size_t bytes, const char *key, uint32_t serial) {
    int n = snprintf(to, bytes, "%s:%u:%zu:", key, serial, bytes);
    for (size_t i = (size_t)n; i < bytes; i++) {
        to[i] = (char)('a' + (i * 7 + i / 13 + serial) % 26);
    }
}

static inline struct known *client_known(struct client *c, const char *key) {
    for (unsigned i = 0; i < c->known_count; i++) {
        if (strcmp(c->known[i].key, key) == 0) {
            return &c->known[i];
        }
    }
    if (c->known_count == KNOWN_MAX) {
        give_up("a client knows too many keys");
    }
    struct known *k = &c->known[c->known_count++];
    memset(k, 0, sizeof *k);
    snprintf(k->key, sizeof k->key, "%s", key);
    return k;
}

static inline bool value_is(const char *value, size_t bytes, const struct known *k, uint32_t serial, size_t want) {
    if (serial == 0 || bytes != want) {
        return false;
    }
    char *made = malloc(bytes);
    value_make(made, bytes, k->key, serial);
    bool same = memcmp(made, value, bytes) == 0;
    free(made);
    return same;
}

/* The data block behind a VALUE or VA line. */
static inline enum heard client_value(struct client *c, const char *key, size_t bytes) {
    while (c->have - c->at < bytes + 2) {
        if (client_more(c) != HEARD) {
            return CLOSED;
        }
    }
    const char *value = c->in + c->at;
    struct known *k = client_known(c, key);
    if (memcmp(value + bytes, "\r\n", 2) != 0) {
        client_blame(c, "a value of %s is not followed by a line's end", key);
    } else if (!value_is(value, bytes, k, k->stored, k->bytes) &&
               !value_is(value, bytes, k, k->maybe_stored, k->maybe_bytes)) {
        client_blame(c, "a wrong value of %s: %zu bytes, %.40s", key, bytes, value);
    }
    c->hits++;
    c->at += bytes + 2;
    return HEARD;
}

/* --- requests --- */

static inline bool is_refusal(const char *line) {
    static const char *const texts[] = {
        "SERVER_ERROR out of memory storing object", "SERVER_ERROR out of memory", "SERVER_ERROR out of memory preparing response",
        "SERVER_ERROR out of memory writing get response", "SERVER_ERROR out of memory writing stats",
        "SERVER_ERROR out of memory reading request", "SERVER_ERROR object too large for cache",
        "SERVER_ERROR Out of memory during read",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(line, texts[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Lines after which a reply goes on. */
static inline bool goes_on(const char *line) {
    static const char *const words[] = {"STAT ", "CONFIG ", "key=", "ITEM ", "mg "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(line, words[i], strlen(words[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Reads to the end of one reply. Its last line must begin with one of `wants`, words parted by |, or refuse. */
static inline enum heard client_answer(struct client *c, const char *request, const char *wants) {
    for (;;) {
        char key[KEY_ROOM];
        unsigned long flags;
        size_t bytes;
        enum heard how = client_line(c);
        if (how != HEARD) {
            return how;
        }
        if (sscanf(c->line, "VALUE %31s %lu %zu", key, &flags, &bytes) == 3) {
            if (client_value(c, key, bytes) != HEARD) {
                return CLOSED;
            }
        } else if (!goes_on(c->line)) {
            break;
        }
    }
    if (is_refusal(c->line)) {
        c->refused++;
        return HEARD;
    }
    for (const char *want = wants; want; want = strchr(want, '|') ? strchr(want, '|') + 1 : NULL) {
        if (strncmp(c->line, want, strcspn(want, "|")) == 0) {
            return HEARD;
        }
    }
    client_blame(c, "'%.60s' was answered '%s'", request, c->line);
    return HEARD;
}

/* A command of one line. */
static inline enum heard client_command(struct client *c, const char *command, const char *wants) {
    char line[LINE_ROOM];
    int n = snprintf(line, sizeof line, "%s\r\n", command);
    enum heard how = client_send(c, line, (size_t)n);
    return how == HEARD ? client_answer(c, command, wants) : how;
}

static inline void client_set(struct client *c, const char *key, size_t bytes) {
    struct known *k = client_known(c, key);
    uint32_t serial = ++c->serial;
    char *request = malloc(bytes + 100);
    int n = snprintf(request, 100, "set %s 0 0 %zu\r\n", key, bytes);
    value_make(request + n, bytes, key, serial);
    memcpy(request + n + bytes, "\r\n", 2);
    k->maybe_stored = serial;
    k->maybe_bytes = (uint32_t)bytes;
    enum heard how = client_send(c, request, (size_t)n + bytes + 2);
    free(request);
    if (how == HEARD) {
        how = client_answer(c, "set", "STORED");
    }
    if (how != HEARD) { /* the new value was stored or not, or the old one was lost as memory ran out midway */
        k->may_miss = true;
        return;
    }
    bool stored = strcmp(c->line, "STORED") == 0;
    *k = (struct known){.stored = stored ? serial : 0, .bytes = stored ? (uint32_t)bytes : 0, .may_miss = !stored};
    snprintf(k->key, sizeof k->key, "%s", key);
}

static inline void client_delete(struct client *c, const char *key) {
    char command[KEY_ROOM + 16];
    snprintf(command, sizeof command, "delete %s", key);
    struct known *k = client_known(c, key);
    enum heard how = client_command(c, command, "DELETED|NOT_FOUND");
    k->may_miss = true;
    if (how == HEARD && !is_refusal(c->line)) {
        k->stored = k->maybe_stored = 0;
    }
}

/* Reads keys, words parted by blanks, in one request. */
static inline void client_get(struct client *c, const char *keys) {
    char command[LINE_ROOM];
    unsigned hits = c->hits, may_miss = 0, count = 0;
    char words[LINE_ROOM];
    snprintf(command, sizeof command, "get %s", keys);
    snprintf(words, sizeof words, "%s", keys);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        const struct known *k = client_known(c, word);
        count++;
        may_miss += k->may_miss || k->stored == 0;
    }
    if (client_command(c, command, "END") == HEARD && strcmp(c->line, "END") == 0) {
        unsigned missed = count - (c->hits - hits);
        c->misses += missed;
        if (missed > may_miss && !c->may_lose) {
            client_blame(c, "'%s' misses %u values that were stored", command, missed - may_miss);
        }
    }
}

/* A new client finds every key as this one knows it, and can work. No call fails any more. */
static inline void client_recheck(struct client *c) {
    client_drop(c);
    unsigned refused = c->refused, closed = c->closed;
    client_command(c, "version", "VERSION ");
    client_set(c, "check", 100);
    client_get(c, "check");
    for (unsigned i = 0; i < c->known_count; i++) {
        client_get(c, c->known[i].key);
    }
    client_command(c, "mn", "MN");
    if (c->refused != refused || c->closed != closed) {
        client_blame(c, "a client that came after the fault was %s", c->closed != closed ? "hung up on" : "refused");
    }
}
#endif
