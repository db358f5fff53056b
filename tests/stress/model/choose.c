/* Chooses and writes a request. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "request.h"
#include "rng.h"

enum { CAS_GIVEN = 60, CAS_ABSENT = 50, LINE_REPLY_BYTES = 400, BINARY_KEY_MOST = KEY_BYTES / 4 * 3 };

static uint32_t some_bytes(uint64_t *random) {
    uint64_t dice = rng_below(random, 1000);
    return dice < 60    ? (uint32_t)rng_below(random, SEGMENT_HEAD_BYTES)
           : dice < 600 ? (uint32_t)rng_below(random, 600)
           : dice < 860 ? (uint32_t)rng_below(random, 10 * 1000)
           : dice < 975 ? (uint32_t)rng_below(random, 100 * 1000)
           : dice < 996 ? (uint32_t)rng_below(random, 600 * 1000)
                        : (uint32_t)rng_below(random, 3000 * 1000);
}

static int32_t some_exptime(uint64_t *random) {
    uint64_t dice = rng_below(random, 100);
    return dice < 70 ? 0 : dice < 90 ? EXPTIME_LONG_S : dice < 98 ? 1 + (int32_t)rng_below(random, EXPTIME_SHORT_S) : -1;
}

static uint64_t some_number(uint64_t *random) {
    return rng_one_in(random, 20) ? UINT64_MAX - rng_below(random, 10) : rng_next(random) >> (1 + rng_below(random, 63));
}

static unsigned digits(uint64_t n) {
    char text[24];
    return (unsigned)snprintf(text, sizeof text, "%" PRIu64, n);
}

static struct segment some_segment(uint64_t *random, uint32_t version, bool numbers) {
    if (numbers && rng_one_in(random, 6)) {
        uint64_t n = some_number(random);
        return (struct segment){.kind = SEGMENT_NUMBER, .number = n, .bytes = digits(n)};
    }
    return (struct segment){.kind = SEGMENT_GENERATED, .version = version, .bytes = some_bytes(random)};
}

/* A CAS to compare with: mostly the present one. An unknown one is never hit by chance. */
static uint64_t some_cas(uint64_t *random, const struct entry *e) {
    uint64_t absent = UINT64_C(1) << CAS_ABSENT | (rng_next(random) & 0xffffff);
    return e->cas == 0 || rng_one_in(random, 8) ? absent : e->cas;
}

static void choose_show(struct request *r, uint64_t *random, const char *letters) {
    unsigned n = 0;
    for (; *letters != '\0' && n + 2 < SHOW_MAX; letters++) {
        if (rng_one_in(random, 2)) {
            unsigned at = (unsigned)rng_below(random, n + 1);
            memmove(r->show + at + 1, r->show + at, n - at);
            r->show[at] = *letters;
            n++;
        }
    }
    r->show[n] = '\0';
}

static void choose_compare(struct request *r, uint64_t *random, unsigned one_in) {
    r->compares = rng_one_in(random, one_in);
    r->compare_cas = some_cas(random, r->e[0]);
}

static void choose_touch(struct request *r, uint64_t *random, unsigned one_in) {
    r->touches = rng_one_in(random, one_in);
    r->exptime = r->touches ? some_exptime(random) : 0;
}

/* The requested return flags, `letter` included. */
static void show_also(struct request *r, char letter) {
    size_t n = strlen(r->show);
    if (strchr(r->show, letter) == NULL) {
        r->show[n] = letter;
        r->show[n + 1] = '\0';
    }
}

static void choose_vivify(struct request *r, uint64_t *random, unsigned one_in) {
    r->vivifies = rng_one_in(random, one_in);
    r->vivify_exptime = rng_one_in(random, 2) ? 0 : EXPTIME_LONG_S;
}

static void choose_given_cas(struct request *r, uint64_t *random) {
    r->give_cas = rng_one_in(random, 12) ? UINT64_C(1) << CAS_GIVEN | rng_next(random) >> 16 : 0;
}

/* A lower CAS may replace, too: only where the model surely knows the CAS there is. */
static void choose_lower(struct request *r, uint64_t *random) {
    const struct entry *e = r->e[0];
    if (e->pending == 0 && e->cas_known && e->cas > 10 && rng_one_in(random, 8)) {
        r->compares = r->lower = true;
        r->compare_cas = e->cas - 3 + rng_below(random, 6);
    }
}

