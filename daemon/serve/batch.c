/* A worker's turn: bytes of many sessions in, requests in groups, replies out. */
#include <stdlib.h>

#include "base/clock.h"
#include "serve/batch.h"
#include "serve/commands.h"
#include "serve/observe.h"
#include "serve/prefix.h"
#include "serve/settings.h"
#include "serve/version.h"

enum { BATCH_FIRST_BYTES = 64 * 1024, NO_SLOT = TURN_SESSIONS, BINARY_MAGIC = 0x80 };

struct batch *batch_create(struct server *server, struct cache_thread *ct,
                           struct serve_counters *counters) {
    struct batch *b = malloc(sizeof *b);
    char *bytes = malloc(BATCH_FIRST_BYTES);
    if (!b || !bytes) {
        free(b);
        free(bytes);
        return NULL;
    }
    memset(b, 0, offsetof(struct batch, group));
    b->server = server;
    b->cache = server->cache;
    b->ct = ct;
    b->counters = counters;
    b->refuses_binary = strcmp(server->settings->protocol, "ascii") != 0;
    b->reqs_per_event = (uint32_t)server->settings->reqs_per_event;
    b->bytes = bytes;
    b->room = BATCH_FIRST_BYTES;
    b->slot_current = NO_SLOT;
    text_out_init(&b->text);
    return b;
}

/* Borrowed values that nobody sent or kept. */
static void return_values(struct batch *b) {
    for (unsigned i = 0; b->value_count > 0 && i < b->slot_count; i++) {
        struct output *out = &b->slots[i].output;
        for (; out->value_next < out->value_end; out->value_next++) {
            cache_return(b->ct, b->values[out->value_next].item);
        }
    }
    b->value_count = 0;
}

void batch_destroy(struct batch **taken) {
    struct batch *b = *taken;
    *taken = NULL;
    if (!b) {
        return;
    }
    return_values(b);
    text_out_fini(&b->text);
    free(b->values);
    free(b->bytes);
    free(b);
}

void batch_on_event(struct batch *b, void (*wake)(void *), void *arg) {
    b->wake = wake;
    b->wake_arg = arg;
}

/* Nothing of the last turn is in use any more. What grew for a few turns is given back. Without
 * memory for less, it stays. */
static void shrink(struct batch *b) {
    if (b->room > BATCH_FIRST_BYTES && b->used_most < b->room / 4) {
        char *bytes = realloc(b->bytes, b->room / 2);
        if (bytes) {
            b->bytes = bytes;
            b->room /= 2;
        }
    }
    if (b->text_most < b->text.room / 4) {
        text_out_fini(&b->text);
    }
    b->used_most = b->text_most = 0;
    b->shrink_turns = 0;
}

static void note_prefixes(struct batch *b) {
    b->prefixes = prefix_stats_on(b->server->prefixes) ? b->server->prefixes : NULL;
}

void batch_begin(struct batch *b) {
    return_values(b);
    b->turn++;
    note_prefixes(b);
    b->used_most = b->used > b->used_most ? b->used : b->used_most;
    if (++b->shrink_turns >= SHRINK_TURNS) {
        shrink(b);
    }
    b->used = 0;
    b->requests = 0;
    b->commands_us = 0;
    b->commands_wait = false;
    b->wary_turns -= b->wary_turns > 0;
    b->slot_count = 0;
    b->slot_current = NO_SLOT;
}

bool batch_full(const struct batch *b) {
    return b->requests >= TURN_REQUESTS || b->slot_count == TURN_SESSIONS ||
           b->used >= BATCH_FULL_BYTES || b->commands_us >= 2 * BATCH_COMMANDS_US;
}

bool batch_has_time(const struct batch *b) {
    return b->commands_us < BATCH_COMMANDS_US && !b->commands_wait;
}

void batch_defer_commands(struct batch *b) { b->commands_wait = true; }

/* --- replies --- */

/* No memory for a session's replies: what it has is dropped, what it still asks is not run, and it
 * closes. */
static void lose(struct batch *b, struct slot *slot) {
    struct output *out = &slot->output;
    for (; out->value_next < out->value_end; out->value_next++) {
        cache_return(b->ct, b->values[out->value_next].item);
    }
    b->used = out->at;
    out->end = out->at;
    slot->lost = true;
    b->slot_current = NO_SLOT;
    if (slot->session) {
        slot->session->closing = true;
        slot->session->need = SESSION_CLOSE;
    }
}

