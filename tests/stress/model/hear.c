/* Reading a reply and holding it against the model. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

enum outcome { STORED, NOT_STORED, EXISTS, NOT_FOUND, NOT_A_NUMBER, REFUSED, UNKNOWN };
static const char *const outcome_names[] = {"stored", "not stored", "exists", "not found", "not a number", "refused", "?"};

enum { CHOSEN_CAS_BITS = 48 }; /* what the server chooses stays below, what E gives is above */

static void wrong(struct world *w, enum wrong what, const struct request *r, struct entry *e, const char *how, const char *reply) {
    world_wrong(w, what, "%s, %s of %.20s: %s%s%.200s", how, op_names[r->op], e->key, e->held ? "held" : "gone",
                reply != NULL ? ", reply " : "", reply != NULL ? reply : "");
    entry_broken(e);
}

/* --- what is known when a key turns out to be there, or not --- */

/* It is there: was it allowed to be? */
static bool alive(const struct request *r, struct entry *e, struct world *w, const char *reply) {
    if (!e->held) {
        wrong(w, CAME_BACK, r, e, "it is there again", reply);
    } else if (!e->life.never && r->sent_s > e->life.most_s) {
        wrong(w, CAME_BACK, r, e, "it outlived its time", reply);
    } else if (r->flushes_over > e->flush_until) {
        wrong(w, CAME_BACK, r, e, "it outlived a flush", reply);
    }
    return e->held;
}

/* It is not there: an eviction, unless something else explains it. */
static void gone(const struct request *r, struct entry *e, struct world *w) {
    bool explained = !e->held || e->excused || (!e->life.never && now_s() >= e->life.least_s) ||
                     atomic_load(&w->flushes_begun) > e->flush_from;
    if (!explained) {
        world_count(w, OP_LOST);
    }
    if (!explained && w->roomy) {
        world_wrong(w, MISSING, "missing, %s of %.20s: %zu bytes, %s, last request %u, now %u", op_names[r->op], e->key, e->value_bytes,
                    e->life.never ? "for ever" : "for a time", e->changed, r->version);
    }
    e->held = false;
}

static void new_cas(struct entry *e, uint64_t given) {
    e->cas_known = given != 0;
    e->cas = given != 0 ? given : e->cas;
}

static void learn_cas(const struct request *r, struct entry *e, struct world *w, uint64_t cas) {
    if (e->cas_known ? cas != e->cas : cas == e->cas || (cas >> CHOSEN_CAS_BITS == 0 && cas <= e->cas_most)) {
        char text[100];
        snprintf(text, sizeof text, "%" PRIu64 ", %s %" PRIu64 ", most %" PRIu64, cas, e->cas_known ? "known" : "before", e->cas,
                 e->cas_most);
        wrong(w, WRONG_FACT, r, e, "CAS", text);
        return;
    }
    e->cas_known = true;
    e->cas = cas;
    if (cas >> CHOSEN_CAS_BITS == 0) {
        e->cas_most = cas;
        if (!world_note_cas(w, e->key_id, cas)) {
            wrong(w, SAME_CAS, r, e, "its CAS is another key's", NULL);
        }
    }
}

static bool cas_matches(const struct request *r, const struct entry *e) { return e->cas_known && e->cas == r->compare_cas; }

static void check_value(const struct request *r, struct entry *e, struct world *w, const char *bytes, size_t n) {
    if (entry_value_is(e, bytes, n)) {
        return;
    }
    struct value_tale tale = value_read(e->key_id, bytes, n);
    uint32_t newest = 0;
    for (unsigned i = 0; i < e->segment_count; i++) {
        newest = e->segments[i].version > newest ? e->segments[i].version : newest;
    }
    char text[100];
    snprintf(text, sizeof text, "%zu bytes of version %u, not %zu of %u%s", n, tale.version, e->value_bytes, newest,
             tale.sound ? "" : "; torn");
    wrong(w, tale.sound && tale.version < newest ? OLD_VALUE : WRONG_VALUE, r, e, text, NULL);
}

