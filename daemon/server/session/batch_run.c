/* Runs the requests of a group, and commands. */
#include "base/clock.h"
#include "base/number.h"
#include "base/random.h"
#include "cache/admin/signals.h"
#include "protocol/binary.h"
#include "server/command_table.h"
#include "server/session/session_internal.h"
#include "server/verbs/observe.h"
#include "server/process/version.h"

static struct command_context batch_command_context(struct batch *b, struct session *s) {
    uint64_t now_us = clock_mono_us();
    text_out_clear(&b->text);
    return (struct command_context){
        .server = b->server,
        .who = session_who(s),
        .role = (enum role)s->role,
        .ct = b->sv.ct,
        .counters = b->sv.counters,
        .out = &b->text,
        .piece_bytes = session_reply_bytes_most(s),
        .until_us = now_us + COMMAND_PIECE_US,
        .now_us = now_us,
        .wake = b->wake,
        .wake_arg = b->wake_arg,
    };
}

/* Adds the time since the context was made to the turn's, and the session's, time of commands.
 * Returns that time: at least a microsecond, so that the number of commands is bounded, too. */
static uint32_t batch_note_command_time(struct batch *b, struct slot *slot,
                                        const struct command_context *context) {
    uint32_t took_us = (uint32_t)(clock_mono_us() - context->now_us) + 1;
    b->commands_us += took_us;
    slot->commands_us += took_us;
    return took_us;
}

enum { PACKET_LINE_BYTES = KEY_BYTES_MAX + 16 };

/* Writes the text command that equals the packet. Returns its length. */
static size_t batch_packet_to_line(const struct request *r, char line[PACKET_LINE_BYTES]) {
    char *p = line;
    if (binary_plain_opcode(r->text) == BINARY_FLUSH) {
        p = PUT(p, "flush_all ");
        uint32_t exptime = (uint32_t)r->exptime;
        p = number_put(p, exptime < INT32_MAX ? exptime : INT32_MAX);
    } else {
        p = PUT(p, "stats ");
        p = put_bytes(p, r->key.ptr, r->key.len);
    }
    return (size_t)(p - line);
}

static void batch_run_command(struct batch *b, const struct request *r) {
    struct session *s = b->slots[r->slot].session;
    struct command_context context = batch_command_context(b, s);
    char packet_line[PACKET_LINE_BYTES];
    bool binary = r->flags & REQUEST_BINARY;
    context.line = binary ? packet_line : r->text;
    context.line_bytes = binary ? batch_packet_to_line(r, packet_line) : r->text_bytes;
    context.noreply = (r->flags & REQUEST_NOREPLY) != 0;
    context.follows =
        b->slots[r->slot].requests > b->slots[r->slot].flushed_requests + 1 || s->pipelined;
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
        s->closing = true; /* no further requests of the session run */
    }
    if (binary) {
        s->opaque = binary_opaque(r->text);
        s->opcode = binary_opcode(r->text);
        batch_reply_packets(b, r->slot, s->opcode, s->opaque);
    } else {
        batch_reply_text(b, r->slot);
    }
    batch_note_command_time(b, &b->slots[r->slot], &context);
}

void batch_run_more(struct batch *b, struct session *s) {
    struct command_context context = batch_command_context(b, s);
    bool packets = s->more->packets;
    command_continue(&s->more, &context);
    s->closing |= context.close;
    b->requests++;
    if (s->parser.mode == PARSER_PACKETS && (!packets || b->text.failed)) {
        batch_reply_packets(b, s->slot, s->opcode, s->opaque);
    } else {
        batch_reply_text(b, s->slot);
    }
    b->answers_us += batch_note_command_time(b, &b->slots[s->slot], &context);
}

/* batch_reply_begin for the usual case that the request before belongs to the same session. A
 * session that has lost its replies is never current. */
static inline char *batch_reply_begin_fast(struct batch *b, unsigned slot) {
    bool same = slot == b->slot_current && b->sv.room - b->sv.used >= VERB_REPLY_BYTES;
    return same ? b->sv.bytes + b->sv.used : batch_reply_begin(b, slot);
}

/* Runs requests that are neither classic nor meta commands. Not inlined, so that those stay
 * fast. */
__attribute__((noinline)) static char *batch_run_other(struct batch *b, const struct request *r,
                                                       char *p) {
    switch (r->verb) {
    case VERB_REPLY: return put_bytes(p, r->text, r->text_bytes);
    case VERB_VERSION: return PUT(p, "VERSION " SLATE_PROTOCOL_VERSION "\r\n");
    case VERB_BINARY_ANSWER: return binary_answer(r, p);
    case VERB_BINARY_LOGIN: return login_sasl_run(b, r, p);
    default: return binary_run(&b->sv, r, p);
    }
}

static inline void batch_run_request(struct batch *b, const struct request *r) {
    if (r->verb == VERB_COMMAND) {
        batch_run_command(b, r);
        return;
    }
    if (r->verb == VERB_CLOSE) {
        return; /* batch_add has handled it */
    }
    char *p = batch_reply_begin_fast(b, r->slot);
    if (!p) {
        return;
    }
    if (r->verb < VERB_BINARY_GET) {
        p = classic_run(&b->sv, r, p);
    } else if (verb_is_meta(r->verb)) {
        p = meta_run(&b->sv, r, p);
    } else {
        p = batch_run_other(b, r, p);
    }
    if (p) {
        batch_reply_end(b, p);
    } else {
        batch_lose_replies(b, &b->slots[r->slot]);
    }
}

