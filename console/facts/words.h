/* Sentences in buffers. A sentence that is too long for its buffer ends in "…" behind its last
 * whole word, or behind the last whole number of a list, so that nobody reads half a number. Pure,
 * safe from any thread. */
#ifndef CONSOLE_FACTS_WORDS_H
#define CONSOLE_FACTS_WORDS_H
#include <stdarg.h>
#include <stddef.h>

/* As snprintf; out is none of the arguments. */
__attribute__((format(printf, 3, 4))) void words_printf(char *out, size_t out_bytes,
                                                        const char *format, ...);
__attribute__((format(printf, 3, 0))) void words_vprintf(char *out, size_t out_bytes,
                                                         const char *format, va_list ap);

/* Of a text that a file or a server brought: what a terminal would obey becomes '?', in place. */
void plain_make(char *text);
#endif