static void touched(const struct request *r, struct entry *e) {
    e->life = lifetime_of(r->exptime, r->sent_s, now_s());
    e->held &= r->exptime >= 0;
}

/* --- get, gets, gat, gats --- */

static bool hear_value(const struct request *r, struct entry *e, struct world *w, struct wire *c, char *line) {
    uint32_t flags;
    size_t bytes;
    uint64_t cas = 0;
    bool with_cas = r->op == OP_GETS || r->op == OP_GATS;
    int fields = sscanf(line + strlen("VALUE ") + e->key_bytes, " %u %zu %" SCNu64, &flags, &bytes, &cas);
    if (fields != 2 + with_cas || bytes > 2 * VALUE_BYTES_MAX) {
        wrong(w, OUT_OF_PLACE, r, e, "reply", line);
        return false;
    }
    char *value = wire_block(c, bytes);
    if (value == NULL) {
        wrong(w, OUT_OF_PLACE, r, e, "a value does not end where it should", NULL);
        return false;
    }
    world_count(w, OP_HIT);
    if (e->broken || !alive(r, e, w, NULL)) {
        return true;
    }
    check_value(r, e, w, value, bytes);
    if (!e->broken && flags != e->client_flags) {
        wrong(w, WRONG_FACT, r, e, "client flags", NULL);
    }
    if (!e->broken && with_cas) {
        learn_cas(r, e, w, cas);
    }
    if (!e->broken && (r->op == OP_GAT || r->op == OP_GATS)) {
        touched(r, e);
    }
    return true;
}

static bool is_value_of(const struct entry *e, const char *line) {
    return line != NULL && strncmp(line, "VALUE ", 6) == 0 && strncmp(line + 6, e->key, e->key_bytes) == 0 && line[6 + e->key_bytes] == ' ';
}

static bool hear_gets(const struct request *r, struct world *w, struct wire *c) {
    char *line = wire_line(c);
    for (unsigned i = 0; i < r->keys; i++) {
        struct entry *e = r->e[i];
        if (!is_value_of(e, line)) {
            gone(r, e, w);
            continue;
        }
        if (!hear_value(r, e, w, c, line)) {
            return false;
        }
        line = wire_line(c);
    }
    if (line == NULL || strcmp(line, "END") != 0) {
        wrong(w, OUT_OF_PLACE, r, r->e[0], "instead of END", line);
        return false;
    }
    return true;
}

/* --- flags of meta replies --- */

/* One flag behind the code of a meta reply; `*at` goes on behind it. */
static bool next_flag(const char **at, char *letter, const char **token, size_t *token_bytes) {
    if (**at != ' ') {
        return false;
    }
    *letter = (*at)[1];
    *token = *letter != '\0' ? *at + 2 : *at + 1;
    *token_bytes = strcspn(*token, " ");
    *at = *token + *token_bytes;
    return *letter != '\0';
}

/* The marks behind what was asked for. */
struct marks {
    bool won, lost, stale;
};

static bool opaque_is(const struct request *r, const char *token, size_t bytes) {
    char text[16];
    return (size_t)snprintf(text, sizeof text, "%u", r->opaque) == bytes && memcmp(text, token, bytes) == 0;
}

/* Every flag that was asked comes back, in order; `shown` are those that this code of reply has. A key comes as it was given, or
 * encoded when the item was stored so. */
static bool hear_flags(const struct request *r, struct entry *e, struct world *w, const char *line, const char *shown, bool trust_cas,
                       uint64_t *size, double *ttl, bool *ttl_never, uint32_t *flags, struct marks *marks) {
    const char *at = line, *token;
    size_t bytes;
    char letter;
    for (const char *s = r->show; *s != '\0'; s++) {
        if (strchr(shown, *s) == NULL) {
            continue;
        }
        if (!next_flag(&at, &letter, &token, &bytes) || letter != *s || (letter == 'O' && !opaque_is(r, token, bytes))) {
            return false;
        }
        uint64_t n = strtoull(token, NULL, 10);
        switch (letter) {
        case 'c':
            if (trust_cas && !e->broken) {
                learn_cas(r, e, w, n);
            }
            break;
        case 's': *size = n; break;
        case 'f': *flags = (uint32_t)n; break;
        case 't':
            *ttl_never = *token == '-';
            *ttl = (double)n;
            break;
        case 'k':
            if (strncmp(at, " b", 2) == 0) {
                at += 2;
            } else if (bytes != e->key_bytes || memcmp(token, e->key, bytes) != 0) {
                return false;
            }
            break;
        default: break;
        }
    }
    while (next_flag(&at, &letter, &token, &bytes)) {
        bool *mark = letter == 'W' ? &marks->won : letter == 'Z' ? &marks->lost : letter == 'X' ? &marks->stale : NULL;
        if (mark == NULL) {
            return false;
        }
        *mark = true;
    }
    return true;
}

