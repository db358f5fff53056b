#include "facts/tape_block.h"

#include "facts/number_coder.h"

#include <stdlib.h>
#include <string.h>

/* The rows as columns: of each word its code in the first sample, and, where it changes after that,
 * its codes in all others. */
struct columns {
    unsigned words, samples;
    uint64_t *first;      /* owned; by word; 0: nothing */
    unsigned *place;      /* owned; by word: its row of `difference`; 0: it does not change */
    unsigned count;       /* rows of `difference`; the times are row 0 */
    uint64_t *difference; /* owned; a row of `samples` each; the first of each counts for times */
};

static bool columns_init(struct columns *columns, unsigned words, unsigned samples) {
    *columns = (struct columns){.words = words, .samples = samples, .count = 1};
    columns->first = calloc(words, sizeof *columns->first);
    columns->place = calloc(words, sizeof *columns->place);
    return columns->first != NULL && columns->place != NULL;
}

/* When all that change have their place. */
static bool make_room(struct columns *columns) {
    columns->difference =
        calloc((size_t)columns->count * columns->samples, sizeof *columns->difference);
    return columns->difference != NULL;
}

static void columns_fini(struct columns *columns) {
    free(columns->first);
    free(columns->place);
    free(columns->difference);
}

static uint64_t *row_of(const struct columns *columns, unsigned place) {
    return columns->difference + (size_t)place * columns->samples;
}

/* ---- rows to columns ---- */

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

static void find_those_that_change(struct columns *columns, const uint8_t *at) {
    uint64_t code;
    for (unsigned i = 0; i < columns->samples; i++) {
        at = get_varint(at, &code);
        for (unsigned word = 0; next_pair(&at, &word, columns->words, &code); word++) {
            if (i == 0) {
                columns->first[word] = code;
            } else {
                columns->place[word] = 1;
            }
        }
    }
    for (unsigned word = 0; word < columns->words; word++) {
        if (columns->place[word] != 0) {
            columns->place[word] = columns->count++;
        }
    }
}

static void fill(struct columns *columns, const uint8_t *at) {
    uint64_t code;
    for (unsigned i = 0; i < columns->samples; i++) {
        at = get_varint(at, &row_of(columns, 0)[i]);
        for (unsigned word = 0; next_pair(&at, &word, columns->words, &code); word++) {
            if (i > 0) {
                row_of(columns, columns->place[word])[i] = code;
            }
        }
    }
}

/* ---- columns to rows ---- */

static void put_rows(const struct columns *columns, uint8_t *at) {
    for (unsigned i = 0; i < columns->samples; i++) {
        unsigned next = 0; /* the word behind the last pair */
        at = put_varint(at, row_of(columns, 0)[i]);
        for (unsigned word = 0; word < columns->words; word++) {
            unsigned place = columns->place[word];
            uint64_t code = i == 0      ? columns->first[word]
                            : place > 0 ? row_of(columns, place)[i]
                                        : 0;
            if (code != 0) {
                at = put_varint(put_varint(at, word - next), code);
                next = word + 1;
            }
        }
        at = put_varint(at, columns->words - next);
    }
}

/* ---- columns in bits ---- */

/* What is learned over all columns of a block. */
struct learned {
    struct odds_of_any skipped, first, typical, bits;
    struct odds changes;
};

static void learned_init(struct learned *learned) {
    odds_of_any_init(&learned->skipped);
    odds_of_any_init(&learned->first);
    odds_of_any_init(&learned->typical);
    odds_of_any_init(&learned->bits);
    learned->changes = (struct odds)ODDS_EVEN;
}

static int by_size(const void *a, const void *b) {
    const int64_t *one = a, *other = b;
    return (*one > *other) - (*one < *other);
}

/* Of the differences from the second on; what is rare does not move it. */
static uint64_t median(const uint64_t *codes, unsigned samples, uint64_t *scratch) {
    for (unsigned i = 1; i < samples; i++) {
        scratch[i - 1] = unzigzag(codes[i]);
    }
    qsort(scratch, samples - 1, sizeof *scratch, by_size);
    return scratch[(samples - 1) / 2];
}