/* The bytes of the value that the request reads. */
static uint32_t batch_read_bytes(struct batch *b, const struct request *r) {
    struct meta_flags m;
    struct cache_view v;
    bool reads = r->verb <= VERB_GATS || r->verb == VERB_BINARY_GET ||
                 (r->verb == VERB_META_GET && meta_flags_parse(r, &m) == NULL && meta_has(&m, 'v'));
    return reads && cache_peek(b->sv.ct, &r->key, &v) == CACHE_OK ? v.value_bytes : 0;
}

/* Notes the key of a request, which stands for so many requests. */
static void batch_note_key(struct batch *b, const struct request *r, uint32_t requests) {
    if (b->key_every != 0 && verb_has_key(r->verb)) {
        cache_sample_key(b->sv.ct, &r->key, requests, batch_read_bytes(b, r));
    }
}

/* A number below `span`. */
static uint32_t batch_draw(struct batch *b, uint32_t span) {
    return (uint32_t)((random_next(&b->key_random) >> 32) * span >> 32);
}

/* Samples keys of a group that has key_every requests or more: one, in any place. It stands for the
 * group, so that each place in a burst of requests counts the same. */
static void batch_sample_large_group(struct batch *b, unsigned count) {
    batch_note_key(b, &b->group[batch_draw(b, count)], count);
    b->key_every = cache_sample_key_every(b->sv.cache);
}

/* Samples keys of smaller groups, of which key_due has passed the end: each stands for the requests
 * since the one before. The distance varies by key_every, so that it does not fall into step with
 * a client that repeats its requests. */
static void batch_sample_small_groups(struct batch *b, unsigned count) {
    /* few, so that samples begin soon after sampling is turned on */
    enum { RECHECK_REQUESTS = 64 };
    while (b->key_due < 0) {
        batch_note_key(b, &b->group[(unsigned)(count + b->key_due)], b->key_wait);
        b->key_every = cache_sample_key_every(b->sv.cache);
        uint32_t every = b->key_every != 0 ? b->key_every : RECHECK_REQUESTS;
        b->key_wait = every > 1 ? every / 2 + batch_draw(b, every + 1) : 1;
        b->key_due += b->key_wait;
    }
}

bool batch_copied_much(struct batch *b) {
    uint64_t copied_bytes = cache_thread_copied(b->sv.ct);
    uint64_t more_bytes = copied_bytes - b->copied_bytes;
    b->copied_bytes = copied_bytes;
    b->commands_us += (uint32_t)(more_bytes / COPIED_BYTES_US);
    b->copy_penalty_turns =
        more_bytes >= COPIED_MUCH_BYTES ? COPY_PENALTY_TURNS : b->copy_penalty_turns;
    return more_bytes >= COPIED_MUCH_BYTES;
}

/* From now on each session of this group runs one request at a time, until one copies little. */
static void batch_serialize_sessions(struct batch *b) {
    for (unsigned i = 0; i < b->grouped; i++) {
        struct session *s = b->slots[b->group[i].slot].session;
        if (s) {
            s->serialize_next = true;
        }
    }
}

/* Prefetches the items of a group, and the queue neighbours of items that the group deletes.
 * Returns how many requests have a key. */
static unsigned batch_prefetch_group(const struct batch *b, unsigned n) {
    uint32_t deleted[GROUP_ROOM];
    uint8_t later[GROUP_ROOM];
    unsigned deleted_count = 0, later_count = 0, keys = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct request *r = &b->group[i];
        if (verb_has_key(r->verb)) {
            keys++;
            uint32_t ref = cache_prefetch_item(b->sv.cache, &r->key, b->hints[i]);
            if (ref == 0) {
                later[later_count++] = (uint8_t)i;
            } else if (verb_deletes(r->verb)) {
                deleted[deleted_count++] = ref;
            }
        }
    }
    for (unsigned i = 0; i < later_count; i++) {
        const struct request *r = &b->group[later[i]];
        uint32_t ref = cache_prefetch_item_behind(b->sv.cache, &r->key, b->hints[later[i]]);
        if (ref != 0 && verb_deletes(r->verb)) {
            deleted[deleted_count++] = ref;
        }
    }
    /* by now the items are in the processor's cache, with the links to their neighbours */
    for (unsigned i = 0; i < deleted_count; i++) {
        cache_prefetch_neighbours(b->sv.cache, deleted[i]);
    }
    return keys;
}
_Static_assert(GROUP_ROOM <= UINT8_MAX + 1, "the number of a request fits a byte");

void batch_run_group(struct batch *b) {
    unsigned n = b->grouped, keys = n == 1 && verb_has_key(b->group[0].verb);
    if (n > 1) {
        keys = batch_prefetch_group(b, n);
    }
    unsigned watched = b->sv.watched = event_watched(~0u);
    for (unsigned i = 0; i < n; i++) {
        if (__builtin_expect(watched, 0)) {
            b->sv.fd = b->slots[b->group[i].slot].session->fd;
            observe_begin(&b->sv, watched, &b->group[i]);
            observe_lookup(&b->sv, &b->group[i]);
        }
        b->sv.hint = &b->hints[i];
        batch_run_request(b, &b->group[i]);
    }
    if (batch_copied_much(b)) {
        batch_serialize_sessions(b);
    }
    b->grouped = 0;
    /* as before the group: the last request may have narrowed it to its key */
    b->sv.watched = watched;
    batch_settle_replies(b);
    counter_add(&b->sv.counters->requests, n);
    cache_count_key_requests(b->sv.ct, keys);
    if (b->key_every != 0 && n >= b->key_every) {
        batch_sample_large_group(b, n);
    } else if ((b->key_due -= n) < 0) {
        batch_sample_small_groups(b, n);
    }
}