static bool grow_bytes(struct batch *b, size_t n) {
    size_t room = b->room;
    while (room - b->used < n) {
        if (room > SIZE_MAX / 2) {
            return false;
        }
        room *= 2;
    }
    char *bytes = realloc(b->bytes, room);
    if (!bytes) {
        return false;
    }
    b->bytes = bytes;
    b->room = room;
    return true;
}

/* Ends the replies of the slot before. */
static inline void settle_slot(struct batch *b) {
    if (b->slot_current != NO_SLOT) {
        b->slots[b->slot_current].output.end = b->used;
    }
}

char *batch_reply_begin(struct batch *b, unsigned slot) {
    if (b->slots[slot].lost) {
        return NULL;
    }
    if (slot != b->slot_current) {
        settle_slot(b);
        b->slot_current = slot;
        struct output *out = &b->slots[slot].output;
        out->at = out->end = b->used;
        out->value_next = out->value_end = (uint32_t)b->value_count;
    }
    if (b->room - b->used < REPLY_ROOM && !grow_bytes(b, REPLY_ROOM)) {
        lose(b, &b->slots[slot]);
        return NULL;
    }
    return b->bytes + b->used;
}

bool batch_put_value(struct batch *b, const char *p, struct item *borrowed, uint32_t value_bytes) {
    if (b->value_count == b->value_room) {
        size_t room = b->value_room ? b->value_room * 2 : 64;
        struct output_value *values = realloc(b->values, room * sizeof *values);
        if (!values) {
            cache_return(b->ct, borrowed);
            return false;
        }
        b->values = values;
        b->value_room = room;
    }
    b->values[b->value_count++] =
        (struct output_value){(size_t)(p - b->bytes), borrowed, value_bytes};
    struct slot *slot = &b->slots[b->slot_current];
    slot->output.value_end = (uint32_t)b->value_count;
    slot->value_bytes += value_bytes;
    return true;
}

/* --- running --- */

static size_t reply_bytes_most(const struct session *s) {
    return s->lags ? SESSION_REPLY_BYTES_LAGGING : SESSION_REPLY_BYTES;
}

/* Puts what a command wrote behind the replies of its session. */
static void reply_text(struct batch *b, unsigned slot) {
    b->text_most = b->text.used > b->text_most ? b->text.used : b->text_most;
    if (b->text.failed) {
        /* Not through the text, which may have no room for this either. */
        char *p = batch_reply_begin(b, slot);
        if (p) {
            batch_reply_end(b, PUT(p, "SERVER_ERROR out of memory writing stats\r\n"));
        }
        return;
    }
    if (b->text.used == 0 || !batch_reply_begin(b, slot)) {
        return;
    }
    if (b->room - b->used < b->text.used && !grow_bytes(b, b->text.used)) {
        lose(b, &b->slots[slot]);
        return;
    }
    memcpy(b->bytes + b->used, b->text.bytes, b->text.used);
    b->used += b->text.used;
}

static struct command_context context_of(struct batch *b, struct session *s) {
    text_out_clear(&b->text);
    return (struct command_context){
        .server = b->server,
        .session = s,
        .ct = b->ct,
        .counters = b->counters,
        .out = &b->text,
        .piece_bytes = reply_bytes_most(s),
        .until_us = clock_mono_us() + COMMAND_PIECE_US,
        .wake = b->wake,
        .wake_arg = b->wake_arg,
    };
}

/* Puts the time since the context was made to what the turn's commands took. */
static void note_time(struct batch *b, const struct command_context *context) {
    b->commands_us += (uint32_t)(clock_mono_us() + COMMAND_PIECE_US - context->until_us) + 1;
}