static bool shows(const struct request *r, char letter) { return strchr(r->show, letter) != NULL; }

static void check_ttl(const struct request *r, struct entry *e, struct world *w, double ttl, bool never) {
    double now = now_s();
    if (never != e->life.never || (!never && (ttl < e->life.least_s - now - 1 || ttl > e->life.most_s - r->sent_s + 1))) {
        wrong(w, WRONG_FACT, r, e, "the time it has left", NULL);
    }
}

/* --- mg --- */

static void check_marks(const struct request *r, struct entry *e, struct world *w, const struct marks *m) {
    bool about = r->recache_s != 0 && !e->life.never && e->life.most_s - r->sent_s < r->recache_s;
    bool won = !e->won && (e->stale || about);
    if (m->won != won || m->lost != e->won || m->stale != e->stale) {
        char text[100];
        snprintf(text, sizeof text, "marks%s%s%s, not%s%s%s", m->won ? " W" : "", m->lost ? " Z" : "", m->stale ? " X" : "",
                 won ? " W" : "", e->won ? " Z" : "", e->stale ? " X" : "");
        wrong(w, WRONG_FACT, r, e, text, NULL);
        return;
    }
    e->won |= won;
}

static void stored(struct entry *e, const struct request *r, struct world *w, bool joined) {
    e->flush_from = r->flushes_over;
    e->flush_until = atomic_load(&w->flushes_begun);
    e->excused = false;
    e->held = true;
    e->changed = r->version;
    new_cas(e, r->give_cas);
    if (!joined || r->segment.bytes >= SEGMENT_HEAD_BYTES) { /* else readers see no version of it */
        world_raise_floor(w, e->key_id, r->version);
    }
}

/* The item that N makes of nothing. */
static void vivified(struct entry *e, const struct request *r, struct world *w) {
    gone(r, e, w);
    entry_put(e, &r->segment);
    e->client_flags = 0;
    e->life = lifetime_of(r->vivify_exptime, r->sent_s, now_s());
    e->stale = e->won = false;
    stored(e, r, w, false);
}

/* Whether the reply is that of an item which N just made. N and R are not asked together, so one that was there is won only if it
 * is stale, and shows that too. */
static bool was_made(const struct request *r, const char *line) {
    size_t n = strlen(line);
    return r->vivifies && n >= 4 && strcmp(line + n - 2, " W") == 0 && strcmp(line + n - 4, " X W") != 0;
}

