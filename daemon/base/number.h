/* Decimal numbers, in and out. All but number_decimal and number_real do without locale, errno and
 * allocation. */
#ifndef SLATE_BASE_NUMBER_H
#define SLATE_BASE_NUMBER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Strict: digits only (number_i32: with at most one minus in front), in range. Leading zeros count
 * towards the length, which is at most 22 (11) characters. False: `out` is unchanged. */
bool number_u64(const char *s, size_t n, uint64_t *out);
bool number_u32(const char *s, size_t n, uint32_t *out);
bool number_i32(const char *s, size_t n, int32_t *out);

/* Lenient, for the flags and exptime of storage commands: a sign is allowed; white space or a zero
 * byte, and all bytes behind it in the token, are ignored; a number of more than 32 bits is cut.
 * False: no number, more than 64 bits, or negative client flags. */
bool number_client_flags(const char *s, size_t n, uint32_t *out);
bool number_exptime(const char *s, size_t n, int32_t *out);
/* Lenient, for stored values of incr and decr: as above, with 64 bits and without a minus. */
bool number_stored(const char *s, size_t n, uint64_t *out);
/* Reads the digits at the start of a text; base 8 or 10. Returns how many there are. *out: their
 * number, UINT64_MAX if 64 bits are too few, 0 if there are no digits. */
size_t number_digits(const char *text, unsigned base, uint64_t *out);
/* Reads an integer in base 8 or 10. White space and a sign may precede the digits; no byte may
 * follow them. False: the text is no integer, or 64 bits are too few; `out` is unchanged. */
bool number_integer(const char *text, unsigned base, int64_t *out);
/* Reads the real number at the start of a text: white space, a sign, a fraction and a power of ten
 * are allowed. Returns the number's length. 0: there is no number, or a double cannot hold it. Not
 * for the hot path. */
size_t number_decimal(const char *text, double *out);
/* As above, with nothing behind the number. */
bool number_real(const char *text, double *out);

enum { NUMBER_BYTES = 20 }; /* the longest that number_put writes */
extern const char number_pairs[200]; /* "00", "01", … "99" */

/* Writes v at p and returns the end of the text; p needs room for NUMBER_BYTES. */
static inline char *number_put(char *p, uint64_t v) {
    if (v < 10) {
        *p = (char)('0' + v);
        return p + 1;
    }
    if (v < 100) {
        memcpy(p, number_pairs + 2 * v, 2);
        return p + 2;
    }
    unsigned digits = 3;
    for (uint64_t limit = 1000; v >= limit && digits < NUMBER_BYTES; limit *= 10) {
        digits++;
    }
    char *end = p + digits;
    char *at = end;
    for (; v >= 100; v /= 100) {
        at -= 2;
        memcpy(at, number_pairs + 2 * (v % 100), 2);
    }
    if (v >= 10) {
        memcpy(p, number_pairs + 2 * v, 2);
    } else {
        *p = (char)('0' + v);
    }
    return end;
}
#endif
