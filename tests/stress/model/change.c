#include "change.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "known.h"
#include "meta.h"

enum outcome { STORED, NOT_STORED, EXISTS, NOT_FOUND, NOT_A_NUMBER, REFUSED, UNKNOWN };
static const char *const outcome_names[] = {"stored", "not stored", "exists", "not found", "not a number", "refused", "?"};

static bool is_join(const struct request *r) {
    return r->op == OP_APPEND || r->op == OP_PREPEND || r->op == OP_MS_APPEND || r->op == OP_MS_PREPEND;
}

static enum outcome expected_of_join(const struct request *r, const struct entry *e, bool present) {
    if (!present) {
        return r->vivifies ? STORED : NOT_STORED;
    }
    return r->compares && !known_cas_matches(r, e) ? EXISTS : STORED;
}

/* The reply that must come when the key is there, or is not. */
static enum outcome expected(const struct request *r, const struct entry *e, bool present) {
    uint64_t number;
    bool differs = r->compares && !known_cas_matches(r, e) && !(r->lower && r->compare_cas < e->cas);
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
        if (!present) {
            return r->vivifies ? STORED : NOT_FOUND;
        }
        return !entry_may_count(e) ? NOT_A_NUMBER : differs ? EXISTS : entry_number(e, &number) ? STORED : NOT_A_NUMBER;
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
    /* memcached overwrites the old number when the new one fits, and so keeps the marks. */
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
    known_give_cas(e, r->give_cas);
}

/* The model after an executed request. */
static void apply(struct entry *e, const struct request *r, struct world *w, bool present) {
    bool drops = r->op == OP_MD && (r->drops_value || r->invalidates);
    switch (r->op) {
    case OP_TOUCH: known_touched(r, e); return;
    case OP_DELETE:
    case OP_MD:
        if (drops) {
            delete_in_part(e, r);
            if (r->drops_value) {
                known_stored(e, r, w, false);
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
    known_stored(e, r, w, present && is_join(r));
    int32_t exptime = r->op == OP_INCR || r->op == OP_DECR || (r->op == OP_MA && !(present && r->touches)) || is_join(r) ? 0
                      : r->lower && e->stale                                                                          ? 0
                                                                                                                      : r->exptime;
    e->held = exptime >= 0;
}

/* A change that found no memory: a set removes the old value, others may. */
static void refuse(struct entry *e, const struct request *r, struct world *w) {
    world_count(w, OP_REFUSED);
    if (r->op == OP_SET || r->op == OP_MS_SET) {
        e->held = false;
        world_raise_floor(w, e->key_id, r->version);
    } else {
        e->excused = true;
    }
}

/* Whether the key was there, by the reply; false: the reply fits neither case. */
static bool decide(const struct request *r, struct entry *e, struct world *w, enum outcome got, const char *line, bool *present) {
    enum outcome if_there = expected(r, e, true), if_gone = expected(r, e, false);
    *present = e->held;
    if (e->held && got == if_there) {
        return got == if_gone || known_alive(r, e, w, line);
    }
    if (got == if_gone) {
        known_gone(r, e, w);
        *present = false;
        return true;
    }
    char how[100];
    snprintf(how, sizeof how, "%s, not %s%s%s", outcome_names[got], e->held ? outcome_names[if_there] : "",
             e->held && if_there != if_gone ? " or " : "", e->held && if_there == if_gone ? "" : outcome_names[if_gone]);
    known_wrong(w, !e->held && got == if_there ? CAME_BACK : WRONG_ANSWER, r, e, how, line);
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

/* A reply to a change, parsed as far as possible without the model. */
struct change_reply {
    enum outcome outcome;
    char         line[800];
    const char  *flags;     /* in the reply, after the code */
    bool         has_number;
    uint64_t     number;    /* of a reply to ma */
};

static bool read_change(const struct request *r, struct world *w, struct wire *c, const char *line, struct change_reply *reply) {
    char *at;
    snprintf(reply->line, sizeof reply->line, "%s", line);
    reply->outcome = classic_outcome(line);
    reply->flags = reply->line + 2;
    reply->has_number = strncmp(line, "VA ", 3) == 0;
    if (reply->outcome == UNKNOWN) {
        known_wrong(w, OUT_OF_PLACE, r, r->e[0], "reply", line);
        return false;
    }
    if (reply->has_number) {
        char *value = wire_block(c, strtoul(reply->line + 3, &at, 10));
        reply->flags = at;
        if (value == NULL) {
            known_wrong(w, OUT_OF_PLACE, r, r->e[0], "a number does not end where it should", reply->line);
            return false;
        }
        reply->number = strtoull(value, NULL, 10);
    } else if (r->op == OP_INCR || r->op == OP_DECR) {
        reply->number = strtoull(line, NULL, 10);
    }
    return true;
}

/* A join or a count that makes a missing key has the same reply either way; the new value decides. False: not even that. */
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
    struct meta_marks marks = {0};
    const char *shown = r->op >= OP_MS_SET && r->op <= OP_MS_PREPEND    ? "ckOs"
                        : r->op == OP_MA && reply->outcome == STORED    ? "tckO"
                        : reply->outcome == NOT_A_NUMBER                ? ""
                                                                        : "kO";
    if (!meta_hear_flags(r, e, w, reply->outcome == NOT_A_NUMBER ? "" : reply->flags, shown, done, &size, &ttl, &never, &flags, &marks)) {
        known_wrong(w, OUT_OF_PLACE, r, e, "reply", reply->line);
    } else if (e->broken || !done) {
        return;
    } else if (reply->has_number && (!entry_number(e, &number) || reply->number != number)) {
        known_wrong(w, WRONG_VALUE, r, e, "number", reply->line);
    } else if (r->op == OP_MA && meta_shows(r, 't') && r->exptime >= 0) {
        meta_check_ttl(r, e, w, ttl, never);
    } else if (r->op != OP_MA && r->op != OP_MD && meta_shows(r, 's') && size != e->value_bytes) {
        known_wrong(w, WRONG_FACT, r, e, "size", reply->line);
    }
}

bool change_hear(const struct request *r, struct world *w, struct wire *c, char *line) {
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
        e->broken = false; /* from here on all facts are known again */
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
        if (present ? !known_alive(r, e, w, reply.line) : (known_gone(r, e, w), false)) {
            return true;
        }
    }
    if (reply.outcome == STORED) {
        apply(e, r, w, present);
    }
    if (reply.outcome == STORED && (r->op == OP_INCR || r->op == OP_DECR) && entry_number(e, &number) && number != reply.number) {
        known_wrong(w, WRONG_VALUE, r, e, "number", reply.line);
    } else if (r->op > OP_MG) {
        check_rest(r, e, w, &reply);
    }
    return true;
}

void change_hear_silence(const struct request *r, struct world *w) {
    struct entry *e = r->e[0];
    bool present;
    if (e->broken) {
        return;
    }
    if (r->op == OP_MG) {
        world_count_if(w, OP_REFUSED, r->vivifies);
        known_gone(r, e, w);
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
    } else if (e->held) { /* touch, if the key was still there */
        e->excused |= !e->life.never;
        known_touched(r, e);
    }
}