static bool hear_mg(const struct request *r, struct world *w, struct wire *c, char *line) {
    struct entry *e = r->e[0];
    uint64_t size = 0;
    double ttl = 0;
    bool never = true, has_value = strncmp(line, "VA ", 3) == 0;
    uint32_t flags = 0;
    struct marks marks = {0};
    if (strncmp(line, "EN", 2) == 0) {
        if (!hear_flags(r, e, w, line + 2, "kO", false, &size, &ttl, &never, &flags, &marks)) {
            wrong(w, OUT_OF_PLACE, r, e, "reply", line);
        }
        world_count_if(w, OP_REFUSED, r->vivifies);
        gone(r, e, w);
        return true;
    }
    bool made = was_made(r, line);
    if (!e->broken && made) {
        vivified(e, r, w);
    } else if (!e->broken && !alive(r, e, w, line)) {
        made = false;
    }
    char copy[800];
    snprintf(copy, sizeof copy, "%s", line);
    char *at = copy + 2;
    size_t bytes = has_value ? strtoul(copy + 3, &at, 10) : 0;
    bool matches = r->compares && cas_matches(r, e);
    bool withheld = shows(r, 'v') && !has_value;
    char *value = NULL;
    if (has_value && (bytes > 2 * VALUE_BYTES_MAX || (value = wire_block(c, bytes)) == NULL)) {
        wrong(w, OUT_OF_PLACE, r, e, "a value does not end where it should", copy);
        return false;
    }
    if (e->broken) {
        return true;
    }
    if (!hear_flags(r, e, w, at, "cfhkOslt", true, &size, &ttl, &never, &flags, &marks)) {
        wrong(w, OUT_OF_PLACE, r, e, "reply", copy);
        return true;
    }
    matches |= r->compares && cas_matches(r, e); /* c may have told it */
    world_count(w, OP_HIT);
    if (e->broken) {
        return true;
    }
    if (withheld != (matches && shows(r, 'v')) || (has_value && !shows(r, 'v'))) {
        wrong(w, WRONG_ANSWER, r, e, "whether the value is shown", copy);
        return true;
    }
    if (value != NULL) {
        check_value(r, e, w, value, bytes);
    }
    if (!e->broken && ((shows(r, 's') && size != e->value_bytes) || (shows(r, 'f') && flags != e->client_flags))) {
        wrong(w, WRONG_FACT, r, e, "size or flags", copy);
    }
    if (!e->broken && made) {
        e->won = true;
        return true;
    }
    if (!e->broken) {
        check_marks(r, e, w, &marks);
    }
    if (!e->broken && r->touches) {
        touched(r, e);
    }
    if (!e->broken && shows(r, 't') && r->exptime >= 0) {
        check_ttl(r, e, w, ttl, never);
    }
    return true;
}

/* --- what changes --- */

static bool is_join(const struct request *r) {
    return r->op == OP_APPEND || r->op == OP_PREPEND || r->op == OP_MS_APPEND || r->op == OP_MS_PREPEND;
}

static enum outcome expected_of_join(const struct request *r, const struct entry *e, bool present) {
    if (!present) {
        return r->vivifies && !r->compares ? STORED : NOT_STORED;
    }
    return r->compares && !cas_matches(r, e) ? EXISTS : STORED;
}

/* What the reply must be when the key is there, or is not. */
static enum outcome expected(const struct request *r, const struct entry *e, bool present) {
    uint64_t number;
    bool differs = r->compares && !cas_matches(r, e) && !(r->lower && r->compare_cas < e->cas);
    switch (r->op) {
    case OP_ADD:
    case OP_MS_ADD: return present ? NOT_STORED : STORED;
    case OP_APPEND:
    case OP_PREPEND:
    case OP_MS_APPEND:
    case OP_MS_PREPEND: return expected_of_join(r, e, present);
    case OP_REPLACE: return present ? STORED : NOT_STORED;
    case OP_MS_REPLACE: return present ? differs ? EXISTS : STORED : r->compares ? NOT_FOUND : NOT_STORED;
    case OP_INCR:
    case OP_DECR:
    case OP_MA:
        return !present ? r->vivifies ? STORED : NOT_FOUND : differs ? EXISTS : entry_number(e, &number) ? STORED : NOT_A_NUMBER;
    case OP_TOUCH:
    case OP_DELETE:
    case OP_MD: return present ? differs ? EXISTS : STORED : NOT_FOUND;
    default: return r->compares ? present ? differs ? EXISTS : STORED : NOT_FOUND : STORED; /* set, cas */
    }
}

