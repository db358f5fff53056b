/* A worker's turn: bytes of many sessions in, requests in groups, replies out. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/random.h"
#include "protocol/binary.h"
#include "server/command_table.h"
#include "server/config/settings.h"
#include "server/prefix_stats.h"
#include "server/session/session_internal.h"
#include "server/verbs/observe.h"
#include "server/version.h"

struct batch *batch_create(struct server *server, struct cache_thread *ct,
                           struct serve_counters *counters) {
    struct batch *b = malloc(sizeof *b);
    char *bytes = malloc(REPLIES_FIRST_BYTES);
    if (!b || !bytes) {
        free(b);
        free(bytes);
        return NULL;
    }
    memset(b, 0, offsetof(struct batch, group));
    b->server = server;
    b->sv.cache = server->cache;
    b->sv.ct = ct;
    b->sv.counters = counters;
    b->key_random = RANDOM_ODD;
    b->speaks_text = strcmp(server->at_start.protocol, "binary") != 0;
    b->speaks_binary = strcmp(server->at_start.protocol, "ascii") != 0;
    b->reqs_per_event = (uint32_t)server->at_start.reqs_per_event;
    b->shares_from = server->at_start.like_memcached ? UINT32_MAX : b->reqs_per_event;
    b->sv.bytes = bytes;
    b->sv.room = REPLIES_FIRST_BYTES;
    b->slot_current = NO_SLOT;
    text_out_init(&b->text);
    return b;
}

void batch_destroy(struct batch **taken) {
    struct batch *b = *taken;
    *taken = NULL;
    if (!b) {
        return;
    }
    batch_end(b);
    text_out_fini(&b->text);
    free(b->sv.values);
    free(b->sv.bytes);
    free(b);
}

void batch_on_event(struct batch *b, void (*wake)(void *), void *arg) {
    b->wake = wake;
    b->wake_arg = arg;
}

void batch_begin(struct batch *b) {
    batch_end(b);
    b->turn++;
    batch_note_prefixes(b);
    b->used_most = b->sv.used > b->used_most ? b->sv.used : b->used_most;
    if (++b->shrink_turns >= SHRINK_TURNS) {
        batch_shrink_replies(b);
    }
    b->sv.used = 0;
    b->requests = 0;
    b->commands_us = 0;
    b->answers_us = 0;
    b->commands_wait = false;
    b->answers_wait = false;
    b->wary_turns -= b->wary_turns > 0;
    b->beside_turns -= b->beside_turns > 0;
    b->slot_count = 0;
    b->slot_current = NO_SLOT;
}

bool batch_full(const struct batch *b) {
    return b->requests >= TURN_REQUESTS || b->slot_count == TURN_SESSIONS ||
           b->sv.used >= BATCH_FULL_BYTES || b->commands_us >= 2 * BATCH_COMMANDS_US;
}

bool batch_has_time(const struct batch *b) {
    return b->commands_us < BATCH_COMMANDS_US && !b->commands_wait;
}

void batch_defer_commands(struct batch *b) { b->commands_wait = true; }

void batch_defer_answers(struct batch *b) { b->answers_wait = true; }

uint32_t batch_answers_us(const struct batch *b) { return b->answers_us; }

bool batch_asked_beside(const struct batch *b) {
    for (unsigned i = 0; i < b->slot_count; i++) {
        if (b->slots[i].requests > 0) {
            return true;
        }
    }
    return false;
}

void batch_run(struct batch *b) {
    batch_run_group(b);
    if (b->requests > 0) {
        BATCH_COUNT(b, batches);
    }
}

/* --- taking bytes --- */

/* The session's slot of this turn; NULL: its replies could not lie behind those that it has
 * already. */
static struct slot *slot_of(struct batch *b, struct session *s) {
    if (s->turn == b->turn) {
        return s->slot == b->slot_count - 1 ? &b->slots[s->slot] : NULL;
    }
    if (b->slot_count == TURN_SESSIONS) {
        return NULL;
    }
    s->turn = b->turn;
    s->slot = (uint16_t)b->slot_count;
    struct slot *slot = &b->slots[b->slot_count++];
    *slot = (struct slot){.session = s, .output = {.ct = b->sv.ct}};
    return slot;
}

