/* memcached's own database of users for SASL, the file that MEMCACHED_SASL_PWDB names. It has a
 * line user:password for each user. Of a password with a colon the part before the colon is enough,
 * as in memcached. The file is read at every login, so that a change counts at once.
 *
 * Threading: any. Cost: reads the file; never called on a worker. */
#ifndef SLATE_SERVE_ACCESS_PWDB_H
#define SLATE_SERVE_ACCESS_PWDB_H
#include <stdbool.h>
#include <stddef.h>

enum { PWDB_LINE_BYTES = 256 }; /* longest line, as in memcached; a longer one lets nobody in */

/* False also where the file cannot be read, which is logged. */
bool pwdb_check(const char *path, const char *user, const char *password, size_t password_bytes);
#endif