static void choose_ms(struct request *r, uint64_t *random) {
    choose_show(r, random, "ckOs");
    choose_given_cas(r, random);
    r->binary = r->e[0]->key_bytes <= BINARY_KEY_MOST && rng_one_in(random, 10);
    r->touches = true;
    if (r->op == OP_MS_SET || r->op == OP_MS_REPLACE || r->op == OP_MS_APPEND || r->op == OP_MS_PREPEND) {
        choose_compare(r, random, 4);
    }
    if (r->op == OP_MS_SET) {
        choose_lower(r, random);
    }
    if (r->op == OP_MS_APPEND || r->op == OP_MS_PREPEND) {
        choose_vivify(r, random, 3);
        if (r->vivifies) {
            show_also(r, 's'); /* its reply shows whether the key was made */
        }
    }
}

static void choose_mg(struct request *r, uint64_t *random) {
    choose_show(r, random, "vcfhkOslt");
    choose_given_cas(r, random);
    choose_compare(r, random, 12);
    r->binary = r->e[0]->key_bytes <= BINARY_KEY_MOST && rng_one_in(random, 10);
    if (rng_one_in(random, 2)) {
        choose_vivify(r, random, 4);
    } else {
        choose_touch(r, random, 6);
    }
    r->recache_s = !r->vivifies && rng_one_in(random, 6) ? rng_one_in(random, 2) ? 10 : 2 * EXPTIME_LONG_S : 0;
    r->segment = (struct segment){.kind = SEGMENT_GENERATED};
}

static void choose_md(struct request *r, uint64_t *random) {
    choose_show(r, random, "kO");
    choose_given_cas(r, random);
    choose_compare(r, random, 4);
    r->invalidates = !rng_one_in(random, 3);
    r->drops_value = rng_one_in(random, 5);
    if (r->invalidates || r->drops_value) {
        choose_touch(r, random, 3);
    }
}

static void choose_ma(struct request *r, uint64_t *random) {
    choose_show(r, random, "vtckO");
    choose_given_cas(r, random);
    choose_compare(r, random, 6);
    if (rng_one_in(random, 2)) {
        choose_vivify(r, random, 2);
    } else {
        choose_touch(r, random, 6);
    }
    if (r->vivifies) {
        show_also(r, 'v'); /* its reply shows whether the key was made */
    }
    uint64_t n = some_number(random);
    r->segment = (struct segment){.kind = SEGMENT_NUMBER, .number = n, .bytes = digits(n)};
}

static const unsigned char weights[OP_ME + 1] = {
    [OP_SET] = 12, [OP_ADD] = 4, [OP_REPLACE] = 4, [OP_APPEND] = 4, [OP_PREPEND] = 4, [OP_CAS] = 6, [OP_INCR] = 5, [OP_DECR] = 4,
    [OP_TOUCH] = 3, [OP_DELETE] = 2, [OP_GET] = 10, [OP_GETS] = 8, [OP_GAT] = 3, [OP_GATS] = 3, [OP_MG] = 14, [OP_MS_SET] = 8,
    [OP_MS_ADD] = 3, [OP_MS_REPLACE] = 3, [OP_MS_APPEND] = 3, [OP_MS_PREPEND] = 3, [OP_MA] = 6, [OP_MD] = 5, [OP_ME] = 3,
};

static enum op some_op(uint64_t *random) {
    unsigned sum = 0;
    for (unsigned i = 0; i <= OP_ME; i++) {
        sum += weights[i];
    }
    unsigned dice = (unsigned)rng_below(random, sum), op = 0;
    for (; dice >= weights[op]; op++) {
        dice -= weights[op];
    }
    return (enum op)op;
}

static struct entry *some_entry(uint64_t *random, struct entry *entries) {
    uint64_t a = rng_below(random, KEYS_AN_OWNER), b = rng_below(random, KEYS_AN_OWNER);
    return &entries[a < b ? a : b];
}

static bool joins(enum op op) { return op == OP_APPEND || op == OP_PREPEND || op == OP_MS_APPEND || op == OP_MS_PREPEND; }