static void count_on(struct entry *e, const struct request *r, bool present) {
    uint64_t n = r->segment.number;
    if (present) {
        entry_number(e, &n);
        n = r->decrements ? n > r->delta ? n - r->delta : 0 : n + r->delta;
    }
    char text[24];
    size_t digits = (size_t)snprintf(text, sizeof text, "%" PRIu64, n), bytes = present && e->value_bytes > digits ? e->value_bytes : digits;
    /* memcached writes over the old number when the new one fits, and so keeps the marks. */
    bool keeps_marks = present && digits <= e->value_bytes;
    e->stale &= keeps_marks;
    e->won &= keeps_marks;
    entry_put(e, &(struct segment){.kind = SEGMENT_NUMBER, .number = n, .bytes = (uint32_t)bytes});
    if (!present) {
        e->client_flags = 0;
        e->life = lifetime_of(r->vivify_exptime, r->sent_s, now_s());
    } else if (r->touches) {
        e->life = lifetime_of(r->exptime, r->sent_s, now_s());
    }
}

static void store(struct entry *e, const struct request *r, bool present) {
    bool lower = present && r->lower && r->compare_cas < e->cas;
    if (is_join(r) && present) {
        entry_join(e, &r->segment, r->op == OP_PREPEND || r->op == OP_MS_PREPEND);
    } else {
        entry_put(e, &r->segment);
        e->client_flags = r->client_flags;
        if (!lower) {
            e->life = lifetime_of(is_join(r) ? r->vivify_exptime : r->exptime, r->sent_s, now_s());
        }
    }
    e->stale = lower;
    e->won &= lower;
}

static void delete_in_part(struct entry *e, const struct request *r) {
    e->stale = r->invalidates || (e->stale && !r->drops_value);
    e->won = false;
    if (r->drops_value) {
        entry_put(e, NULL);
        e->client_flags = r->client_flags;
    }
    if (r->touches || r->drops_value) {
        e->life = lifetime_of(r->touches ? r->exptime : 0, r->sent_s, now_s());
    }
    new_cas(e, r->give_cas);
}

/* The model after a request that was done. */
static void apply(struct entry *e, const struct request *r, struct world *w, bool present) {
    bool drops = r->op == OP_MD && (r->drops_value || r->invalidates);
    switch (r->op) {
    case OP_TOUCH: touched(r, e); return;
    case OP_DELETE:
    case OP_MD:
        if (drops) {
            delete_in_part(e, r);
            if (r->drops_value) {
                stored(e, r, w, false);
            }
            e->held &= !(r->touches && r->exptime < 0);
        } else {
            e->held = false;
            world_raise_floor(w, e->key_id, r->version);
        }
        return;
    case OP_INCR:
    case OP_DECR:
    case OP_MA: count_on(e, r, present); break;
    default: store(e, r, present); break;
    }
    stored(e, r, w, present && is_join(r));
    int32_t exptime = r->op == OP_INCR || r->op == OP_DECR || (r->op == OP_MA && !(present && r->touches)) || is_join(r) ? 0
                      : r->lower && e->stale                                                                          ? 0
                                                                                                                      : r->exptime;
    e->held = exptime >= 0;
}

/* A change that found no memory: a set removes what was there, others may. */
static void refuse(struct entry *e, const struct request *r, struct world *w) {
    world_count(w, OP_REFUSED);
    if (r->op == OP_SET || r->op == OP_MS_SET) {
        e->held = false;
        world_raise_floor(w, e->key_id, r->version);
    } else {
        e->excused = true;
    }
}

/* Whether the key was there, as the answer shows it; false: the answer fits neither. */
static bool decide(const struct request *r, struct entry *e, struct world *w, enum outcome got, const char *line, bool *present) {
    enum outcome if_there = expected(r, e, true), if_gone = expected(r, e, false);
    *present = e->held;
    if (e->held && got == if_there) {
        return got == if_gone || alive(r, e, w, line);
    }
    if (got == if_gone) {
        gone(r, e, w);
        *present = false;
        return true;
    }
    char how[100];
    snprintf(how, sizeof how, "%s, not %s%s%s", outcome_names[got], e->held ? outcome_names[if_there] : "",
             e->held && if_there != if_gone ? " or " : "", e->held && if_there == if_gone ? "" : outcome_names[if_gone]);
    wrong(w, !e->held && got == if_there ? CAME_BACK : WRONG_ANSWER, r, e, how, line);
    return false;
}

