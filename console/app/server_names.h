/* Servers by names of the operator's own: lines "NAME = ADDRESS", with commas between several, in a
 * file that slatectl reads, too (lua/slate/wire/names.lua). */
#ifndef CONSOLE_APP_SERVER_NAMES_H
#define CONSOLE_APP_SERVER_NAMES_H
#include <stdbool.h>
#include <stddef.h>

enum { SERVER_NAMES_MOST_BYTES = 4096 };

/* What a word stands for: the addresses of that name, or the word itself when there is none. False
 * with a sentence in why when the file is wrong. Reads $SLATE_SERVERS, else slate/servers in
 * $XDG_CONFIG_HOME or ~/.config. */
bool server_names_resolve(const char *word, char out[SERVER_NAMES_MOST_BYTES], char *why,
                          size_t why_bytes);
#endif
