/* Numbers in about as many bits as there is news in them: how long each is, by an arithmetic coder
 * of bits with odds that are learned from those before; the rest of it, of which nothing can be
 * known, beside that as it is.
 *
 * What a sequence of put_ calls wrote, the same sequence of take_ calls reads, with odds that begin
 * alike. Between what the odds say and what comes nothing is lost but the time that they take to
 * learn it. Source of the coder: M. Mahoney, "Data Compression Programs" (lpaq), with 32 bits of
 * range; of the odds: R. Krichevsky, V. Trofimov, "The performance of universal encoding", 1981.
 * One thread. */
#ifndef CONSOLE_FACTS_NUMBER_CODER_H
#define CONSOLE_FACTS_NUMBER_CODER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_BITS = 64 };

/* How likely a bit is 1. */
struct odds {
    uint16_t of_one; /* of 65536 */
    uint16_t seen;   /* bits that it was learned from */
};
#define ODDS_EVEN {1 << 15, 0}

/* Numbers of any size, of which many are about as long in bits as those before. */
struct odds_of_any {
    struct odds length[2 * NUMBER_BITS]; /* a tree: node n has 2 n and 2 n + 1 below it */
};
void odds_of_any_init(struct odds_of_any *odds);

/* Numbers of at most `bits` bits, 1 to NUMBER_BITS, that are 0, or as a rule nearly as long. */
struct odds_of_few {
    unsigned bits;
    struct odds zero;
    struct odds so_long[NUMBER_BITS + 1]; /* by length, of numbers that are no longer */
};
void odds_of_few_init(struct odds_of_few *odds, unsigned bits);

unsigned number_bits(uint64_t number); /* 0: none; else the place of its highest 1 */

/* ---- writing ---- */

struct grown_bytes {
    uint8_t *bytes;
    size_t used, capacity;
};

struct number_writer {
    struct grown_bytes coded, plain; /* the writer's until number_writer_end */
    uint32_t low, high;              /* the range that the next bit parts */
    unsigned free_bits;              /* of the last plain byte */
    bool is_short;                   /* of memory: what was written is not whole */
};
void number_writer_init(struct number_writer *writer);
/* What was written, as long as it is, which the caller frees; NULL when memory ran out. */
uint8_t *number_writer_end(struct number_writer *writer, size_t *bytes);

void put_bit(struct number_writer *writer, struct odds *odds, bool bit);
void put_any(struct number_writer *writer, struct odds_of_any *odds, uint64_t number);
void put_few(struct number_writer *writer, struct odds_of_few *odds, uint64_t number);

/* ---- reading ---- */

struct number_reader {
    const uint8_t *at, *end; /* coded */
    const uint8_t *plain;
    unsigned left_bits; /* of *plain */
    uint32_t low, high, code;
};
/* bytes: as number_writer_end gave them. */
void number_reader_init(struct number_reader *reader, const uint8_t *bytes);

bool take_bit(struct number_reader *reader, struct odds *odds);
uint64_t take_any(struct number_reader *reader, struct odds_of_any *odds);
uint64_t take_few(struct number_reader *reader, struct odds_of_few *odds);
#endif
