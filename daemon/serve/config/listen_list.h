/* The list of -l as memcached writes it: each address may have words before it that say what it is
 * for.
 *
 *     tag[NAME]:  or tag_NAME_:   a name of 1 to 8 characters; taken and not used
 *     proto[ascii]:  or proto[negotiating]:   what every listener speaks anyway; others are refused
 *     notls:   likewise; btls: and mtls: are refused */
#ifndef SLATE_SERVE_CONFIG_LISTEN_LIST_H
#define SLATE_SERVE_CONFIG_LISTEN_LIST_H
#include <stdbool.h>

#include "serve/config/settings.h"

/* Copies the list, which is shorter than SETTING_LIST_BYTES, without those words. False: one of
 * them is refused, and `why` (SETTING_WHY_BYTES) holds a sentence. */
bool listen_list_plain(const char *list, char plain[SETTING_LIST_BYTES], char *why);
#endif
