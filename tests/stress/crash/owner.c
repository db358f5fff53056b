#include "crash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 16, RECORD = 8, RECORDS_MOST = 500, TIME_SLACK_S = 4, READ_AT_ONCE = 50 };

enum kind { VALUE, NUMBER, RECORDS, KINDS }; /* by key number */

/* The state of a key: missing, or a version of a value, a number, so many records. */
struct state {
    bool     there;
    uint64_t version;
    uint32_t bytes;
    int64_t  ttl_s; /* 0: the key never expires; otherwise its time to live at some moment between these two */
    int64_t  asked_unix_s, answered_unix_s;
};
struct entry {
    struct state now, then; /* acknowledged; and if the request under way was executed */
    bool         under_way, cas_known;
    uint64_t     cas;
};
enum action { SET, SWAP, DELETE, TOUCH, COUNT_UP, APPEND };
struct request {
    unsigned    key;
    enum action action;
};
struct owner {
    unsigned     number;
    uint64_t     random, version;
    struct entry keys[KEYS];
    struct wire  wire;
    char         value[VALUE_MOST + 16]; /* the key is as it should be */
};

struct owner *owner_create(unsigned number, uint64_t seed) {
    struct owner *o = calloc(1, sizeof *o);
    if (o != NULL) {
        o->number = number;
        o->wire.fd = -1;
        o->random = seed * 0x9e3779b97f4a7c15u + number + 1;
    }
    return o;
}

void owner_forget(struct owner *o) { memset(o->keys, 0, sizeof o->keys); }

uint64_t owner_present(const struct owner *o) {
    uint64_t n = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        n += o->keys[i].now.there;
    }
    return n;
}

static enum kind kind_of(unsigned key) { return key % 50 == 0 ? NUMBER : key % 50 == 1 ? RECORDS : VALUE; }

/* Names its owner, key and version; no 8 bytes equal those at another offset, or of another value. */
static void make_value(char *to, const struct owner *o, unsigned key, uint64_t version, uint32_t bytes) {
    uint64_t x = (o->number + 1) * 0x9e3779b97f4a7c15u ^ key * 0xd1b54a32d192ed03u ^ version * 0xff51afd7ed558ccdu;
    for (uint32_t i = (uint32_t)snprintf(to, 64, "%u:%u:%" PRIu64 ":", o->number, key, version); i < bytes; i += 8) {
        x ^= x >> 33, x *= 0xff51afd7ed558ccdu, x ^= x >> 29;
        memcpy(to + i, &x, bytes - i < 8 ? bytes - i : 8);
    }
}

static uint32_t some_bytes(struct owner *o) {
    uint64_t x = next_random(&o->random);
    unsigned of = (unsigned)(x % 100), spread = (unsigned)(x >> 32);
    return of < 80 ? 80 + spread % 900 : of < 93 ? 1000 + spread % 3000 : of < 97 ? 4000 + spread % 12000 : 17000 + spread % (VALUE_MOST - 17000);
}

/* --- requests --- */

static enum action choose(struct owner *o, unsigned key) {
    const struct entry *e = &o->keys[key];
    unsigned of = (unsigned)(next_random(&o->random) % 100);
    if (of < 8 && e->now.there) {
        return DELETE;
    }
    switch (kind_of(key)) {
    case NUMBER: return e->now.there ? COUNT_UP : SET;
    case RECORDS: return e->now.there && e->now.version < RECORDS_MOST ? APPEND : SET;
    case VALUE:
    case KINDS: break;
    }
    return of < 20 && e->now.there ? TOUCH : of < 35 && e->now.there && e->cas_known ? SWAP : SET;
}

static bool sets_time(enum action a) { return a == SET || a == SWAP || a == TOUCH; }