static void run_command(struct batch *b, const struct request *r) {
    struct session *s = b->slots[r->slot].session;
    struct command_context context = context_of(b, s);
    context.line = r->text;
    context.line_bytes = r->text_bytes;
    context.noreply = (r->flags & REQUEST_NOREPLY) != 0;
    context.follows = b->slots[r->slot].requests > 1 || s->piped;
    if (!command_run(&context)) {
        if (r->flags & REQUEST_HTTP) {
            context.close = true;
        } else if (!context.noreply) {
            text_out_str(&b->text, "ERROR\r\n");
        }
    }
    if (context.close) {
        s->closing = true;
        s->need = SESSION_CLOSE;
    }
    s->more = context.more;
    if (context.watcher) {
        s->watcher = context.watcher;
        s->closing = true; /* no more requests */
    }
    note_prefixes(b); /* it may have been `stats detail` */
    reply_text(b, r->slot);
    note_time(b, &context);
}

/* The next piece of an answer that goes on. */
static void run_more(struct batch *b, struct session *s) {
    struct command_context context = context_of(b, s);
    command_go_on(&s->more, &context);
    b->requests++;
    reply_text(b, s->slot);
    note_time(b, &context);
}

/* batch_reply_begin, for the usual case that the request before was the same session's. A lost
 * session is never current. */
static inline char *reply_begin(struct batch *b, unsigned slot) {
    bool same = slot == b->slot_current && b->room - b->used >= REPLY_ROOM;
    return same ? b->bytes + b->used : batch_reply_begin(b, slot);
}

static inline void run_request(struct batch *b, const struct request *r) {
    if (r->verb == VERB_COMMAND) {
        run_command(b, r);
        return;
    }
    if (r->verb == VERB_CLOSE) {
        return; /* batch_add has done it */
    }
    char *p = reply_begin(b, r->slot);
    if (!p) {
        return;
    }
    if (r->verb == VERB_REPLY) {
        p = put_bytes(p, r->text, r->text_bytes);
    } else if (r->verb == VERB_VERSION) {
        p = PUT(p, "VERSION " SLATE_PROTOCOL_VERSION "\r\n");
    } else if (r->verb < VERB_META_GET) {
        p = classic_run(b, r, p);
    } else {
        p = meta_run(b, r, p);
    }
    if (p) {
        batch_reply_end(b, p);
    } else {
        lose(b, &b->slots[r->slot]);
    }
}

/* One request of some has its key noted, and stands for all since the last. The distance varies,
 * lest it beat in time with the client's loop, and is a group at least. */
static void note_key(struct batch *b, unsigned count) {
    enum { LOOK_AGAIN = 4096 };
    unsigned i = (unsigned)(count - 1 + (uint64_t)(b->key_due + 1)) % count;
    if (b->key_every != 0 && verb_has_key(b->group[i].verb)) {
        cache_sample_key(b->ct, &b->group[i].key, (uint32_t)(b->key_wait - b->key_due));
    }
    b->key_every = cache_sample_key_every(b->cache);
    b->key_random = b->key_random * 6364136223846793005u + 1442695040888963407u;
    uint32_t most = b->key_every != 0 ? b->key_every : LOOK_AGAIN;
    b->key_due = b->key_wait = most / 2 + (uint32_t)((b->key_random >> 32) * (most + 1) >> 32);
}

/* Whether much was copied since it was last asked: an append or prepend copies the whole value. It
 * counts as the time of commands. */
static bool copied_much(struct batch *b) {
    uint64_t copied_bytes = cache_thread_copied(b->ct), more_bytes = copied_bytes - b->copied_bytes;
    b->copied_bytes = copied_bytes;
    b->commands_us += (uint32_t)(more_bytes / COPIED_BYTES_US);
    b->wary_turns = more_bytes >= COPIED_MUCH_BYTES ? WARY_TURNS : b->wary_turns;
    return more_bytes >= COPIED_MUCH_BYTES;
}

/* From now on the group's sessions are run one request at a time; one that copies nothing much then
 * is as any other again. */
static void note_copying(struct batch *b) {
    for (unsigned i = 0; i < b->grouped; i++) {
        struct session *s = b->slots[b->group[i].slot].session;
        if (s) {
            s->copies = true;
        }
    }
}

