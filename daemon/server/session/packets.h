/* Converts a command's text to packets of the binary protocol, which has the same commands. */
#ifndef SLATE_SERVER_SESSION_PACKETS_H
#define SLATE_SERVER_SESSION_PACKETS_H
#include <stdint.h>

#include "server/text_out.h"

/* Appends packets for the complete lines of an answer, as replies to a request with that opcode and
 * opaque. `STAT name value` becomes a packet with that key and value; any other line a packet with
 * its first word as the key; all lines of prefixes one packet, as in memcached; the last line a
 * packet without key and value; an error a packet with its status. Without memory `failed` is
 * set. */
void packets_of_text(struct text_out *packets, const struct text_out *text, uint8_t opcode,
                     uint32_t opaque);
#endif
