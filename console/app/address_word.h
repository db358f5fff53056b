/* An address as people write it: "host", "host:port", "[v6]:port", "/path/of/a/socket" or
 * "unix:/path"; or where many servers are told: "dns:name:port" or "file:path".
 * "tls://" stands before those that speak TLS. lua/slate/wire/lists.lua reads it for slatectl, too.
 * One thread. */
#ifndef CONSOLE_APP_ADDRESS_WORD_H
#define CONSOLE_APP_ADDRESS_WORD_H
#include "link/address.h"

/* False with a sentence in why when the text is no address. */
bool address_parse(const char *text, struct address *address, char *why, size_t why_bytes);
#endif
