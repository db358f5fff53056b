/* Numbers, sizes and ages as short text, at most six characters, never truncated and never a false
 * zero. slate.base.units makes the texts, so they are as in slatectl and in all sentences. C makes
 * only what tables need as well: a dash, "reset", changes and exact numbers.
 *
 * Every function writes into the caller's buffer of FORMAT_BYTES and returns it. An absent value
 * (NAN, STAT_ABSENT) prints as "-"; a value that went backwards (RATE_RESET) prints as "reset". One
 * thread. Cost: some 0.5 us a call, which calls Lua; a screen of 50 rows has some 700 calls. */
#ifndef CONSOLE_BRAIN_FORMAT_H
#define CONSOLE_BRAIN_FORMAT_H
#include "facts/model.h"

#include <stdint.h>
#include <time.h>

enum { FORMAT_BYTES = 16 };

const char *format_count(char out[FORMAT_BYTES], double value); /* 7, 0.4, 9120, 44213, 1630K */
const char *format_bytes(char out[FORMAT_BYTES],
                         double bytes); /* 96, 1184, 97.2K, 803M, 1G: powers of 1024 */
const char *format_percent(char out[FORMAT_BYTES], double ratio); /* 0..1 as 91.8 or 100 */
const char *format_age(char out[FORMAT_BYTES], double age_s);     /* 59s, 10m12, 2h00, 41d02 */
const char *format_metric(char out[FORMAT_BYTES], enum metric metric, double value);
const char *format_clock(char out[FORMAT_BYTES], time_t wall);    /* 13:58:40, local */
const char *format_delta(char out[FORMAT_BYTES],
                         double change); /* +2, -3, "·" when nothing changed */
const char *format_exact(char out[FORMAT_BYTES],
                         uint64_t value); /* 524288: all digits, "-" when absent */
#endif
