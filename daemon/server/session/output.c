/* A session's output: a run of bytes with borrowed values in between, and a position behind the
 * bytes that were sent. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "protocol/binary.h"
#include "server/session/session_internal.h"

struct output *batch_output(struct batch *b, struct session *s) {
    if (s->turn != b->turn) {
        return NULL;
    }
    struct slot *slot = &b->slots[s->slot];
    struct output *out = &slot->output;
    if (slot->lost || (out->at == out->end && out->value_next == out->value_end)) {
        return NULL;
    }
    out->bytes = b->sv.bytes;
    out->values = b->sv.values;
    return out;
}

/* Returns the unsent bytes before the place `end` in the bytes and before the value `value_end`. */
static size_t output_bytes_before(const struct output *out, size_t end, uint32_t value_end) {
    size_t n = end - out->at - out->value_sent;
    for (uint32_t i = out->value_next; i < value_end; i++) {
        n += out->values[i].value_bytes;
    }
    return n;
}

size_t output_bytes(const struct output *out) {
    return output_bytes_before(out, out->end, out->value_end);
}

int output_iov(struct output *out, struct iovec *iov, int max) {
    int n = 0;
    size_t at = out->at;
    size_t skip = out->value_sent;
    for (uint32_t i = out->value_next; n < max; i++) {
        size_t stop = i < out->value_end ? out->values[i].at : out->end;
        if (stop > at) {
            iov[n++] = (struct iovec){(void *)(uintptr_t)(out->bytes + at), stop - at};
            at = stop;
        }
        if (i >= out->value_end) {
            break;
        }
        const struct output_value *v = &out->values[i];
        size_t left = v->value_bytes - skip;
        struct cache_place *place = i == out->value_next ? &out->place : NULL;
        int pieces = n < max ? cache_value_iov(out->ct, v->item, skip, place, iov + n, max - n) : 0;
        for (int k = 0; k < pieces; k++) {
            left -= iov[n + k].iov_len;
        }
        n += pieces;
        skip = 0;
        if (left > 0) {
            break; /* there are more pieces than `max` */
        }
    }
    return n;
}

void output_sent(struct output *out, size_t n) {
    for (;;) {
        const struct output_value *v =
            out->value_next < out->value_end ? &out->values[out->value_next] : NULL;
        size_t text = (v ? v->at : out->end) - out->at;
        size_t step = n < text ? n : text;
        out->at += step;
        n -= step;
        if (!v || step < text) {
            return;
        }
        size_t left = v->value_bytes - out->value_sent;
        if (n < left) {
            out->value_sent += (uint32_t)n;
            return;
        }
        n -= left;
        cache_return(out->ct, v->item);
        out->value_next++;
        out->value_sent = 0;
        out->place = (struct cache_place){0};
    }
}

size_t output_saved_bytes(const struct output *out) {
    return out->saved_bytes > 0 ? out->saved_bytes
                                : sizeof *out + out->end - out->at +
                                      (out->value_end - out->value_next) * sizeof *out->values;
}

/* True: a line of a reply announces a value (VALUE key flags bytes, or VA bytes) of *bytes
 * bytes. */
static bool output_line_announces(const char *line, const char *end, size_t *bytes) {
    size_t n = (size_t)(end - line);
    unsigned words = n > 6 && memcmp(line, "VALUE ", 6) == 0 ? 3
                     : n > 3 && memcmp(line, "VA ", 3) == 0  ? 1
                                                             : 0;
    const char *word = line;
    for (unsigned i = 0; i < words && word != NULL; i++) {
        const char *space = memchr(word, ' ', (size_t)(end - word));
        word = space != NULL ? space + 1 : NULL;
    }
    if (words == 0 || word == NULL) {
        return false;
    }
    uint64_t number;
    for (n = 0; word + n < end && word[n] >= '0' && word[n] <= '9'; n++) {
    }
    if (!number_u64(word, n, &number)) {
        return false;
    }
    *bytes = (size_t)number;
    return true;
}

/* Returns the end of the line at `at`, with the value that the line announces. Moves `*value`, the
 * next borrowed value, behind it. */
static size_t output_line_end(const struct output *out, size_t at, uint32_t *value) {
    const char *line = out->bytes + at;
    const char *end = memchr(line, '\n', out->end - at);
    size_t bytes;
    if (end == NULL) {
        return out->end;
    }
    size_t next = at + (size_t)(end - line) + 1;
    if (!output_line_announces(line, end, &bytes)) {
        return next;
    }
    bool borrowed = *value < out->value_end && out->values[*value].at == next;
    *value += borrowed;
    next += (borrowed ? 0 : bytes) + 2;
    return next < out->end ? next : out->end;
}

bool output_cut(struct output *out, size_t begun_bytes) {
    size_t   end = out->first;
    uint32_t value = out->value_first;
    if ((unsigned char)out->bytes[out->first] == BINARY_REPLY) {
        return false;
    }
    while (end < out->at ||
           (end < out->end && output_bytes_before(out, end, value) < begun_bytes)) {
        end = output_line_end(out, end, &value);
    }
    for (uint32_t i = value; i < out->value_end; i++) {
        cache_return(out->ct, out->values[i].item);
    }
    out->end = end;
    out->value_end = value;
    return true;
}

struct output *output_save(struct output *out, const char *text) {
    size_t bytes = out->end - out->at, text_bytes = strlen(text),
           room = output_saved_bytes(out) + text_bytes;
    uint32_t values = out->value_end - out->value_next;
    struct output *saved = malloc(room);
    if (!saved) {
        return NULL;
    }
    struct output_value *saved_values = (void *)(saved + 1);
    char *saved_bytes = (char *)(saved_values + values);
    memcpy(saved_bytes, out->bytes + out->at, bytes);
    memcpy(saved_bytes + bytes, text, text_bytes);
    for (uint32_t i = 0; i < values; i++) {
        saved_values[i] = out->values[out->value_next + i];
        saved_values[i].at -= out->at;
    }
    *saved = (struct output){
        .ct = out->ct,
        .bytes = saved_bytes,
        .values = saved_values,
        .end = bytes + text_bytes,
        .value_end = values,
        .value_sent = out->value_sent,
        .place = out->place,
        .saved_bytes = room,
    };
    out->at = out->end;
    out->value_next = out->value_end; /* the borrowed values belong to the saved output now */
    out->value_sent = 0;
    out->place = (struct cache_place){0};
    return saved;
}

void output_return_values(struct output *out, const struct output_value *values) {
    for (; out->value_next < out->value_end; out->value_next++) {
        cache_return(out->ct, values[out->value_next].item);
    }
}

void output_destroy(struct output **taken) {
    struct output *out = *taken;
    *taken = NULL;
    if (!out) {
        return;
    }
    output_return_values(out, out->values);
    free(out);
}
