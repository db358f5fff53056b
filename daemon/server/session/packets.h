/* A command's text as packets of the binary protocol, which has the same commands. */
#ifndef SLATE_SERVER_SESSION_PACKETS_H
#define SLATE_SERVER_SESSION_PACKETS_H
#include <stdint.h>

#include "server/text_out.h"

/* Appends packets that say what whole lines of an answer say, to a request with that opcode and
 * opaque. `STAT name value` becomes a packet with that key and value; any other line one with its
 * first word as the key; lines of prefixes one packet, as memcached has it; the last line a packet
 * without either; an error one with its status. Without memory `failed` is set. */
void packets_of_text(struct text_out *packets, const struct text_out *text, uint8_t opcode,
                     uint32_t opaque);
#endif