/* Takes the `count` requests that were parsed at the group's end into the group. */
static inline void enlist(struct batch *b, struct slot *slot, const struct session *s,
                          unsigned count) {
    struct request *r = &b->group[b->grouped];
    struct index_hint *spots = &b->spots[b->grouped];
    for (unsigned i = 0; i < count; i++) {
        r[i].slot = s->slot;
        if (verb_has_key(r[i].verb)) {
            spots[i] = cache_prefetch_bucket(b->sv.cache, &r[i].key);
        }
    }
    b->grouped += count;
    b->requests += count;
    slot->requests += count;
}

/* Does what a request needs before the session's next one may be parsed. */
static void follow_up(struct batch *b, struct session *s) {
    struct request *r = &b->group[b->grouped - 1];
    if (r->verb == VERB_META_NOOP) {
        b->slots[s->slot].flushed = b->slots[s->slot].requests;
        s->piped = false;
    } else if (r->verb == VERB_REPLY || r->verb == VERB_BINARY_ANSWER) {
        if (r->flags & REQUEST_SWALLOW) {
            s->swallow_bytes = request_block_bytes(r);
        }
        if (r->flags & REQUEST_LAST) {
            s->closing = true;
            s->quit = r->number == BINARY_OK;
        }
    } else if (verb_is_command(r->verb)) {
        batch_run_group(b);
    } else if (r->verb == VERB_CLOSE) {
        s->closing = s->quit = true;
    } else if (!r->value) {
        struct request streamed = *r;
        b->grouped--;
        batch_run_group(b);
        counter_add(&b->sv.counters->requests, 1);
        intake_begin(b, s, &streamed);
    }
}

static inline bool needs_follow_up(const struct request *r) {
    return r->verb >= VERB_COMMAND || r->verb == VERB_META_NOOP ||
           (verb_stores(r->verb) && !r->value);
}

/* Puts bytes where a half-received value, or a refused one, wants them. False: that value is not
 * complete yet. */
static bool take_value_bytes(struct batch *b, struct session *s, char **at, const char *end) {
    if (s->intake && !intake_ended(s->intake)) {
        *at += intake_take(b, s, *at, (size_t)(end - *at));
    }
    if (s->intake && intake_ended(s->intake)) {
        batch_run_group(b);
        intake_finish(b, s);
        s->copies = batch_copied_much(b) || s->copies;
    } else if (s->intake) {
        /* the kept bytes are the value's first, and too few yet */
        bool waits = intake_waits(s->intake), kept = *at < end;
        s->need = waits ? SESSION_NEED_MEMORY : kept ? SESSION_NEED_BYTES : SESSION_NEED_VALUE;
    }
    if (s->swallow_bytes > 0) {
        size_t have = (size_t)(end - *at);
        size_t skip = s->swallow_bytes < have ? (size_t)s->swallow_bytes : have;
        *at += skip;
        s->swallow_bytes -= skip;
        s->need = SESSION_NEED_VALUE;
    }
    return s->swallow_bytes == 0 && !s->intake;
}

/* How many requests the session may still add in this turn: at least its share, and more while the
 * batch has room. */
static uint32_t allowance(const struct batch *b, const struct slot *slot) {
    uint32_t share = b->beside_turns > 0 ? TURN_SESSION_BESIDE : TURN_SESSION_REQUESTS;
    uint32_t most =
        b->requests < TURN_REQUESTS && b->shares_from < share ? share : b->reqs_per_event;
    return slot->requests < most ? most - slot->requests : 0;
}

/* How many more requests of the session may wait to be run. */
static inline unsigned unseen_room(const struct batch *b, const struct session *s,
                                   const struct slot *slot) {
    unsigned unseen = b->grouped < slot->requests ? b->grouped : slot->requests;
    unsigned most = s->lags             ? SESSION_UNSEEN_LAGGING
                    : b->wary_turns > 0 ? SESSION_UNSEEN_WARY
                                        : SESSION_UNSEEN;
    return unseen < most ? most - unseen : 0;
}

/* Whether the replies of the requests that have run are long. */
static inline bool replies_are_long(const struct session *s, const struct slot *slot) {
    return slot->output.end - slot->output.at + slot->value_bytes >= session_reply_bytes_most(s);
}