/* Writes the request and notes the state that the request will make. */
static void write_request(struct owner *o, const struct request *r) {
    struct entry *e = &o->keys[r->key];
    struct wire *w = &o->wire;
    unsigned ttl_s = next_random(&o->random) % 4 == 0 ? 1000 + (unsigned)(next_random(&o->random) % 1000) : 0;
    e->under_way = true;
    e->then = e->now;
    e->then.there = r->action != DELETE;
    if (sets_time(r->action)) {
        e->then.ttl_s = ttl_s;
        e->then.asked_unix_s = time(NULL);
    }
    switch (r->action) {
    case SET:
    case SWAP:
        if (kind_of(r->key) == NUMBER) {
            e->then.version = 0;
            e->then.bytes = 1;
            memcpy(o->value, "0", 1);
        } else if (kind_of(r->key) == RECORDS) {
            e->then.version = 1;
            e->then.bytes = RECORD;
            memcpy(o->value, "00000001", RECORD);
        } else {
            /* in half the cases a value that overwrites the old one in place */
            bool as_long = e->now.there && next_random(&o->random) % 2 == 0;
            e->then.version = ++o->version;
            e->then.bytes = as_long ? e->now.bytes : some_bytes(o);
            make_value(o->value, o, r->key, e->then.version, e->then.bytes);
        }
        wire_say(w, "ms o%u-%u %u c T%u", o->number, r->key, e->then.bytes, ttl_s);
        if (r->action == SWAP) {
            wire_say(w, " C%" PRIu64, e->cas);
        }
        wire_say(w, "\r\n");
        memcpy(wire_room(w, e->then.bytes), o->value, e->then.bytes);
        wire_say(w, "\r\n");
        break;
    case DELETE: wire_say(w, "md o%u-%u\r\n", o->number, r->key); break;
    case TOUCH: wire_say(w, "mg o%u-%u T%u\r\n", o->number, r->key, ttl_s); break;
    case COUNT_UP:
        e->then.version++;
        wire_say(w, "ma o%u-%u c\r\n", o->number, r->key);
        break;
    case APPEND:
        e->then.version++;
        e->then.bytes += RECORD;
        wire_say(w, "ms o%u-%u %d c MA\r\n%08" PRIu64 "\r\n", o->number, r->key, RECORD, e->then.version);
        break;
    }
}

/* Takes a reply. A tight server may have evicted the old value: then the key is as new. */
static bool take_answer(struct owner *o, const struct place *place, const struct request *r) {
    struct entry *e = &o->keys[r->key];
    const char *line = wire_line(&o->wire);
    if (line == NULL) {
        return false;
    }
    COUNT(answered);
    e->under_way = false;
    if (strncmp(line, "HD", 2) == 0) {
        e->now = e->then;
        if (sets_time(r->action)) {
            e->now.answered_unix_s = time(NULL); /* the server, or this process, may have been stopped meanwhile */
        }
        const char *cas = strstr(line, " c");
        if (cas != NULL && r->action != TOUCH) {
            e->cas = strtoull(cas + 2, NULL, 10);
            e->cas_known = true;
            if (!cas_is_new(e->cas)) {
                COUNT(cas_repeated);
            }
        }
        return true;
    }
    if (place->roomy && strncmp(line, "SERVER_ERROR", 12) != 0) {
        COUNT(lost);
        printf("# o%u-%u: what was stored is gone while the server runs: %s\n", o->number, r->key, line);
    }
    e->now.there = false; /* refused for want of memory, or evicted */
    return true;
}

void owner_work(struct owner *o, const struct place *place, _Atomic bool *stop) {
    struct request batch[BATCH];
    bool goes_on = wire_open_path(&o->wire, place->socket);
    while (goes_on && !atomic_load(stop)) {
        unsigned count = 1 + (unsigned)(next_random(&o->random) % BATCH), first = (unsigned)(next_random(&o->random) % KEYS);
        for (unsigned i = 0; i < count; i++) { /* each key once a batch */
            unsigned key = (first + i * 37) % KEYS;
            batch[i] = (struct request){.key = key, .action = choose(o, key)};
            write_request(o, &batch[i]);
        }
        goes_on = wire_flush(&o->wire);
        for (unsigned i = 0; goes_on && i < count; i++) {
            goes_on = take_answer(o, place, &batch[i]);
        }
        place_answered(1);
    }
    wire_free(&o->wire);
}

/* --- items that came back --- */

struct found {
    bool     there;
    char     line[256];
    const char *value; /* in the wire's buffer */
    uint32_t bytes;
    uint64_t cas;
    int64_t  ttl_s; /* -1: never expires; at some moment between these two */
    int64_t  asked_unix_s, answered_unix_s;
};

/* The next answer to `mg KEY v c t`. */
static bool read_key(struct owner *o, struct found *f) {
    const char *line = wire_line(&o->wire);
    if (line == NULL) {
        return false;
    }
    snprintf(f->line, sizeof f->line, "%s", line);
    f->there = strncmp(line, "VA ", 3) == 0;
    f->answered_unix_s = time(NULL);
    if (!f->there) {
        return strcmp(line, "EN") == 0;
    }
    const char *cas = strstr(f->line, " c"), *ttl = strstr(f->line, " t");
    f->bytes = (uint32_t)strtoul(f->line + 3, NULL, 10);
    f->cas = cas != NULL ? strtoull(cas + 2, NULL, 10) : 0;
    f->ttl_s = ttl != NULL ? strtoll(ttl + 2, NULL, 10) : 0;
    return f->bytes <= VALUE_MOST && (f->value = wire_block(&o->wire, f->bytes)) != NULL;
}