/* The largest size of the value once all requests on their way are done. */
static void plan(struct request *r) {
    struct entry *e = r->e[0];
    if (e->pending == 0) {
        e->planned_segments = e->segment_count;
        e->planned_bytes = e->value_bytes;
    }
    if (joins(r->op) && (e->planned_segments + 2 > SEGMENTS_MAX || e->planned_bytes + r->segment.bytes > VALUE_BYTES_MAX)) {
        r->op = r->op == OP_APPEND || r->op == OP_PREPEND ? OP_SET : OP_MS_SET;
        r->compares = r->lower = r->vivifies = false;
    }
    if (joins(r->op)) {
        e->planned_segments++;
        e->planned_bytes += r->segment.bytes;
    } else if (e->planned_bytes < r->segment.bytes) {
        e->planned_bytes = r->segment.bytes;
    }
    e->planned_segments += e->planned_segments == 0;
}

void request_choose(struct request *r, struct world *w, uint64_t *random, struct entry *entries) {
    *r = (struct request){.op = some_op(random), .keys = 1, .opaque = (uint32_t)rng_next(random)};
    struct entry *e = r->e[0] = some_entry(random, entries);
    r->version = ++e->version;
    r->segment = some_segment(random, r->version, !joins(r->op));
    r->client_flags = rng_one_in(random, 2) ? 0 : (uint32_t)rng_next(random);
    r->exptime = some_exptime(random);
    switch (r->op) {
    case OP_MG: choose_mg(r, random); break;
    case OP_MD: choose_md(r, random); break;
    case OP_MA:
        choose_ma(r, random);
        /* fallthrough */
    case OP_INCR:
    case OP_DECR:
        r->decrements = r->op == OP_MA ? rng_one_in(random, 2) : r->op == OP_DECR;
        r->delta = rng_one_in(random, 2) ? rng_below(random, 1000) : some_number(random);
        break;
    case OP_MS_SET:
    case OP_MS_ADD:
    case OP_MS_REPLACE:
    case OP_MS_APPEND:
    case OP_MS_PREPEND: choose_ms(r, random); break;
    case OP_CAS:
        r->compares = true;
        r->compare_cas = some_cas(random, e);
        break;
    case OP_GET:
    case OP_GETS:
    case OP_GAT:
    case OP_GATS:
        for (unsigned more = (unsigned)rng_below(random, 2 * GET_KEYS_MAX); r->keys < GET_KEYS_MAX && r->keys < more; r->keys++) {
            r->e[r->keys] = some_entry(random, entries);
        }
        r->segment.bytes = 0;
        break;
    default: break;
    }
    bool may_be_silent = r->op == OP_SET || r->op == OP_DELETE || r->op == OP_TOUCH || r->op >= OP_MG;
    r->silent = may_be_silent && r->op != OP_ME && (r->op == OP_MG || !r->vivifies) && rng_one_in(random, 6);
    plan(r);
    for (unsigned i = 0; i < r->keys; i++) {
        r->e[i]->pending++;
    }
    atomic_store(&w->board[e->key_id].issued, r->version);
    r->flushes_over = atomic_load(&w->flushes_over);
    r->sent_s = now_s();
}

/* --- writing --- */

static void say_key(const struct request *r, struct wire *c) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const struct entry *e = r->e[0];
    if (!r->binary) {
        wire_say(c, "%s", e->key);
        return;
    }
    for (unsigned i = 0; i < e->key_bytes; i += 3) {
        unsigned left = e->key_bytes - i;
        uint32_t three = (uint32_t)(unsigned char)e->key[i] << 16 | (left > 1 ? (uint32_t)(unsigned char)e->key[i + 1] << 8 : 0) |
                         (left > 2 ? (unsigned char)e->key[i + 2] : 0);
        wire_say(c, "%c%c%c%c", digit[three >> 18], digit[three >> 12 & 63], left > 1 ? digit[three >> 6 & 63] : '=',
                 left > 2 ? digit[three & 63] : '=');
    }
}

static void say_show(const struct request *r, struct wire *c) {
    for (const char *s = r->show; *s != '\0'; s++) {
        wire_say(c, *s == 'O' ? " O%u" : " %c", *s == 'O' ? r->opaque : (unsigned)*s);
    }
    wire_say(c, "%s%s\r\n", r->binary ? " b" : "", r->silent ? " q\r\nmn" : "");
}

static void say_cas_flags(const struct request *r, struct wire *c) {
    if (r->compares) {
        wire_say(c, " C%" PRIu64, r->compare_cas);
    }
    if (r->give_cas != 0) {
        wire_say(c, " E%" PRIu64, r->give_cas);
    }
}

