#include "server/session/packets.h"

#include <stdbool.h>
#include <string.h>

#include "protocol/binary.h"

struct line {
    const char *at;
    size_t      bytes;
};

static bool packets_line_begins(const struct line *line, const char *word) {
    size_t bytes = strlen(word);
    return line->bytes >= bytes && memcmp(line->at, word, bytes) == 0;
}

static bool packets_line_is(const struct line *line, const char *word) {
    return line->bytes == strlen(word) && packets_line_begins(line, word);
}

/* Reads the line at `at` without its end. Returns the start of the next line. */
static const char *packets_next_line(const char *at, const char *end, struct line *line) {
    const char *feed = memchr(at, '\n', (size_t)(end - at));
    const char *stop = feed ? feed : end;
    *line = (struct line){at, (size_t)(stop - at)};
    line->bytes -= line->bytes > 0 && at[line->bytes - 1] == '\r';
    return feed ? feed + 1 : end;
}

struct answer {
    struct text_out *to;
    uint8_t          opcode;
    uint32_t         opaque;
};

static void packets_put(const struct answer *a, const char *key, size_t key_bytes,
                        const char *value, size_t value_bytes) {
    struct binary_head head = {.opcode = a->opcode,
                               .key_bytes = (uint16_t)key_bytes,
                               .body_bytes = (uint32_t)(key_bytes + value_bytes),
                               .opaque = a->opaque};
    char *p = text_out_reserve(a->to, BINARY_HEAD_BYTES);
    if (p) {
        binary_put_head(p, &head);
        text_out_grow(a->to, BINARY_HEAD_BYTES);
    }
    text_out_bytes(a->to, key, key_bytes);
    text_out_bytes(a->to, value, value_bytes);
}

/* memcached has a status for commands that are not allowed, and one for unknown statistics. */
static void packets_put_error(const struct answer *a, const struct line *line) {
    bool allowed =
        a->opcode == BINARY_STAT && !packets_line_begins(line, "CLIENT_ERROR not allowed:");
    enum binary_status status = allowed ? BINARY_NOT_FOUND : BINARY_AUTH_ERROR;
    char packet[BINARY_HEAD_BYTES + 64];
    char *end = binary_put_text(packet, a->opcode, a->opaque, status, binary_status_text(status));
    text_out_bytes(a->to, packet, (size_t)(end - packet));
}

static void packets_put_row(const struct answer *a, struct line row) {
    if (packets_line_begins(&row, "STAT ")) {
        row.at += 5;
        row.bytes -= 5;
    }
    const char *space = memchr(row.at, ' ', row.bytes);
    size_t key_bytes = space ? (size_t)(space - row.at) : row.bytes;
    size_t skip = key_bytes + (space != NULL);
    packets_put(a, row.at, key_bytes, row.at + skip, row.bytes - skip);
}

void packets_of_text(struct text_out *packets, const struct text_out *text, uint8_t opcode,
                     uint32_t opaque) {
    static const char prefixes[] = "detailed";
    const struct answer a = {packets, opcode, opaque};
    if (text->used == 0) {
        return;
    }
    const char *end = text->bytes + text->used, *prefixes_at = NULL;
    for (const char *at = text->bytes, *next; at < end; at = next) {
        struct line line;
        next = packets_next_line(at, end, &line);
        if (packets_line_begins(&line, "PREFIX ")) {
            prefixes_at = prefixes_at ? prefixes_at : at;
            if (next < end) {
                continue;
            }
        }
        if (prefixes_at) {
            size_t bytes = (size_t)(next - prefixes_at);
            packets_put(&a, prefixes, sizeof prefixes - 1, prefixes_at, bytes);
            prefixes_at = NULL;
        }
        if (packets_line_is(&line, "ERROR") || packets_line_begins(&line, "CLIENT_ERROR") ||
            packets_line_begins(&line, "SERVER_ERROR")) {
            packets_put_error(&a, &line);
        } else if (packets_line_is(&line, "END") || packets_line_is(&line, "RESET") ||
                   packets_line_is(&line, "OK")) {
            /* a quiet flush has no reply to its success */
            if (opcode != BINARY_FLUSHQ || !packets_line_is(&line, "OK")) {
                packets_put(&a, NULL, 0, NULL, 0);
            }
        } else if (!packets_line_begins(&line, "PREFIX ")) {
            packets_put_row(&a, line);
        }
    }
}