static enum outcome classic_outcome(const char *line) {
    static const struct {
        const char  *text;
        enum outcome outcome;
    } texts[] = {{"STORED", STORED}, {"DELETED", STORED}, {"TOUCHED", STORED}, {"NOT_STORED", NOT_STORED}, {"EXISTS", EXISTS},
                 {"NOT_FOUND", NOT_FOUND}, {"HD", STORED}, {"VA ", STORED}, {"NS", NOT_STORED}, {"EX", EXISTS}, {"NF", NOT_FOUND},
                 {"CLIENT_ERROR cannot increment", NOT_A_NUMBER}, {"SERVER_ERROR", REFUSED}};
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strncmp(line, texts[i].text, strlen(texts[i].text)) == 0) {
            return texts[i].outcome;
        }
    }
    return line[0] >= '0' && line[0] <= '9' ? STORED : UNKNOWN;
}

/* A reply to a change, taken apart as far as it can be without the model. */
struct change_reply {
    enum outcome outcome;
    char         line[800];
    const char  *flags;     /* in it, behind the code */
    bool         has_number;
    uint64_t     number;    /* of ma */
};

static bool read_change(const struct request *r, struct world *w, struct wire *c, const char *line, struct change_reply *reply) {
    char *at;
    snprintf(reply->line, sizeof reply->line, "%s", line);
    reply->outcome = classic_outcome(line);
    reply->flags = reply->line + 2;
    reply->has_number = strncmp(line, "VA ", 3) == 0;
    if (reply->outcome == UNKNOWN) {
        wrong(w, OUT_OF_PLACE, r, r->e[0], "reply", line);
        return false;
    }
    if (reply->has_number) {
        char *value = wire_block(c, strtoul(reply->line + 3, &at, 10));
        reply->flags = at;
        if (value == NULL) {
            wrong(w, OUT_OF_PLACE, r, r->e[0], "a number does not end where it should", reply->line);
            return false;
        }
        reply->number = strtoull(value, NULL, 10);
    } else if (r->op == OP_INCR || r->op == OP_DECR) {
        reply->number = strtoull(line, NULL, 10);
    }
    return true;
}

/* The answer of a join or a count that makes what is missing is the same either way; what it made tells. False: not even that. */
static bool tell_made(const struct request *r, const struct entry *e, const struct change_reply *reply, bool *present) {
    uint64_t number = 0, initial = r->segment.number;
    if (r->op == OP_MA) {
        entry_number(e, &number);
        uint64_t counted = r->decrements ? number > r->delta ? number - r->delta : 0 : number + r->delta;
        *present = reply->number == counted;
        return initial != counted;
    }
    const char *size = strstr(reply->flags, " s");
    *present = size == NULL || strtoull(size + 2, NULL, 10) != r->segment.bytes;
    return size != NULL && e->value_bytes != 0;
}

/* The flags of a meta reply, and the number of an ma, against the model after the change. */
static void check_rest(const struct request *r, struct entry *e, struct world *w, const struct change_reply *reply) {
    uint64_t size = 0, number;
    double ttl = 0;
    bool never = true, done = reply->outcome == STORED && e->held;
    uint32_t flags;
    struct marks marks = {0};
    const char *shown = r->op >= OP_MS_SET && r->op <= OP_MS_PREPEND    ? "ckOs"
                        : r->op == OP_MA && reply->outcome == STORED    ? "tckO"
                        : reply->outcome == NOT_A_NUMBER                ? ""
                                                                        : "kO";
    if (!hear_flags(r, e, w, reply->outcome == NOT_A_NUMBER ? "" : reply->flags, shown, done, &size, &ttl, &never, &flags, &marks)) {
        wrong(w, OUT_OF_PLACE, r, e, "reply", reply->line);
    } else if (e->broken || !done) {
        return;
    } else if (reply->has_number && (!entry_number(e, &number) || reply->number != number)) {
        wrong(w, WRONG_VALUE, r, e, "number", reply->line);
    } else if (r->op == OP_MA && shows(r, 't') && r->exptime >= 0) {
        check_ttl(r, e, w, ttl, never);
    } else if (r->op != OP_MA && r->op != OP_MD && shows(r, 's') && size != e->value_bytes) {
        wrong(w, WRONG_FACT, r, e, "size", reply->line);
    }
}