void batch_run_group(struct batch *b) {
    unsigned n = b->grouped;
    if (n > 1) {
        uint32_t leaving[GROUP_ROOM];
        unsigned count = 0;
        for (unsigned i = 0; i < n; i++) {
            if (verb_has_key(b->group[i].verb)) {
                uint32_t ref = cache_prefetch_item(b->cache, &b->group[i].key);
                if (ref != 0 && verb_deletes(b->group[i].verb)) {
                    leaving[count++] = ref;
                }
            }
        }
        /* by now the items are here, and their neighbours in the queue known */
        for (unsigned i = 0; i < count; i++) {
            cache_prefetch_neighbours(b->cache, leaving[i]);
        }
    }
    b->watched = event_watched(~0u);
    for (unsigned i = 0; i < n; i++) {
        if (observed(b, ~0u)) {
            observe_lookup(b, &b->group[i]);
        }
        run_request(b, &b->group[i]);
    }
    if (copied_much(b)) {
        note_copying(b);
    }
    b->grouped = 0;
    settle_slot(b);
    counter_add(&b->counters->requests, n);
    b->key_due -= n;
    if (b->key_due < 0 && n > 0) {
        note_key(b, n);
    }
}

void batch_run(struct batch *b) {
    batch_run_group(b);
    if (b->requests > 0) {
        BATCH_COUNT(b, batches);
    }
}

/* --- taking bytes --- */

/* The session's slot of this turn; NULL when its replies could not follow those it has already. */
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
    *slot = (struct slot){.session = s, .output = {.ct = b->ct}};
    return slot;
}

/* Takes `count` parsed requests at the group's end into it. */
static inline void enlist(struct batch *b, struct slot *slot, const struct session *s,
                          unsigned count) {
    struct request *r = &b->group[b->grouped];
    for (unsigned i = 0; i < count; i++) {
        r[i].slot = s->slot;
        if (verb_has_key(r[i].verb)) {
            cache_prefetch_bucket(b->cache, &r[i].key);
        }
    }
    b->grouped += count;
    b->requests += count;
    slot->requests += count;
}

/* What a request needs before the session's next one may be parsed. */
static void follow_up(struct batch *b, struct session *s) {
    struct request *r = &b->group[b->grouped - 1];
    if (r->verb == VERB_REPLY) {
        if (r->flags & REQUEST_SWALLOW) {
            s->swallow_bytes = (uint64_t)r->value_bytes + 2;
        }
    } else if (r->verb == VERB_COMMAND) {
        batch_run_group(b);
    } else if (r->verb == VERB_CLOSE) {
        s->closing = s->quit = true;
    } else if (!r->value) {
        struct request streamed = *r;
        b->grouped--;
        batch_run_group(b);
        counter_add(&b->counters->requests, 1);
        intake_begin(b, s, &streamed);
    }
}

static inline bool needs_follow_up(const struct request *r) {
    return r->verb >= VERB_COMMAND ||
           ((r->verb == VERB_META_SET || (r->verb >= VERB_SET && r->verb <= VERB_CAS)) &&
            !r->value);
}

/* Puts bytes where a half-received value or a refused one wants them. False: that is not complete
 * yet. */