static void say_value(const struct request *r, struct wire *c) {
    char *to = wire_room(c, r->segment.bytes + 2);
    segment_write(&r->segment, r->e[0]->key_id, to);
    memcpy(to + r->segment.bytes, "\r\n", 2);
}

static void say_ms(const struct request *r, struct wire *c) {
    wire_say(c, "ms ");
    say_key(r, c);
    wire_say(c, " %u T%d F%u M%c", r->segment.bytes, r->exptime, r->client_flags, "SERAP"[r->op - OP_MS_SET]);
    say_cas_flags(r, c);
    if (r->lower) {
        wire_say(c, " I");
    }
    if (r->vivifies) {
        wire_say(c, " N%d", r->vivify_exptime);
    }
    for (const char *s = r->show; *s != '\0'; s++) {
        wire_say(c, *s == 'O' ? " O%u" : " %c", *s == 'O' ? r->opaque : (unsigned)*s);
    }
    wire_say(c, "%s%s\r\n", r->binary ? " b" : "", r->silent ? " q" : "");
    say_value(r, c);
    wire_say(c, "%s", r->silent ? "mn\r\n" : "");
}

static void say_meta(const struct request *r, struct wire *c) {
    wire_say(c, "%s ", r->op == OP_MG ? "mg" : r->op == OP_MD ? "md" : "ma");
    say_key(r, c);
    if (r->touches) {
        wire_say(c, " T%d", r->exptime);
    }
    if (r->vivifies) {
        wire_say(c, " N%d", r->vivify_exptime);
    }
    if (r->recache_s != 0) {
        wire_say(c, " R%d", r->recache_s);
    }
    say_cas_flags(r, c);
    if (r->op == OP_MD) {
        wire_say(c, "%s%s", r->invalidates ? " I" : "", r->drops_value ? " x" : "");
        if (r->drops_value) {
            wire_say(c, " F%u", r->client_flags);
        }
    }
    if (r->op == OP_MA) {
        wire_say(c, " M%c D%" PRIu64, "I+D-"[2 * r->decrements + r->opaque % 2], r->delta);
        if (r->vivifies) {
            wire_say(c, " J%" PRIu64, r->segment.number);
        }
    }
    say_show(r, c);
}

void request_say(const struct request *r, struct wire *c) {
    static const char *const silence = " noreply\r\n";
    const char *key = r->e[0]->key, *end = r->silent ? silence : "\r\n";
    switch (r->op) {
    case OP_SET:
    case OP_ADD:
    case OP_REPLACE:
    case OP_APPEND:
    case OP_PREPEND:
        wire_say(c, "%s %s %u %d %u%s", op_names[r->op], key, r->client_flags, r->exptime, r->segment.bytes, end);
        say_value(r, c);
        break;
    case OP_CAS:
        wire_say(c, "cas %s %u %d %u %" PRIu64 "\r\n", key, r->client_flags, r->exptime, r->segment.bytes, r->compare_cas);
        say_value(r, c);
        break;
    case OP_INCR:
    case OP_DECR: wire_say(c, "%s %s %" PRIu64 "\r\n", op_names[r->op], key, r->delta); break;
    case OP_TOUCH: wire_say(c, "touch %s %d%s", key, r->exptime, end); break;
    case OP_DELETE: wire_say(c, "delete %s%s", key, end); break;
    case OP_GET:
    case OP_GETS:
    case OP_GAT:
    case OP_GATS:
        wire_say(c, "%s", op_names[r->op]);
        if (r->op == OP_GAT || r->op == OP_GATS) {
            wire_say(c, " %d", r->exptime);
        }
        for (unsigned i = 0; i < r->keys; i++) {
            wire_say(c, " %s", r->e[i]->key);
        }
        wire_say(c, "\r\n");
        break;
    case OP_ME: wire_say(c, "me %s\r\n", key); break;
    case OP_MG:
    case OP_MD:
    case OP_MA: say_meta(r, c); return;
    default: say_ms(r, c); return;
    }
    if (r->silent) {
        wire_say(c, "mn\r\n");
    }
}

size_t request_reply_bytes(const struct request *r) {
    size_t bytes = LINE_REPLY_BYTES;
    for (unsigned i = 0; i < r->keys && r->op >= OP_GET && r->op <= OP_MG; i++) {
        bytes += r->e[i]->planned_bytes + LINE_REPLY_BYTES;
    }
    return bytes;
}
