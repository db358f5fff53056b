/* A worker's turn: takes bytes of many sessions, and groups their requests. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/random.h"
#include "protocol/binary.h"
#include "server/command_table.h"
#include "server/config/settings.h"
#include "server/prefix_stats.h"
#include "server/session/session_internal.h"
#include "server/verbs/observe.h"
#include "server/process/version.h"

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

void batch_end(struct batch *b) {
    for (unsigned i = 0; b->sv.value_count > 0 && i < b->slot_count; i++) {
        output_return_values(&b->slots[i].output, b->sv.values);
    }
    b->sv.value_count = 0;
}

void batch_begin(struct batch *b) {
    batch_end(b);
    b->turn++;
    b->sv.prefixes = prefix_stats_on(b->server->prefixes) ? b->server->prefixes : NULL;
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
    b->copy_penalty_turns -= b->copy_penalty_turns > 0;
    b->interactive_turns -= b->interactive_turns > 0;
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

bool batch_has_interactive(const struct batch *b) {
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

/* Returns the session's slot of this turn. NULL: further replies would not lie behind its
 * replies. */
static struct slot *batch_slot_of(struct batch *b, struct session *s) {
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

/* Adds the `count` requests that were parsed at the group's end to the group. */
static inline void batch_enlist(struct batch *b, struct slot *slot, const struct session *s,
                                unsigned count) {
    struct request *r = &b->group[b->grouped];
    struct index_hint *hints = &b->hints[b->grouped];
    for (unsigned i = 0; i < count; i++) {
        r[i].slot = s->slot;
        if (verb_has_key(r[i].verb)) {
            hints[i] = cache_prefetch_bucket(b->sv.cache, &r[i].key);
        }
    }
    b->grouped += count;
    b->requests += count;
    slot->requests += count;
}

/* Does the work that a request needs before the session's next request may be parsed. */
static void batch_follow_up(struct batch *b, struct session *s) {
    struct request *r = &b->group[b->grouped - 1];
    if (r->verb == VERB_META_NOOP) {
        b->slots[s->slot].flushed_requests = b->slots[s->slot].requests;
        s->pipelined = false;
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
        session_upload_begin(b, s, &streamed);
    }
}

static inline bool batch_needs_follow_up(const struct request *r) {
    return r->verb >= VERB_COMMAND || r->verb == VERB_META_NOOP ||
           (verb_stores(r->verb) && !r->value);
}

/* Takes bytes of a half-received value, or drops bytes of a refused one. False: that value is not
 * complete yet. */
static bool batch_take_value_bytes(struct batch *b, struct session *s, char **at, const char *end) {
    if (s->upload && !session_upload_ended(s->upload)) {
        *at += session_upload_take(b, s, *at, (size_t)(end - *at));
    }
    if (s->upload && session_upload_ended(s->upload)) {
        batch_run_group(b);
        session_upload_finish(b, s);
        s->serialize_next = batch_copied_much(b) || s->serialize_next;
    } else if (s->upload) {
        /* the unused bytes are the value's first, and too few yet */
        bool waits = s->upload->waits, has_bytes = *at < end;
        s->need = waits ? SESSION_NEED_MEMORY : has_bytes ? SESSION_NEED_BYTES : SESSION_NEED_VALUE;
    }
    if (s->swallow_bytes > 0) {
        size_t have = (size_t)(end - *at);
        size_t skip = s->swallow_bytes < have ? (size_t)s->swallow_bytes : have;
        *at += skip;
        s->swallow_bytes -= skip;
        s->need = SESSION_NEED_VALUE;
    }
    return s->swallow_bytes == 0 && !s->upload;
}

/* Returns how many requests the session may still add in this turn: its share, and more while the
 * batch has room. */
static uint32_t batch_allowance(const struct batch *b, const struct slot *slot) {
    uint32_t share = b->interactive_turns > 0 ? TURN_SESSION_INTERACTIVE : TURN_SESSION_REQUESTS;
    uint32_t most =
        b->requests < TURN_REQUESTS && b->shares_from < share ? share : b->reqs_per_event;
    return slot->requests < most ? most - slot->requests : 0;
}

/* Returns how many more requests of the session may wait in the group. */
static inline unsigned batch_inflight_room(const struct batch *b, const struct session *s,
                                           const struct slot *slot) {
    unsigned inflight = b->grouped < slot->requests ? b->grouped : slot->requests;
    unsigned most = s->slow_reader              ? SESSION_INFLIGHT_MOST_SLOW_READER
                    : b->copy_penalty_turns > 0 ? SESSION_INFLIGHT_MOST_COPY_PENALTY
                                                : SESSION_INFLIGHT_MOST;
    return inflight < most ? most - inflight : 0;
}

/* True: the replies so far are long. */
static inline bool batch_replies_are_long(const struct session *s, const struct slot *slot) {
    return slot->output.end - slot->output.at + slot->value_bytes >= session_reply_bytes_most(s);
}

/* Returns the need of a session whose turn a command, or a piece of an answer, has ended. */
static enum session_need batch_need_after_command(const struct session *s, bool bytes_left) {
    if (s->more) {
        return s->more->asleep ? SESSION_NEED_WAKE : SESSION_NEED_COMMAND_TIME;
    }
    return bytes_left ? SESSION_NEED_TURN : SESSION_NEED_BYTES;
}

static void batch_end_session_turn(struct batch *b, struct session *s, bool bytes_left) {
    s->pipelined = bytes_left;
    s->need = batch_need_after_command(s, bytes_left);
    if (bytes_left) {
        BATCH_COUNT(b, conn_yields);
    }
}

/* Makes the session wait, because this turn has no more time for commands. */
static void batch_defer_session(struct session *s, const struct slot *slot) {
    s->pipelined = s->pipelined || slot->requests > 0;
    s->need = SESSION_NEED_COMMAND_TIME;
}

static bool batch_speaks(const struct batch *b, const struct session *s, bool binary) {
    bool login = binary ? b->server->logins != NULL : b->server->users.path != NULL;
    if (s->role == ROLE_NONE && !login) {
        return false; /* no login works by this protocol */
    }
    switch ((enum listen_protocol)s->protocol) {
    case LISTEN_PROTOCOL_AS_SET: return binary ? b->speaks_binary : b->speaks_text;
    case LISTEN_PROTOCOL_TEXT: return !binary;
    case LISTEN_PROTOCOL_BINARY: return binary;
    case LISTEN_PROTOCOL_AUTO: break;
    }
    return true;
}

/* Writes the next piece of a long answer, if this turn has time. True: the session's turn ends. */
static bool batch_continue_answer(struct batch *b, struct session *s, bool bytes_left) {
    if (b->answers_wait || !batch_has_time(b)) {
        s->need = SESSION_NEED_COMMAND_TIME;
        return true;
    }
    batch_run_group(b);
    batch_run_more(b, s);
    batch_settle_replies(b);
    if (s->closing) {
        return false;
    }
    s->need = batch_need_after_command(s, bytes_left);
    return true;
}

/* Returns how many requests of the session may be parsed now. 0: the session's turn ends. *alone:
 * only one request, which runs alone, within the time for commands. */
__attribute__((always_inline)) static inline unsigned
batch_room_for_requests(struct batch *b, struct session *s, const struct slot *slot, bool *alone) {
    unsigned inflight = batch_inflight_room(b, s, slot);
    if (b->grouped >= GROUP_RUN || inflight == 0) {
        batch_run_group(b);
        inflight = batch_inflight_room(b, s, slot);
    }
    if (s->serialize_next) {
        if (!batch_has_time(b)) {
            batch_defer_session(s, slot);
            return 0;
        }
        batch_run_group(b);
        s->serialize_next = false;
        *alone = true;
        inflight = 1;
    }
    uint32_t most = batch_allowance(b, slot);
    if (most == 0 || batch_replies_are_long(s, slot)) {
        s->need = SESSION_NEED_TURN;
        BATCH_COUNT(b, conn_yields);
        return 0;
    }
    unsigned room = GROUP_ROOM - b->grouped < most ? GROUP_ROOM - b->grouped : most;
    return inflight < room ? inflight : room;
}

/* Takes parsed requests into the group, and runs the group if the last request is a command. True:
 * the session's turn ends. */
__attribute__((always_inline)) static inline bool
batch_take_requests(struct batch *b, struct session *s, struct slot *slot, unsigned count,
                    uint8_t verb, bool bytes_left) {
    batch_enlist(b, slot, s, count);
    if (batch_needs_follow_up(&b->group[b->grouped - 1])) {
        batch_follow_up(b, s);
    }
    if (verb_is_command(verb) && !s->closing) {
        s->pipelined = bytes_left;
        if (s->more || slot->commands_us >= SESSION_COMMANDS_US ||
            batch_replies_are_long(s, slot)) {
            batch_end_session_turn(b, s, bytes_left);
            return true;
        }
    }
    return false;
}

/* Parses requests from *at on, and runs them, until the session's turn ends. `guarded`, a constant:
 * checks each request against the session's role. */
__attribute__((always_inline)) static inline void
batch_add_requests(struct batch *b, struct session *s, struct slot *slot, char **at, char *end,
                   const bool guarded) {
    bool alone = false; /* the request in the group runs alone */
    while (!s->closing) {
        if (alone) {
            alone = false;
            batch_run_group(b);
            if (s->serialize_next && !s->upload) {
                batch_end_session_turn(b, s, *at < end);
                break;
            }
        }
        if (s->swallow_bytes > 0 || s->upload) {
            if (!batch_take_value_bytes(b, s, at, end)) {
                break;
            }
            s->need = SESSION_NEED_BYTES;
        }
        if (*at == end || s->closing) {
            break;
        }
        unsigned room = batch_room_for_requests(b, s, slot, &alone);
        if (room == 0) {
            break;
        }
        struct request *r = &b->group[b->grouped];
        unsigned count = guarded ? 0 : parse_plain(&s->parser, at, end, r, room);
        if (count > 0) {
            batch_enlist(b, slot, s, count);
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
            batch_defer_session(s, slot);
            break;
        }
        *at = next;
        if (batch_take_requests(b, s, slot, count, verb, next < end)) {
            break;
        }
        if (guarded && s->login_tried) { /* one attempt a turn */
            s->login_tried = false;
            batch_end_session_turn(b, s, next < end);
            break;
        }
    }
    s->serialize_next =
        s->serialize_next || alone; /* the request has not run yet, and may copy much */
}

/* Notes an interactive session. The end of a long run of requests does not count as one. */
static inline void batch_note_interactive(struct batch *b, struct session *s,
                                          const struct slot *slot) {
    bool is_long = slot->requests >= TURN_SESSION_INTERACTIVE;
    if (slot->requests > 0 && slot->requests <= INTERACTIVE_REQUESTS_MOST && !s->last_turn_long) {
        b->interactive_turns = INTERACTIVE_TURNS;
    }
    s->last_turn_long = is_long;
}

__attribute__((always_inline)) static inline size_t
batch_add_bytes(struct batch *b, struct session *s, char *bytes, size_t n, const bool guarded) {
    struct slot *slot = batch_slot_of(b, s);
    if (!slot) {
        s->need = SESSION_NEED_TURN;
        return 0;
    }
    char *at = bytes;
    s->need = SESSION_NEED_BYTES;
    if (s->more && !s->closing && batch_continue_answer(b, s, n > 0)) {
        return 0;
    }
    batch_add_requests(b, s, slot, &at, bytes + n, guarded);
    batch_note_interactive(b, s, slot);
    if (s->need == SESSION_NEED_BYTES) {
        s->pipelined = false;
    }
    if (s->closing) {
        s->need = s->watcher && !slot->lost ? SESSION_WATCHES : SESSION_CLOSE;
        return n;
    }
    return (size_t)(at - bytes);
}

__attribute__((noinline)) static size_t batch_add_guarded(struct batch *b, struct session *s,
                                                          char *bytes, size_t n) {
    if (!s->protocol_known && n > 0) {
        /* The first byte shows the client's protocol. With a protocol that is off the connection
         * ends, because the client would wait for a reply for ever. */
        bool binary = (uint8_t)bytes[0] == BINARY_REQUEST;
        s->protocol_known = true;
        s->parser.mode = binary ? PARSER_PACKETS : PARSER_LINES;
        s->parser.logins = b->server->logins != NULL;
        s->closing = s->closing || !batch_speaks(b, s, binary);
    }
    s->unguarded = s->protocol_known && s->role >= ROLE_WRITE;
    return batch_add_bytes(b, s, bytes, n, true);
}

size_t batch_add(struct batch *b, struct session *s, char *bytes, size_t n) {
    return s->unguarded ? batch_add_bytes(b, s, bytes, n, false)
                        : batch_add_guarded(b, s, bytes, n);
}
