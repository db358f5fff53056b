/* Formats an event as memcached's line. */
#ifndef SLATE_WATCH_EVENT_LINE_H
#define SLATE_WATCH_EVENT_LINE_H
#include <stddef.h>

#include "watch/event.h"

enum { LINE_BYTES_MAX = 3 * EVENT_TEXT_MAX + 320 };

/* Writes `ts=… gid=… type=…` and a line feed to `to` (LINE_BYTES_MAX), unterminated. Returns the
 * length. */
size_t line_write(const struct event_record *, char *to);

/* Escapes bytes as in a URI: letters, digits and - . _ ~ stay, others become %XX. `to` has room for
 * 3 n bytes. Returns the length. */
size_t line_escape(char *to, const char *bytes, size_t n);
#endif