/* Whether the value read is this state's value. */
static bool is_value_of(struct owner *o, unsigned key, const struct found *f, const struct state *s) {
    if (!s->there || !f->there) {
        return s->there == f->there;
    }
    switch (kind_of(key)) {
    case NUMBER: return strtoull(f->value, NULL, 10) == s->version;
    case RECORDS:
        for (uint64_t i = 0; i < s->version && f->bytes == s->version * RECORD; i++) {
            char record[24];
            snprintf(record, sizeof record, "%08" PRIu64, i + 1);
            if (memcmp(f->value + i * RECORD, record, RECORD) != 0) {
                return false;
            }
        }
        return f->bytes == s->version * RECORD;
    case VALUE:
    case KINDS: break;
    }
    make_value(o->value, o, key, s->version, s->bytes);
    return f->bytes == s->bytes && memcmp(f->value, o->value, s->bytes) == 0;
}

/* Whether the value is complete, and was this key's value at some time. */
static bool is_some_value(struct owner *o, unsigned key, const struct found *f) {
    uint64_t version;
    unsigned number, of;
    if (kind_of(key) != VALUE || sscanf(f->value, "%u:%u:%" SCNu64 ":", &number, &of, &version) != 3) {
        return kind_of(key) != VALUE;
    }
    make_value(o->value, o, key, version, f->bytes);
    return memcmp(f->value, o->value, f->bytes) == 0;
}

static void complain(struct owner *o, unsigned key, const struct found *f, const char *what) {
    const struct entry *e = &o->keys[key];
    printf("# o%u-%u %s: answered: there %d version %" PRIu64 " bytes %u cas %" PRIu64 "; under way %d: there %d version %" PRIu64 "; read: %.100s\n",
           o->number, key, what, e->now.there, e->now.version, e->now.bytes, e->cas, e->under_way, e->then.there, e->then.version,
           f->line);
}

/* Whether the item has the remaining time to live of this state. */
static bool ends_with(const struct found *f, const struct state *s) {
    if (s->ttl_s == 0 || f->ttl_s < 0) {
        return s->ttl_s == 0 && f->ttl_s < 0;
    }
    return f->ttl_s >= s->asked_unix_s + s->ttl_s - f->answered_unix_s - TIME_SLACK_S &&
           f->ttl_s <= s->answered_unix_s + s->ttl_s - f->asked_unix_s + TIME_SLACK_S;
}

static void judge(struct owner *o, const struct place *place, unsigned key, const struct found *f) {
    struct entry *e = &o->keys[key];
    bool as_answered = is_value_of(o, key, f, &e->now);
    bool as_asked = e->under_way && is_value_of(o, key, f, &e->then);
    COUNT(read);
    if (e->now.there) {
        COUNT(stored);
    }
    if (!as_answered && !as_asked) {
        if (!f->there) { /* the key was stored; one that was being overwritten may be missing */
            if (e->under_way) {
                COUNT(lost_in_flight);
            } else if (place->roomy) {
                COUNT(lost);
                complain(o, key, f, "is gone");
            }
        } else if (!is_some_value(o, key, f)) {
            COUNT(corrupt);
            complain(o, key, f, "is corrupt");
        } else if (!e->now.there) {
            COUNT(resurrected);
            complain(o, key, f, "was deleted and is back");
        } else {
            COUNT(old_value);
            complain(o, key, f, "has a value that was replaced");
        }
    } else if (f->there && !e->under_way) {
        if (e->cas_known && f->cas != e->cas) {
            COUNT(cas_changed);
            complain(o, key, f, "has another CAS");
        }
        if (!ends_with(f, &e->now)) {
            COUNT(wrong_time);
            complain(o, key, f, "ends at another time");
        }
    }
    /* from here on the found state is the known state */
    struct state is = as_asked ? e->then : e->now;
    is.there = f->there;
    is.ttl_s = f->ttl_s > 0 ? f->ttl_s : 0;
    is.asked_unix_s = f->asked_unix_s;
    is.answered_unix_s = f->answered_unix_s;
    *e = (struct entry){.now = is, .cas = f->cas, .cas_known = f->there};
}

void owner_verify(struct owner *o, const struct place *place) {
    bool goes_on = wire_open_path(&o->wire, place->socket);
    for (unsigned first = 0; goes_on && first < KEYS; first += READ_AT_ONCE) {
        int64_t asked_unix_s = time(NULL);
        for (unsigned i = 0; i < READ_AT_ONCE; i++) {
            wire_say(&o->wire, "mg o%u-%u v c t\r\n", o->number, first + i);
        }
        goes_on = wire_flush(&o->wire);
        for (unsigned key = first; goes_on && key < first + READ_AT_ONCE; key++) {
            struct found found = {.asked_unix_s = asked_unix_s}, *f = &found;
            goes_on = read_key(o, f);
            if (goes_on) {
                judge(o, place, key, f);
            } else if (place->crash_at == NULL) { /* a server that is to crash may have reached that point by itself, and is read later */
                COUNT(corrupt);
                complain(o, key, f, "cannot be read");
            }
        }
    }
    wire_free(&o->wire);
}
