/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whole sessions against a model: bytes become commands on a few keys, a model of a few lines has the reply of each, and the daemon behind
 * its sockets runs them. A reply that differs is a crash. The cache is large enough that nothing is evicted.
 *
 * Covers: daemon/server/verbs:verbs_classic|verbs_meta
 * daemon/cache/items:update|get_locked|set_large|link|get_lockfree|set_small|item_value
 *
 * Input: one byte that chooses store and index, then commands of COMMAND_BYTES bytes: verb, key, two bytes of argument. */
#include <inttypes.h>
#include <stdarg.h>

#include "must.h"
#include "session_fixture.h"

enum { KEYS = 4, COMMAND_BYTES = 4, COMMANDS_MAX = 400, VALUE_MAX = 6000, REPLY_MAX = 2 * VALUE_MAX };

struct value {
    bool     there, stale;
    char     bytes[VALUE_MAX];
    size_t   n;
    uint32_t flags;
};
struct model {
    struct value values[KEYS];
    char   line[VALUE_MAX + 200]; /* the request */
    size_t line_bytes;
    char   want[REPLY_MAX]; /* the reply that must come */
    size_t want_bytes;
};

__attribute__((format(printf, 2, 3))) static void ask(struct model *m, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    m->line_bytes = (size_t)vsnprintf(m->line, sizeof m->line, format, ap);
    va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void expect(struct model *m, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    m->want_bytes += (size_t)vsnprintf(m->want + m->want_bytes, sizeof m->want - m->want_bytes, format, ap);
    va_end(ap);
}

static void expect_bytes(struct model *m, const char *bytes, size_t n) {
    memcpy(m->want + m->want_bytes, bytes, n);
    m->want_bytes += n;
}

/* --- values: digits, or letters of some length --- */

static size_t make_value(char *to, unsigned argument) {
    static const size_t lengths[] = {0, 1, 20, 90, 500, 1500};
    if (argument % 3 == 0) {
        return (size_t)sprintf(to, "%u", argument);
    }
    size_t n = lengths[argument % 6] + argument % 5;
    for (size_t i = 0; i < n; i++) {
        to[i] = (char)('a' + (i + argument) % 26);
    }
    return n;
}

static void put(struct value *v, const char *bytes, size_t n, uint32_t flags) {
    v->there = true;
    v->stale = false;
    memmove(v->bytes, bytes, n);
    v->n = n;
    v->flags = flags;
}

/* The number a value holds; false: none. As memcached: digits alone, or followed by blanks. */
static bool number_of(const struct value *v, uint64_t *number) {
    char text[32];
    size_t n = v->n;
    while (n > 0 && v->bytes[n - 1] == ' ') {
        n--;
    }
    if (n == 0 || n > 20 || v->n > 20) {
        return false;
    }
    memcpy(text, v->bytes, n);
    text[n] = '\0';
    if (strspn(text, "0123456789") != n) {
        return false;
    }
    *number = strtoull(text, NULL, 10);
    return true;
}

/* --- commands: each has its request and the reply that must come --- */

static void store(struct model *m, const char *verb, char key, struct value *v, unsigned argument) {
    char bytes[VALUE_MAX];
    size_t n = make_value(bytes, argument);
    uint32_t flags = argument % 4 == 1 ? argument : 0;
    bool add = strcmp(verb, "add") == 0, replace = strcmp(verb, "replace") == 0;
    ask(m, "%s %c %u 0 %zu\r\n%.*s\r\n", verb, key, flags, n, (int)n, bytes);
    if ((add && v->there) || (replace && !v->there)) {
        expect(m, "NOT_STORED\r\n");
        return;
    }
    put(v, bytes, n, flags);
    expect(m, "STORED\r\n");
}

static void put_joined(struct value *v, bool behind, const char *bytes, size_t n) {
    memmove(v->bytes + (behind ? 0 : n), v->bytes, v->n);
    memcpy(v->bytes + (behind ? v->n : 0), bytes, n);
    v->n += n;
}

static void join(struct model *m, bool behind, char key, struct value *v, unsigned argument) {
    char bytes[VALUE_MAX];
    size_t n = make_value(bytes, argument);
    if (v->n + n > VALUE_MAX) {
        n = 0;
    }
    ask(m, "%s %c 9 0 %zu\r\n%.*s\r\n", behind ? "append" : "prepend", key, n, (int)n, bytes);
    if (!v->there) {
        expect(m, "NOT_STORED\r\n");
        return;
    }
    put_joined(v, behind, bytes, n);
    expect(m, "STORED\r\n");
}

static void count(struct model *m, bool up, char key, struct value *v, unsigned argument) {
    uint64_t number;
    ask(m, "%s %c %u\r\n", up ? "incr" : "decr", key, argument);
    if (!v->there) {
        expect(m, "NOT_FOUND\r\n");
        return;
    }
    if (!number_of(v, &number)) {
        expect(m, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
        return;
    }
    char text[32];
    number = up ? number + argument : number < argument ? 0 : number - argument;
    size_t n = (size_t)sprintf(text, "%" PRIu64, number);
    expect(m, "%s\r\n", text);
    size_t width = v->n > n ? v->n : n; /* a number that gets shorter is followed by blanks */
    memset(v->bytes, ' ', width);
    memcpy(v->bytes, text, n);
    v->n = width;
}

static void expect_value(struct model *m, char key, const struct value *v) {
    if (v->there) {
        expect(m, "VALUE %c %u %zu\r\n", key, v->flags, v->n);
        expect_bytes(m, v->bytes, v->n);
        expect(m, "\r\n");
    }
}

static void fetch(struct model *m, char key, const struct value *v, unsigned argument) {
    switch (argument % 3) {
    case 0:
        ask(m, "get %c\r\n", key);
        expect_value(m, key, v);
        expect(m, "END\r\n");
        break;
    case 1:
        ask(m, "gat 0 %c absent\r\n", key);
        expect_value(m, key, v);
        expect(m, "END\r\n");
        break;
    default:
        ask(m, "mg %c s v f k\r\n", key);
        if (!v->there) {
            expect(m, "EN k%c\r\n", key);
            break;
        }
        expect(m, "VA %zu s%zu f%u k%c%s\r\n", v->n, v->n, v->flags, key, v->stale ? " W X" : "");
        expect_bytes(m, v->bytes, v->n);
        expect(m, "\r\n");
        break;
    }
}

static void meta_store(struct model *m, char key, struct value *v, unsigned argument) {
    static const char modes[] = "SERAP";
    char mode = modes[argument % 5], bytes[VALUE_MAX];
    size_t n = make_value(bytes, argument / 5);
    if (v->n + n > VALUE_MAX) {
        n = 0;
    }
    ask(m, "ms %c %zu M%c F%u\r\n%.*s\r\n", key, n, mode, argument, (int)n, bytes);
    bool refused = mode == 'E' ? v->there : mode != 'S' && !v->there;
    expect(m, refused ? "NS\r\n" : "HD\r\n");
    if (refused) {
        return;
    }
    if (mode == 'A' || mode == 'P') {
        put_joined(v, mode == 'A', bytes, n);
    } else {
        put(v, bytes, n, argument);
    }
}

static void drop(struct model *m, char key, struct value *v, unsigned argument) {
    bool meta = argument % 2;
    ask(m, meta ? "md %c\r\n" : "delete %c\r\n", key);
    expect(m, v->there ? meta ? "HD\r\n" : "DELETED\r\n" : meta ? "NF\r\n" : "NOT_FOUND\r\n");
    v->there = v->stale = false;
    v->n = 0;
}

static void touch(struct model *m, char key, const struct value *v) {
    ask(m, "touch %c 0\r\n", key);
    expect(m, v->there ? "TOUCHED\r\n" : "NOT_FOUND\r\n");
}

static void flush(struct model *m) {
    ask(m, "flush_all\r\n");
    expect(m, "OK\r\n");
    for (int i = 0; i < KEYS; i++) {
        m->values[i].there = m->values[i].stale = false;
        m->values[i].n = 0;
    }
}

static void next_command(struct model *m, const uint8_t *bytes) {
    struct value *v = &m->values[bytes[1] % KEYS];
    char key = (char)('k' + bytes[1] % KEYS);
    unsigned argument = bytes[2] | (unsigned)bytes[3] << 8;
    m->want_bytes = 0;
    switch (bytes[0] % 13) {
    case 0: case 1: store(m, "set", key, v, argument); break;
    case 2: store(m, "add", key, v, argument); break;
    case 3: store(m, "replace", key, v, argument); break;
    case 4: join(m, true, key, v, argument); break;
    case 5: join(m, false, key, v, argument); break;
    case 6: count(m, true, key, v, argument); break;
    case 7: count(m, false, key, v, argument); break;
    case 8: drop(m, key, v, argument); break;
    case 9: touch(m, key, v); break;
    case 10: meta_store(m, key, v, argument); break;
    case 11:
        if (argument % 16 == 0) {
            flush(m);
            break;
        }
        /* fall through */
    default: fetch(m, key, v, argument); break;
    }
}

static void differ(const struct model *m, const struct client *c, size_t at) {
    fprintf(stderr, "broken: asked   %.*s\nwanted  %.*s\nanswer  %.*s\n", (int)m->line_bytes, m->line, (int)m->want_bytes, m->want,
            (int)(c->out_bytes - at), c->out ? c->out + at : "");
    abort();
}

/* The first byte of an input chooses a store and a kind of index. */
static void choose(uint8_t byte, char *options, size_t room) {
    static const char *const stores[] = {"slab", "heap", "blocks"};
    enum { STORES = sizeof stores / sizeof *stores };
    unsigned kinds = 0;
    while (index_kinds[kinds] != NULL) {
        kinds++;
    }
    snprintf(options, room, "-m 16 --store=%s --index=%s", stores[byte % STORES], index_kinds[byte / STORES % kinds]->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    static struct rig rig;
    static struct model m;
    struct client client;
    char options[60];
    if (n < 1 + COMMAND_BYTES) {
        return 0;
    }
    choose(data[0], options, sizeof options);
    memset(&m, 0, sizeof m);
    if (!rig_open(&rig, options)) {
        abort();
    }
    client_open(&client);
    for (size_t at = 1, i = 0; at + COMMAND_BYTES <= n && i < COMMANDS_MAX; at += COMMAND_BYTES, i++) {
        next_command(&m, data + at);
        size_t before = client.out_bytes;
        client_send(&rig, &client, m.line, m.line_bytes);
        if (client.out_bytes - before != m.want_bytes || memcmp(client.out + before, m.want, m.want_bytes) != 0) {
            differ(&m, &client, before);
        }
    }
    client_close(&rig, &client);
    rig_close(&rig);
    return 0;
}
