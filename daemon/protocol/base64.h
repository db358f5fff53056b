/* Base64 (RFC 4648, with padding) for the binary keys of meta commands. */
#ifndef SLATE_PROTOCOL_BASE64_H
#define SLATE_PROTOCOL_BASE64_H
#include <stddef.h>

#include "base/key.h"

/* Decodes n characters. `to` needs room for n / 4 * 3 bytes, and may equal `from`. Characters
 * outside the alphabet are skipped, as memcached does. Returns the number of bytes. 0: there are no
 * bytes, or a group of four is incomplete. */
size_t base64_decode(char *to, const char *from, size_t n);

#define BASE64_BYTES(n) (((n) + 2) / 3 * 4) /* characters that n bytes are encoded to */
enum { BASE64_KEY_BYTES = BASE64_BYTES(KEY_BYTES_MAX) };
char *base64_encode(char *to, const char *from, size_t n); /* returns the end of what was written */
#endif
