/* How many files the process may have open: its connections, and what the server needs beside
 * them. */
#ifndef SLATE_SERVE_DESCRIPTORS_H
#define SLATE_SERVE_DESCRIPTORS_H
#include <stdbool.h>

#include "serve/config/settings.h"

/* For itself: the listeners', the workers' and the log's. */
static inline unsigned descriptors_reserved(unsigned threads) { return 5 * threads; }

/* Raises the process's limit where it is too low for these settings; it is never lowered. False:
 * the system does not allow it, and `why` (SETTING_WHY_BYTES) holds a sentence. */
bool descriptors_allow(const struct settings *, char *why);
/* The same, for a start. Where the system allows a file for each connection, which is all that
 * memcached asks for, but not the server's own files, maxconns becomes smaller, after a log
 * line. */
bool descriptors_fit(struct settings *, char *why);
#endif
