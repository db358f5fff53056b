/* An address as people write it: "host", "host:port", "[v6]:port", "/path/of/a/socket" or
 * "unix:/path"; or a list of servers: "dns:name:port" or "file:path". "tls://" before an address
 * means that the server speaks TLS. slatectl uses lua/slate/wire/lists.lua as its parser, too. One
 * thread. */
#ifndef CONSOLE_APP_SERVERS_ADDRESS_WORD_H
#define CONSOLE_APP_SERVERS_ADDRESS_WORD_H
#include "link/address.h"

/* False with a sentence in why when the text is no address. */
bool address_parse(const char *text, struct address *address, char *why, size_t why_bytes);

enum { SERVER_NAMES_MOST_BYTES = 4096 };

/* Writes the addresses that the operator gave the name `word`, or the word itself when it is no
 * such name. A file has them, in lines "NAME = ADDRESS", with commas between several:
 * $SLATE_SERVERS, else slate/servers in $XDG_CONFIG_HOME or ~/.config. slatectl reads it, too
 * (lua/slate/wire/names.lua). False with a sentence in why when the file is wrong. */
bool address_word_resolve(const char *word, char out[SERVER_NAMES_MOST_BYTES], char *why,
                          size_t why_bytes);
#endif
