/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parser must give the same requests for a stream of bytes however they arrive. Each input is parsed twice, whole and in small pieces,
 * with different bytes behind its end, and the results are compared. The sanitizers watch the reads: the buffer has no more than the slack
 * that the parser may read.
 *
 * Covers: daemon/protocol:base64|line|parse.*|request|scan|token
 *
 * Input: one byte that chooses the size of the pieces and the room for requests, then the stream. */
#include "protocol/parse.h"

#include "parsed.h"

enum { INPUT_BYTES_MAX = 8192, ROOM_MAX = 8 };

/* Writes the members that the request's verb uses. */
static void put_request(struct record *out, const struct request *q) {
    if (q->verb == VERB_REPLY && q->text_bytes == 0 && !(q->flags & REQUEST_SWALLOW)) {
        return; /* no reply: a part of a refused line, in however many parts the line comes */
    }
    uint8_t flags = q->flags & (uint8_t)~REQUEST_BAD_DATA; /* replied to with the data */
    put_number(out, "\nverb", q->verb);
    put_number(out, "flags", flags);
    if (verb_has_key(q->verb)) {
        must(q->key.len <= KEY_BYTES_MAX, "a key is no longer than a key may be");
        must((q->key.len > 0) != ((q->flags & REQUEST_BAD_KEY) != 0), "a key is there or marked as bad");
        must(q->key.len == 0 || q->key.hash == key_hash(q->key.ptr, q->key.len), "a key has its own hash");
        put(out, " key=", 5);
        put(out, q->key.ptr, q->key.len);
    }
    if (verb_is_meta(q->verb) || q->verb == VERB_COMMAND || q->verb == VERB_REPLY) {
        put(out, " text=", 6);
        put(out, q->text, q->text_bytes);
    }
    if (q->verb >= VERB_SET && q->verb <= VERB_CAS) {
        put_number(out, "client_flags", q->client_flags);
    }
    if (q->verb == VERB_CAS || q->verb == VERB_INCR || q->verb == VERB_DECR) {
        put_number(out, "number", q->number);
    }
    if ((q->verb >= VERB_GAT && q->verb <= VERB_CAS) || q->verb == VERB_TOUCH) {
        put_number(out, "exptime", (uint64_t)(int64_t)q->exptime);
    }
}

/* The data block of a storage request, from the stream itself when the parser left it there. Returns the place where the stream goes on. */
static size_t put_value(struct record *out, const struct request *q, const char *stream, size_t at, size_t n) {
    size_t want = (size_t)q->value_bytes + 2;
    const char *value = q->value;
    put_number(out, "value_bytes", q->value_bytes);
    if (value == NULL) {
        if (n - at < want) {
            put(out, " cut", 4);
            return n;
        }
        value = stream + at;
        at += want;
    }
    bool bad = value[want - 2] != '\r' || value[want - 1] != '\n';
    must(q->value == NULL || bad == ((q->flags & REQUEST_BAD_DATA) != 0), "a bad data block is marked");
    put(out, " value=", 7);
    put(out, value, want);
    return at;
}

/* Parses the stream as it arrives, `piece` bytes at a time, `room` requests at once. `junk` lies behind the arrived bytes. */
static void run(struct record *out, const char *stream, size_t n, size_t piece, unsigned room, char junk) {
    struct parser parser = {0};
    struct request requests[ROOM_MAX];
    char *buffer = malloc(n + PARSE_SLACK);
    size_t at = 0, arrived = 0;

    if (buffer == NULL) {
        abort();
    }
    memset(buffer, junk, n + PARSE_SLACK);
    for (;;) {
        unsigned count = 0;
        char *next = NULL;
        enum parsed found = at < arrived ? parse(&parser, buffer + at, buffer + arrived, requests, room, &count, &next) : PARSE_MORE;
        if (found == PARSE_CLOSE) {
            out->closed = true;
            break;
        }
        if (found != PARSED) {
            if (arrived == n) {
                break;
            }
            size_t more = n - arrived < piece ? n - arrived : piece;
            memcpy(buffer + arrived, stream + arrived, more);
            arrived += more;
            continue;
        }
        must(count >= 1 && count <= room, "a line makes requests, and no more than there is room for");
        must(next >= buffer + at && next <= buffer + arrived, "the parser takes no more than has arrived");
        must(next > buffer + at || parser.in_get_line, "the parser moves on");
        at = (size_t)(next - buffer);
        for (unsigned i = 0; i < count; i++) {
            put_request(out, &requests[i]);
        }
        const struct request *last = &requests[count - 1];
        size_t skip_to = at;
        if (verb_stores(last->verb)) {
            skip_to = put_value(out, last, stream, at, n);
        } else if (last->verb == VERB_REPLY && last->flags & REQUEST_SWALLOW) {
            size_t want = (size_t)last->value_bytes + 2;
            skip_to = n - at < want ? n : at + want;
        }
        if (skip_to > arrived) {
            memcpy(buffer + arrived, stream + arrived, skip_to - arrived);
            arrived = skip_to;
        }
        at = skip_to;
    }
    free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 1 || n > INPUT_BYTES_MAX) {
        return 0;
    }
    const char *stream = (const char *)data + 1;
    size_t piece = 1 + (data[0] & 15), bytes = n - 1;
    unsigned room = 1 + (data[0] >> 4) % ROOM_MAX;
    struct record whole = {0}, pieces = {0};

    run(&whole, stream, bytes, bytes ? bytes : 1, ROOM_MAX, '\n');
    run(&pieces, stream, bytes, piece, room, ' ');
    must_be_same(&whole, &pieces, piece, room);
    return 0;
}