static bool take_value_bytes(struct batch *b, struct session *s, char **at, const char *end) {
    if (s->intake && s->intake->late) {
        intake_give_up(b, s);
    } else if (s->intake) {
        *at += intake_take(b, s, *at, (size_t)(end - *at));
    }
    if (s->intake && intake_whole(s->intake)) {
        batch_run_group(b);
        intake_finish(b, s);
        s->copies = copied_much(b) || s->copies;
    } else if (s->intake) {
        /* kept: its first bytes, which are too few yet */
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

/* How many requests the session may still add in this turn: its share always, more while the batch
 * has room. */
static uint32_t allowance(const struct batch *b, const struct slot *slot) {
    uint32_t most = b->requests < TURN_REQUESTS && b->reqs_per_event < TURN_SESSION_REQUESTS
                        ? TURN_SESSION_REQUESTS
                        : b->reqs_per_event;
    return slot->requests < most ? most - slot->requests : 0;
}

/* Requests of the session that have not run yet may come to so many. */
static inline unsigned unseen_room(const struct batch *b, const struct session *s,
                                   const struct slot *slot) {
    unsigned unseen = b->grouped < slot->requests ? b->grouped : slot->requests;
    unsigned most = s->lags             ? SESSION_UNSEEN_LAGGING
                    : b->wary_turns > 0 ? SESSION_UNSEEN_WARY
                                        : SESSION_UNSEEN;
    return unseen < most ? most - unseen : 0;
}

/* As far as they have run. */
static inline bool replies_are_long(const struct session *s, const struct slot *slot) {
    return slot->output.end - slot->output.at + slot->value_bytes >= reply_bytes_most(s);
}

/* A command or a piece of its answer, which has just run, ends the session's turn. */
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

/* What comes next is long, and this turn's time for such is over. */
static void wait_for_time(struct session *s, const struct slot *slot) {
    s->piped = s->piped || slot->requests > 0;
    s->need = SESSION_NEED_COMMAND;
}

/* The binary protocol is not built: a client that opens with its magic byte would wait for an
 * answer for ever. */
static void meet(const struct batch *b, struct session *s, const char *bytes) {
    s->spoke = true;
    s->closing = s->closing || (b->refuses_binary && (uint8_t)bytes[0] == BINARY_MAGIC);
}

size_t batch_add(struct batch *b, struct session *s, char *bytes, size_t n) {
    struct slot *slot = slot_of(b, s);
    if (!slot) {
        s->need = SESSION_NEED_TURN;
        return 0;
    }
    char *at = bytes, *end = bytes + n;
    s->need = SESSION_NEED_BYTES;
    if (!s->spoke && n > 0) {
        meet(b, s, bytes);
    }
    if (s->more && !s->closing) {
        if (!batch_has_time(b)) {
            s->need = SESSION_NEED_COMMAND;
            return 0;
        }
        batch_run_group(b);
        run_more(b, s);
        settle_slot(b);
        if (!s->closing) {
            s->need = need_after_command(s, n > 0);
            return 0;
        }
    }
    bool alone = false; /* its next request runs by itself, within the time for commands */
    while (!s->closing) {
        if (alone) {
            alone = false;
            batch_run_group(b);
            if (s->copies && !s->intake) {
                end_turn(b, s, at < end);
                break;
            }
        }
        if (s->swallow_bytes > 0 || s->intake) {
            if (!take_value_bytes(b, s, &at, end)) {
                break;
            }
            s->need = SESSION_NEED_BYTES;
        }
        if (at == end || s->closing) {
            break;
        }
        unsigned unseen = unseen_room(b, s, slot);
        if (b->grouped >= GROUP_RUN || unseen == 0) {
            batch_run_group(b);
            unseen = unseen_room(b, s, slot);
        }
        if (s->copies) {
            if (!batch_has_time(b)) {
                wait_for_time(s, slot);
                break;
            }
            batch_run_group(b);
            s->copies = false;
            alone = true;
            unseen = 1;
        }
        uint32_t most = allowance(b, slot);
        if (most == 0 || replies_are_long(s, slot)) {
            s->need = SESSION_NEED_TURN;
            BATCH_COUNT(b, conn_yields);
            break;
        }
        unsigned room = GROUP_ROOM - b->grouped < most ? GROUP_ROOM - b->grouped : most;
        room = unseen < room ? unseen : room;
        unsigned count = parse_plain(&s->parser, &at, end, &b->group[b->grouped], room);
        if (count > 0) {
            enlist(b, slot, s, count);
            continue;
        }
        char *next;
        enum parsed how = parse(&s->parser, at, end, &b->group[b->grouped], room, &count, &next);
        if (how == PARSED) {
            uint8_t verb = b->group[b->grouped + count - 1].verb;
            if (verb == VERB_COMMAND && !batch_has_time(b)) {
                wait_for_time(s, slot);
                break;
            }
            at = next;
            enlist(b, slot, s, count);
            if (needs_follow_up(&b->group[b->grouped - 1])) {
                follow_up(b, s);
            }
            if (verb == VERB_COMMAND && !s->closing) {
                end_turn(b, s, at < end);
                break;
            }
            continue;
        }
        if (how == PARSE_CLOSE) {
            s->closing = true;
        } else if (how == PARSE_GROW) {
            s->need = SESSION_NEED_ROOM;
        }
        break;
    }
    s->copies = s->copies || alone; /* nothing ran that could tell otherwise */
    if (s->need == SESSION_NEED_BYTES) {
        s->piped = false;
    }
    if (s->closing) {
        s->need = s->watcher && !slot->lost ? SESSION_WATCHES : SESSION_CLOSE;
        return n;
    }
    return (size_t)(at - bytes);
}
