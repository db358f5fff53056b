/* Numbers, sizes and ages as short text, at most six characters, never truncated and never a false
 * zero.
 *
 * Every function writes into the caller's buffer of FORMAT_BYTES and returns it. An absent value
 * (NAN, STAT_ABSENT) prints as "-"; a value that went backwards (FORMAT_RESET) prints as "reset".
 * Pure functions, safe from any thread. */
#ifndef CONSOLE_FACTS_FORMAT_H
#define CONSOLE_FACTS_FORMAT_H
#include <stdint.h>

enum { FORMAT_BYTES = 16 };
#define FORMAT_RESET                                                                               \
    (-1.0) /* a rate is never negative: this one says "the counter went backwards" */

const char *format_count(char out[FORMAT_BYTES], double value); /* 7, 0.4, 9120, 44.2k, 1.63M */
const char *format_bytes(char out[FORMAT_BYTES],
                         double bytes); /* 96, 1184, 97.2K, 803M, 1.0G: powers of 1024 */
const char *format_percent(char out[FORMAT_BYTES], double ratio); /* 0..1 as 91.8 or 100 */
const char *format_age(char out[FORMAT_BYTES], double age_s);     /* 612s, 2h00m, 24h30m, 41d02h */
const char *format_delta(char out[FORMAT_BYTES],
                         double change); /* +2, -3, "·" when nothing changed */
const char *format_exact(char out[FORMAT_BYTES],
                         uint64_t value); /* 524288: all digits, "-" when absent */

/* Of a text that a file or a server brought: what a terminal would obey becomes '?', in place. */
void format_plain(char *text);
#endif
