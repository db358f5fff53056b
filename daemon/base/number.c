#include "base/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

const char number_pairs[200] = "00010203040506070809"
                               "10111213141516171819"
                               "20212223242526272829"
                               "30313233343536373839"
                               "40414243444546474849"
                               "50515253545556575859"
                               "60616263646566676869"
                               "70717273747576777879"
                               "80818283848586878889"
                               "90919293949596979899";

enum { U64_TEXT_MAX = 22, I32_TEXT_MAX = 11 };

static bool number_is_digit(char c) { return c >= '0' && c <= '9'; }
static bool number_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Reads digits from s up to another character. Returns their number, or -1 if 64 bits are too
 * few. */
static int number_take_digits(const char *s, size_t n, uint64_t *out) {
    uint64_t v = 0;
    size_t i = 0;
    for (; i < n && number_is_digit(s[i]); i++) {
        unsigned digit = (unsigned)(s[i] - '0');
        if (v > (UINT64_MAX - digit) / 10) {
            return -1;
        }
        v = v * 10 + digit;
    }
    *out = v;
    return (int)i;
}

bool number_u64(const char *s, size_t n, uint64_t *out) {
    uint64_t v;
    if (n > U64_TEXT_MAX || number_take_digits(s, n, &v) != (int)n) {
        return false;
    }
    *out = v;
    return true;
}

bool number_u32(const char *s, size_t n, uint32_t *out) {
    uint64_t v;
    if (n > I32_TEXT_MAX || !number_u64(s, n, &v) || v > UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)v;
    return true;
}

bool number_i32(const char *s, size_t n, int32_t *out) {
    bool negative = n > 0 && s[0] == '-';
    uint64_t v;
    if (n > I32_TEXT_MAX || !number_u64(s + negative, n - negative, &v) ||
        v > (uint64_t)INT32_MAX + negative) {
        return false;
    }
    *out = (int32_t)(negative ? -(int64_t)v : (int64_t)v);
    return true;
}

/* A sign, digits, then the end, white space or a zero byte, which C clients store behind a
 * number. */
static bool number_take_lenient(const char *s, size_t n, bool *negative, uint64_t *magnitude) {
    size_t i = 0;
    while (i < n && number_is_space(s[i])) {
        i++;
    }
    *negative = i < n && s[i] == '-';
    if (i < n && (s[i] == '-' || s[i] == '+')) {
        i++;
    }
    int digits = number_take_digits(s + i, n - i, magnitude);
    if (digits <= 0) {
        return false;
    }
    i += (size_t)digits;
    return i == n || number_is_space(s[i]) || s[i] == '\0';
}

bool number_client_flags(const char *s, size_t n, uint32_t *out) {
    bool negative;
    uint64_t v;
    if (!number_take_lenient(s, n, &negative, &v) || (negative && v != 0)) {
        return false;
    }
    *out = (uint32_t)v;
    return true;
}

bool number_exptime(const char *s, size_t n, int32_t *out) {
    bool negative;
    uint64_t v;
    if (!number_take_lenient(s, n, &negative, &v) || v > (uint64_t)INT64_MAX + negative) {
        return false;
    }
    *out = (int32_t)(uint32_t)(negative ? 0 - v : v);
    return true;
}

bool number_stored(const char *s, size_t n, uint64_t *out) {
    bool negative;
    uint64_t v;
    if (!number_take_lenient(s, n, &negative, &v) || negative) {
        return false;
    }
    *out = v;
    return true;
}

size_t number_digits(const char *text, unsigned base, uint64_t *out) {
    uint64_t v = 0;
    size_t i = 0;
    for (; text[i] >= '0' && (unsigned)(text[i] - '0') < base; i++) {
        unsigned digit = (unsigned)(text[i] - '0');
        v = v <= (UINT64_MAX - digit) / base ? v * base + digit : UINT64_MAX;
    }
    *out = v;
    return i;
}

bool number_integer(const char *text, unsigned base, int64_t *out) {
    uint64_t v;
    while (number_is_space(*text)) {
        text++;
    }
    bool negative = *text == '-';
    text += negative || *text == '+';
    size_t digits = number_digits(text, base, &v);
    if (digits == 0 || text[digits] != '\0' || v > INT64_MAX) {
        return false;
    }
    *out = negative ? -(int64_t)v : (int64_t)v;
    return true;
}

size_t number_decimal(const char *text, double *out) {
    char *end;
    errno = 0;
    double n = strtod(text, &end);
    size_t length = (size_t)(end - text);
    /* strtod also reads infinity, nan and hexadecimal, and reads 1e-999 as 0 */
    if (!isfinite(n) || errno == ERANGE || strcspn(text, "xX") < length) {
        return 0;
    }
    *out = n;
    return length;
}

bool number_real(const char *text, double *out) {
    double n;
    size_t length = number_decimal(text, &n);
    if (length == 0 || text[length] != '\0') {
        return false;
    }
    *out = n;
    return true;
}
