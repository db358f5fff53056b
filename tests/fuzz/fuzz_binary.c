/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parser must give the same requests for a stream of packets however they arrive. Each input is parsed whole and in small pieces, with
 * different bytes behind its end, and the results are compared: for a server without logins, and for one with. The sanitizers watch the
 * reads: the buffer has no more than the slack that the parser may read.
 *
 * Covers: daemon/protocol:binary
 *
 * Input: one byte that chooses the size of the pieces and the room for requests, then the stream. */
#include "protocol/binary.h"
#include "protocol/parse.h"

#include "parsed.h"

enum { INPUT_BYTES_MAX = 20 * 1024, ROOM_MAX = 8 };

static void put_request(struct record *out, const struct request *q) {
    must(q->flags & REQUEST_BINARY, "a request of a packet says so");
    must((uint8_t)q->text[0] == BINARY_REQUEST, "a request has its packet");
    put_number(out, "\nverb", q->verb);
    put_number(out, "flags", q->flags);
    put_number(out, "opcode", binary_plain_opcode(q->text) + 256u * binary_quiet(q->text));
    put_number(out, "opaque", binary_opaque(q->text));
    put_number(out, "number", q->number);
    put_number(out, "exptime", (uint32_t)q->exptime);
    put_number(out, "client_flags", q->client_flags);
    put_number(out, "value_bytes", q->value_bytes);
    if (verb_has_key(q->verb)) {
        must(q->key.len > 0 && q->key.len <= KEY_BYTES_MAX, "a key has 1 to 250 bytes");
        must(q->key.hash == key_hash(q->key.ptr, q->key.len), "a key has its own hash");
    }
    if (q->verb != VERB_BINARY_ANSWER) {
        put(out, " key=", 5);
        put(out, q->key.ptr, q->key.len);
    }
    if (q->verb == VERB_BINARY_ARITH) {
        put(out, binary_extras(q->text), 20);
    }
    if (q->verb == VERB_BINARY_ANSWER) {
        char reply[BINARY_HEAD_BYTES + 64];
        const char *text = binary_status_text((enum binary_status)q->number);
        must(q->number == BINARY_OK || *text != '\0', "an error has words");
        put(out, reply, (size_t)(binary_put_text(reply, binary_opcode(q->text), 0, (enum binary_status)q->number, text) - reply));
    }
}

/* Parses the stream as it arrives, `piece` bytes at a time, `room` requests at once. `junk` lies behind the arrived bytes. */
static void run(struct record *out, bool logins, const char *stream, size_t n, size_t piece, unsigned room, char junk) {
    struct parser parser = {.mode = PARSER_PACKETS, .logins = logins};
    struct request requests[ROOM_MAX];
    char *buffer = malloc(n + PARSE_SLACK);
    size_t at = 0, arrived = 0;

    if (buffer == NULL) {
        abort();
    }
    memset(buffer, junk, n + PARSE_SLACK);
    for (bool last = false; !last;) {
        unsigned count = 0;
        char *next = NULL;
        enum parsed found = at < arrived ? parse(&parser, buffer + at, buffer + arrived, requests, room, &count, &next) : PARSE_MORE;
        must(found != PARSE_GROW || logins, "but for a login a packet needs no room beyond what small values do");
        if (found == PARSE_CLOSE) {
            put(out, " close", 6);
            break;
        }
        if (found != PARSED) {
            size_t most = BINARY_HEAD_BYTES + (found == PARSE_GROW ? BINARY_LOGIN_MAX : 255 + KEY_BYTES_MAX + PARSE_WAIT_MAX);
            must(arrived - at < most, "what waits is bounded");
            if (arrived == n) {
                break;
            }
            size_t more = n - arrived < piece ? n - arrived : piece;
            memcpy(buffer + arrived, stream + arrived, more);
            arrived += more;
            continue;
        }
        must(count >= 1 && count <= room, "packets make requests, and no more than there is room for");
        must(next > buffer + at && next <= buffer + arrived, "the parser moves on, and takes no more than has arrived");
        at = (size_t)(next - buffer);
        for (unsigned i = 0; i < count; i++) {
            put_request(out, &requests[i]);
            must(i + 1 == count || !(requests[i].flags & (REQUEST_LAST | REQUEST_SWALLOW)), "its caller is asked before the next");
            must(i + 1 == count || requests[i].value != NULL, "a value that is to come is the last");
            must(count == 1 || !verb_is_command(requests[i].verb), "a command comes alone");
            must(logins || requests[i].verb != VERB_BINARY_LOGIN, "where nobody logs in, no step of a login is a request");
            if (requests[i].value != NULL) {
                put(out, " value=", 7);
                put(out, requests[i].value, requests[i].value_bytes);
            }
        }
        const struct request *q = &requests[count - 1];
        last = q->flags & REQUEST_LAST;
        if ((verb_stores(q->verb) && q->value == NULL) || q->flags & REQUEST_SWALLOW) {
            uint64_t want = request_block_bytes(q);
            bool cut = n - at < want;
            size_t skip_to = cut ? n : at + (size_t)want;
            if (q->flags & REQUEST_SWALLOW) {
                put(out, " swallowed", 10);
            } else {
                put(out, cut ? " cut=" : " value=", cut ? 5 : 7);
                put(out, stream + at, cut ? 0 : (size_t)want);
            }
            if (skip_to > arrived) {
                memcpy(buffer + arrived, stream + arrived, skip_to - arrived);
                arrived = skip_to;
            }
            at = skip_to;
        }
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
    for (int logins = 0; logins < 2; logins++) {
        struct record whole = {0}, pieces = {0};
        run(&whole, logins, stream, bytes, bytes ? bytes : 1, ROOM_MAX, '\n');
        run(&pieces, logins, stream, bytes, piece, room, (char)BINARY_REQUEST);
        must_be_same(&whole, &pieces, piece, room);
    }
    return 0;
}
