/* Sentences in buffers. A sentence that is too long for its buffer ends in "…" after its last
 * complete word, or after the last complete number of a list, so that nobody reads half a number.
 * Pure, safe from any thread. */
#ifndef CONSOLE_LINK_WORDS_H
#define CONSOLE_LINK_WORDS_H
#include <stdarg.h>
#include <stddef.h>

/* As vsnprintf; no argument may point into out. */
__attribute__((format(printf, 3, 0))) void words_vprintf(char *out, size_t out_bytes,
                                                         const char *format, va_list ap);

/* Makes a text of a file or a server safe: control characters become '?', in place. */
void words_make_plain(char *text);
#endif