/* What a session needs after a command, or a piece of a command's answer, that ended its turn. */
static enum session_need need_after_command(const struct session *s, bool bytes_left) {
    if (s->more) {
        return s->more->asleep ? SESSION_NEED_EVENT : SESSION_NEED_COMMAND;
    }
    return bytes_left ? SESSION_NEED_TURN : SESSION_NEED_BYTES;
}

static void end_turn(struct batch *b, struct session *s, bool bytes_left) {
    s->piped = bytes_left;
    s->need = need_after_command(s, bytes_left);
    if (bytes_left) {
        BATCH_COUNT(b, conn_yields);
    }
}

/* The next request is long, and this turn's time for long ones is over: the session waits. */
static void wait_for_time(struct session *s, const struct slot *slot) {
    s->piped = s->piped || slot->requests > 0;
    s->need = SESSION_NEED_COMMAND;
}

static bool speaks(const struct batch *b, const struct session *s, bool binary) {
    bool login = binary ? b->server->logins != NULL : b->server->users.path != NULL;
    if (s->role == ROLE_NONE && !login) {
        return false; /* nobody can log in by this protocol */
    }
    switch ((enum listen_protocol)s->protocol) {
    case LISTEN_PROTOCOL_AS_SET: return binary ? b->speaks_binary : b->speaks_text;
    case LISTEN_PROTOCOL_TEXT: return !binary;
    case LISTEN_PROTOCOL_BINARY: return binary;
    case LISTEN_PROTOCOL_AUTO: break;
    }
    return true;
}

/* Writes the next piece of a long answer, if this turn has time for it. True: the session's turn
 * ends with that. */
static bool answer_goes_on(struct batch *b, struct session *s, bool bytes_left) {
    if (b->answers_wait || !batch_has_time(b)) {
        s->need = SESSION_NEED_COMMAND;
        return true;
    }
    batch_run_group(b);
    batch_run_more(b, s);
    batch_settle_slot(b);
    if (s->closing) {
        return false;
    }
    s->need = need_after_command(s, bytes_left);
    return true;
}

/* How many requests of the session may be parsed now; 0: its turn ends here. *alone: one request,
 * which runs by itself, within the time for commands. */
__attribute__((always_inline)) static inline unsigned
room_for_requests(struct batch *b, struct session *s, const struct slot *slot, bool *alone) {
    unsigned unseen = unseen_room(b, s, slot);
    if (b->grouped >= GROUP_RUN || unseen == 0) {
        batch_run_group(b);
        unseen = unseen_room(b, s, slot);
    }
    if (s->copies) {
        if (!batch_has_time(b)) {
            wait_for_time(s, slot);
            return 0;
        }
        batch_run_group(b);
        s->copies = false;
        *alone = true;
        unseen = 1;
    }
    uint32_t most = allowance(b, slot);
    if (most == 0 || replies_are_long(s, slot)) {
        s->need = SESSION_NEED_TURN;
        BATCH_COUNT(b, conn_yields);
        return 0;
    }
    unsigned room = GROUP_ROOM - b->grouped < most ? GROUP_ROOM - b->grouped : most;
    return unseen < room ? unseen : room;
}

/* Takes parsed requests into the group, and runs the group if the last one is a command. True: that
 * ends the session's turn. */
__attribute__((always_inline)) static inline bool
take_requests(struct batch *b, struct session *s, struct slot *slot, unsigned count, uint8_t verb,
              bool bytes_left) {
    enlist(b, slot, s, count);
    if (needs_follow_up(&b->group[b->grouped - 1])) {
        follow_up(b, s);
    }
    if (verb_is_command(verb) && !s->closing) {
        s->piped = bytes_left;
        if (s->more || slot->commands_us >= SESSION_COMMANDS_US || replies_are_long(s, slot)) {
            end_turn(b, s, bytes_left);
            return true;
        }
    }
    return false;
}

/* Parses requests from *at on and runs them, until the session's turn ends. `guarded`, a constant:
 * the requests are looked at one by one, for what the session's role allows. */