static bool hear_change(const struct request *r, struct world *w, struct wire *c, char *line) {
    struct entry *e = r->e[0];
    struct change_reply reply;
    bool present;
    uint64_t number;
    if (!read_change(r, w, c, line, &reply)) {
        return false;
    }
    if (reply.outcome == REFUSED) {
        refuse(e, r, w);
        return true;
    }
    if (e->broken && r->op == OP_SET) {
        e->broken = false; /* from here on all is known again */
    }
    if (e->broken || !decide(r, e, w, reply.outcome, reply.line, &present)) {
        return true;
    }
    if (reply.outcome == STORED && present && r->vivifies && expected(r, e, false) == STORED) {
        bool told = tell_made(r, e, &reply, &present);
        if (!told) {
            entry_broken(e);
            return true;
        }
        if (present ? !alive(r, e, w, reply.line) : (gone(r, e, w), false)) {
            return true;
        }
    }
    if (reply.outcome == STORED) {
        apply(e, r, w, present);
    }
    if (reply.outcome == STORED && (r->op == OP_INCR || r->op == OP_DECR) && entry_number(e, &number) && number != reply.number) {
        wrong(w, WRONG_VALUE, r, e, "number", reply.line);
    } else if (r->op > OP_MG) {
        check_rest(r, e, w, &reply);
    }
    return true;
}

static void hear_me(const struct request *r, struct world *w, const char *line) {
    struct entry *e = r->e[0];
    long long exp;
    uint64_t cas;
    const char *facts = strstr(line, " exp=");
    if (strcmp(line, "EN") == 0) {
        gone(r, e, w);
    } else if (facts == NULL || sscanf(facts, " exp=%lld la=%*d cas=%" SCNu64, &exp, &cas) != 2) {
        wrong(w, OUT_OF_PLACE, r, e, "reply", line);
    } else if (!e->broken && alive(r, e, w, line)) {
        check_ttl(r, e, w, (double)exp, exp == -1);
        if (!e->broken) {
            learn_cas(r, e, w, cas);
        }
    }
}

/* Nothing was said: what q hides was the answer; noreply hides everything. */
static void hear_silence(const struct request *r, struct world *w) {
    struct entry *e = r->e[0];
    bool present;
    if (e->broken) {
        return;
    }
    if (r->op == OP_MG) {
        world_count_if(w, OP_REFUSED, r->vivifies);
        gone(r, e, w);
    } else if (r->op > OP_MG) {
        if (decide(r, e, w, STORED, NULL, &present)) {
            apply(e, r, w, present);
        }
    } else if (r->op == OP_SET) {
        apply(e, r, w, e->held);
        e->excused = true;
    } else if (r->op == OP_DELETE) {
        e->held = false;
        world_raise_floor(w, e->key_id, r->version);
    } else if (e->held) { /* touch, where it was still there */
        e->excused |= !e->life.never;
        touched(r, e);
    }
}

bool request_hear(const struct request *r, struct world *w, struct wire *c) {
    bool good = true;
    world_count(w, r->op);
    for (unsigned i = 0; i < r->keys; i++) {
        r->e[i]->pending--;
    }
    if (r->op >= OP_GET && r->op <= OP_GATS) {
        return hear_gets(r, w, c);
    }
    char *line = wire_line(c);
    if (line == NULL) {
        wrong(w, OUT_OF_PLACE, r, r->e[0], "no reply", NULL);
        return false;
    }
    if (r->silent && strcmp(line, "MN") == 0) {
        hear_silence(r, w);
        return true;
    }
    if (r->op == OP_MG) {
        good = hear_mg(r, w, c, line);
    } else if (r->op == OP_ME) {
        hear_me(r, w, line);
    } else {
        good = hear_change(r, w, c, line);
    }
    if (good && r->silent && ((line = wire_line(c)) == NULL || strcmp(line, "MN") != 0)) {
        wrong(w, OUT_OF_PLACE, r, r->e[0], "instead of MN", line);
        good = false;
    }
    return good;
}