/* The typical difference, the length of what lies furthest from it, and how far each does. */
static void put_column(struct number_writer *writer, struct learned *learned,
                       const uint64_t *codes, unsigned samples, uint64_t *scratch) {
    uint64_t typical = median(codes, samples, scratch), all = 0;
    for (unsigned i = 1; i < samples; i++) {
        scratch[i] = zigzag(unzigzag(codes[i]) - typical);
        all |= scratch[i];
    }
    put_any(writer, &learned->typical, zigzag(typical));
    put_any(writer, &learned->bits, number_bits(all));
    if (all != 0) {
        struct odds_of_few few;
        odds_of_few_init(&few, number_bits(all));
        for (unsigned i = 1; i < samples; i++) {
            put_few(writer, &few, scratch[i]);
        }
    }
}

static void take_column(struct number_reader *reader, struct learned *learned, uint64_t *codes,
                        unsigned samples) {
    uint64_t typical = unzigzag(take_any(reader, &learned->typical));
    unsigned bits = (unsigned)take_any(reader, &learned->bits);
    struct odds_of_few few;
    odds_of_few_init(&few, bits);
    for (unsigned i = 1; i < samples; i++) {
        uint64_t from_it = bits > 0 ? unzigzag(take_few(reader, &few)) : 0;
        codes[i] = zigzag(typical + from_it);
    }
}

/* How many words change; the times; then each word that has anything, and the end. */
static void put_columns(struct number_writer *writer, const struct columns *columns,
                        uint64_t *scratch) {
    struct learned learned;
    learned_init(&learned);
    put_any(writer, &learned.skipped, columns->count);
    put_any(writer, &learned.first, row_of(columns, 0)[0]);
    put_column(writer, &learned, row_of(columns, 0), columns->samples, scratch);
    unsigned next = 0;
    for (unsigned word = 0; word < columns->words; word++) {
        unsigned place = columns->place[word];
        if (place == 0 && columns->first[word] == 0) {
            continue;
        }
        put_any(writer, &learned.skipped, word - next);
        next = word + 1;
        put_any(writer, &learned.first, columns->first[word]);
        put_bit(writer, &learned.changes, place > 0);
        if (place > 0) {
            put_column(writer, &learned, row_of(columns, place), columns->samples, scratch);
        }
    }
    put_any(writer, &learned.skipped, columns->words - next);
}

/* False when out of memory. */
static bool take_columns(struct number_reader *reader, struct columns *columns) {
    struct learned learned;
    learned_init(&learned);
    columns->count = (unsigned)take_any(reader, &learned.skipped);
    if (!make_room(columns)) {
        return false;
    }
    row_of(columns, 0)[0] = take_any(reader, &learned.first);
    take_column(reader, &learned, row_of(columns, 0), columns->samples);
    unsigned word = 0, place = 1;
    while ((word += (unsigned)take_any(reader, &learned.skipped)) < columns->words) {
        columns->first[word] = take_any(reader, &learned.first);
        if (take_bit(reader, &learned.changes)) {
            take_column(reader, &learned, row_of(columns, place), columns->samples);
            columns->place[word] = place++;
        }
        word++;
    }
    return true;
}

uint8_t *tape_block_pack(const uint8_t *rows, unsigned samples, unsigned words,
                         size_t *packed_bytes) {
    struct columns columns;
    uint64_t *scratch = calloc(samples, sizeof *scratch);
    uint8_t *packed = NULL;
    if (columns_init(&columns, words, samples) && scratch != NULL) {
        find_those_that_change(&columns, rows);
        if (make_room(&columns)) {
            struct number_writer writer;
            fill(&columns, rows);
            number_writer_init(&writer);
            put_columns(&writer, &columns, scratch);
            packed = number_writer_end(&writer, packed_bytes);
        }
    }
    free(scratch);
    columns_fini(&columns);
    return packed;
}

bool tape_block_unpack(const uint8_t *packed, unsigned samples, unsigned words, uint8_t *rows) {
    struct columns columns;
    struct number_reader reader;
    bool is_whole = columns_init(&columns, words, samples);
    number_reader_init(&reader, packed);
    is_whole = is_whole && take_columns(&reader, &columns);
    if (is_whole) {
        put_rows(&columns, rows);
    }
    columns_fini(&columns);
    return is_whole;
}
