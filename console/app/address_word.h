/* An address as people write it: "host", "host:port", "[v6]:port", "/path/of/a/socket" or
 * "unix:/path"; or where many servers are told: "dns:name:port" or "file:path".
 * "tls://" stands before those that speak TLS. lua/slate/wire/lists.lua reads it for slatectl, too.
 * One thread. */
#ifndef CONSOLE_APP_ADDRESS_WORD_H
#define CONSOLE_APP_ADDRESS_WORD_H
#include "link/address.h"

/* False with a sentence in why when the text is no address. */
bool address_parse(const char *text, struct address *address, char *why, size_t why_bytes);

enum { SERVER_NAMES_MOST_BYTES = 4096 };

/* What a word stands for: the addresses of that name, or the word itself when there is none. Names
 * are the operator's own: lines "NAME = ADDRESS", with commas between several, in a file that
 * slatectl reads, too (lua/slate/wire/names.lua): $SLATE_SERVERS, else slate/servers in
 * $XDG_CONFIG_HOME or ~/.config. False with a sentence in why when the file is wrong. */
bool server_names_resolve(const char *word, char out[SERVER_NAMES_MOST_BYTES], char *why,
                          size_t why_bytes);
#endif
