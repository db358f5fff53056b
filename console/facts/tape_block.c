#include "facts/tape_block.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* The words that change within a block, ascending, and their differences: a row of `samples`
 * each. */
struct columns {
    unsigned count;
    unsigned *word;      /* owned */
    uint64_t *difference; /* owned; the codes of the rows; 0: none */
};

static void columns_fini(struct columns *columns) {
    free(columns->word);
    free(columns->difference);
}

/* The pair behind *at: false at the end of the sample. *word: the one before, then this one. */
static bool next_pair(const uint8_t **at, unsigned *word, unsigned words, uint64_t *code) {
    uint64_t skipped;
    *at = get_varint(*at, &skipped);
    *word += (unsigned)skipped;
    if (*word >= words) {
        return false;
    }
    *at = get_varint(*at, code);
    return true;
}

static const uint8_t *skip_sample(const uint8_t *at, unsigned words) {
    uint64_t code;
    at = get_varint(at, &code);
    for (unsigned word = 0; next_pair(&at, &word, words, &code); word++) {
        /* on to the end */
    }
    return at;
}

/* From the second sample on: the first differs from nothing, and stays a row. */
static bool columns_read(struct columns *columns, const uint8_t *at, unsigned samples,
                         unsigned words) {
    uint64_t code;
    unsigned *place = calloc(words, sizeof *place); /* of a word among the columns, and one */
    const uint8_t *begin = at;
    *columns = (struct columns){0};
    for (unsigned i = 1; place != NULL && i < samples; i++) {
        at = get_varint(at, &code);
        for (unsigned word = 0; next_pair(&at, &word, words, &code); word++) {
            columns->count += place[word] == 0;
            place[word] = 1;
        }
    }
    columns->word = malloc((columns->count + 1) * sizeof *columns->word);
    columns->difference = calloc((size_t)columns->count * samples + 1, sizeof *columns->difference);
    bool has_room = place != NULL && columns->word != NULL && columns->difference != NULL;
    for (unsigned word = 0, count = 0; has_room && word < words; word++) {
        if (place[word] != 0) {
            columns->word[count] = word;
            place[word] = ++count;
        }
    }
    at = begin;
    for (unsigned i = 1; has_room && i < samples; i++) {
        at = get_varint(at, &code);
        for (unsigned word = 0; next_pair(&at, &word, words, &code); word++) {
            columns->difference[(size_t)(place[word] - 1) * samples + i] = code;
        }
    }
    free(place);
    return has_room;
}

static unsigned bytes_of(uint64_t value) {
    unsigned bytes = 1;
    while (bytes < 8 && value >> (8 * bytes) != 0) {
        bytes++;
    }
    return bytes;
}

/* The word's distance from the column before, how many bytes a difference takes, then the bytes of
 * all differences, the lightest first. */
static uint8_t *put_column(uint8_t *at, unsigned distance, const uint64_t *difference,
                           unsigned samples) {
    uint64_t all = 0;
    for (unsigned i = 1; i < samples; i++) {
        all |= difference[i];
    }
    at = put_varint(at, distance);
    *at++ = (uint8_t)bytes_of(all);
    for (unsigned byte = 0; byte < bytes_of(all); byte++) {
        for (unsigned i = 1; i < samples; i++) {
            *at++ = (uint8_t)(difference[i] >> (8 * byte));
        }
    }
    return at;
}

/* Deflated, behind the length of what it was. */
static uint8_t *deflated(const uint8_t *plain, size_t bytes, size_t *packed_bytes) {
    uLongf packed = compressBound(bytes);
    uint32_t length = (uint32_t)bytes;
    uint8_t *data = malloc(sizeof length + packed);
    if (data == NULL || compress2(data + sizeof length, &packed, plain, bytes, 6) != Z_OK) {
        free(data);
        return NULL;
    }
    memcpy(data, &length, sizeof length);
    *packed_bytes = sizeof length + packed;
    uint8_t *exact = realloc(data, *packed_bytes);
    return exact != NULL ? exact : data;
}