__attribute__((always_inline)) static inline void add_requests(struct batch *b, struct session *s,
                                                               struct slot *slot, char **at,
                                                               char *end, const bool guarded) {
    bool alone = false; /* the request in the group runs by itself */
    while (!s->closing) {
        if (alone) {
            alone = false;
            batch_run_group(b);
            if (s->copies && !s->intake) {
                end_turn(b, s, *at < end);
                break;
            }
        }
        if (s->swallow_bytes > 0 || s->intake) {
            if (!take_value_bytes(b, s, at, end)) {
                break;
            }
            s->need = SESSION_NEED_BYTES;
        }
        if (*at == end || s->closing) {
            break;
        }
        unsigned room = room_for_requests(b, s, slot, &alone);
        if (room == 0) {
            break;
        }
        struct request *r = &b->group[b->grouped];
        unsigned count = guarded ? 0 : parse_plain(&s->parser, at, end, r, room);
        if (count > 0) {
            enlist(b, slot, s, count);
            continue;
        }
        char *next;
        enum parsed how = !(guarded && s->role == ROLE_NONE)
                              ? parse(&s->parser, *at, end, r, room, &count, &next)
                          : s->parser.mode == PARSER_PACKETS
                              ? login_sasl_parse(s, *at, end, r, &count, &next)
                              : login_parse(b, s, *at, end, r, &count, &next);
        if (how != PARSED) {
            s->closing = s->closing || how == PARSE_CLOSE;
            s->need = how == PARSE_GROW ? SESSION_NEED_ROOM : s->need;
            break;
        }
        if (guarded) {
            login_guard(b, s, r, count);
        }
        uint8_t verb = r[count - 1].verb;
        if (verb_is_command(verb) && !batch_has_time(b)) {
            wait_for_time(s, slot);
            break;
        }
        *at = next;
        if (take_requests(b, s, slot, count, verb, next < end)) {
            break;
        }
        if (guarded && s->tried_login) { /* one attempt a turn */
            s->tried_login = false;
            end_turn(b, s, next < end);
            break;
        }
    }
    s->copies = s->copies || alone; /* the request has not run, so it may still copy much */
}

/* Notes that sessions which ask for little are there. The rest of a long run of requests is not
 * little. */
static inline void note_little(struct batch *b, struct session *s, const struct slot *slot) {
    bool much = slot->requests >= TURN_SESSION_BESIDE;
    if (slot->requests > 0 && slot->requests <= ASKS_LITTLE && !s->asked_much) {
        b->beside_turns = BESIDE_TURNS;
    }
    s->asked_much = much;
}

__attribute__((always_inline)) static inline size_t add(struct batch *b, struct session *s,
                                                        char *bytes, size_t n,
                                                        const bool guarded) {
    struct slot *slot = slot_of(b, s);
    if (!slot) {
        s->need = SESSION_NEED_TURN;
        return 0;
    }
    char *at = bytes;
    s->need = SESSION_NEED_BYTES;
    if (s->more && !s->closing && answer_goes_on(b, s, n > 0)) {
        return 0;
    }
    add_requests(b, s, slot, &at, bytes + n, guarded);
    note_little(b, s, slot);
    if (s->need == SESSION_NEED_BYTES) {
        s->piped = false;
    }
    if (s->closing) {
        s->need = s->watcher && !slot->lost ? SESSION_WATCHES : SESSION_CLOSE;
        return n;
    }
    return (size_t)(at - bytes);
}

__attribute__((noinline)) static size_t add_with_care(struct batch *b, struct session *s,
                                                      char *bytes, size_t n) {
    if (!s->spoke && n > 0) {
        /* The first byte tells which protocol a client speaks. A client whose protocol is not
         * spoken here is hung up on: it would wait for an answer for ever. */
        bool binary = (uint8_t)bytes[0] == BINARY_REQUEST;
        s->spoke = true;
        s->parser.mode = binary ? PARSER_PACKETS : PARSER_LINES;
        s->parser.logins = b->server->logins != NULL;
        s->closing = s->closing || !speaks(b, s, binary);
    }
    s->plain = s->spoke && s->role >= ROLE_WRITE;
    return add(b, s, bytes, n, true);
}

size_t batch_add(struct batch *b, struct session *s, char *bytes, size_t n) {
    return s->plain ? add(b, s, bytes, n, false) : add_with_care(b, s, bytes, n);
}