uint8_t *tape_block_pack(const uint8_t *rows, unsigned samples, unsigned words,
                         size_t *packed_bytes) {
    struct columns columns;
    const uint8_t *second = skip_sample(rows, words), *at = second;
    bool is_read = columns_read(&columns, second, samples, words);
    size_t room = (size_t)(second - rows) + VARINT_MOST * (samples + 2) +
                  columns.count * (VARINT_MOST + 1 + 8 * (size_t)samples);
    uint8_t *plain = is_read ? malloc(room) : NULL, *data = NULL;
    if (plain != NULL) {
        memcpy(plain, rows, (size_t)(second - rows));
        uint8_t *end = plain + (second - rows);
        for (unsigned i = 1; i < samples; i++) {
            uint64_t time;
            get_varint(at, &time);
            end = put_varint(end, time);
            at = skip_sample(at, words);
        }
        end = put_varint(end, columns.count);
        for (unsigned i = 0; i < columns.count; i++) {
            end = put_column(end, columns.word[i] - (i > 0 ? columns.word[i - 1] : 0),
                             columns.difference + (size_t)i * samples, samples);
        }
        data = deflated(plain, (size_t)(end - plain), packed_bytes);
    }
    free(plain);
    columns_fini(&columns);
    return data;
}

/* ---- and back ---- */

/* Where a column's bytes are. */
struct column {
    unsigned word, bytes;
    const uint8_t *at;
};

static uint64_t difference_at(const struct column *column, unsigned sample, unsigned samples) {
    uint64_t code = 0;
    for (unsigned byte = 0; byte < column->bytes; byte++) {
        code |= (uint64_t)column->at[byte * (samples - 1) + sample - 1] << (8 * byte);
    }
    return code;
}

static uint8_t *put_row(uint8_t *at, const struct column *columns, unsigned count, unsigned sample,
                        unsigned samples, unsigned words) {
    unsigned next = 0; /* the word behind the last pair */
    for (unsigned i = 0; i < count; i++) {
        uint64_t code = difference_at(&columns[i], sample, samples);
        if (code != 0) {
            at = put_varint(put_varint(at, columns[i].word - next), code);
            next = columns[i].word + 1;
        }
    }
    return put_varint(at, words - next);
}

static bool put_rows(const uint8_t *plain, unsigned samples, unsigned words, uint8_t *rows) {
    const uint8_t *times = skip_sample(plain, words), *at = times;
    uint64_t count, value;
    for (unsigned i = 1; i < samples; i++) {
        at = get_varint(at, &value);
    }
    at = get_varint(at, &count);
    struct column *columns = malloc((count + 1) * sizeof *columns);
    if (columns == NULL) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        at = get_varint(at, &value);
        unsigned before = i > 0 ? columns[i - 1].word : 0;
        columns[i] = (struct column){(unsigned)value + before, at[0], at + 1};
        at += 1 + (size_t)columns[i].bytes * (samples - 1);
    }
    memcpy(rows, plain, (size_t)(times - plain));
    rows += times - plain;
    for (unsigned i = 1; i < samples; i++) {
        times = get_varint(times, &value);
        rows = put_row(put_varint(rows, value), columns, (unsigned)count, i, samples, words);
    }
    free(columns);
    return true;
}

bool tape_block_unpack(const uint8_t *packed, size_t packed_bytes, unsigned samples, unsigned words,
                       uint8_t *rows) {
    uint32_t length;
    memcpy(&length, packed, sizeof length);
    uLongf bytes = length;
    uint8_t *plain = malloc(length);
    bool is_whole = plain != NULL &&
                    uncompress(plain, &bytes, packed + sizeof length,
                               packed_bytes - sizeof length) == Z_OK &&
                    put_rows(plain, samples, words, rows);
    free(plain);
    return is_whole;
}
