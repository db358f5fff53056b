/* memcached's own database of users for SASL, which MEMCACHED_SASL_PWDB names: a file with a line
 * user:password each; of a password with a colon the part before it will do, as there. It is read
 * at every login, so that a change counts at once.
 *
 * Threading: any. Cost: reads the file; never called on a worker. */
#ifndef SLATE_SERVE_ACCESS_PWDB_H
#define SLATE_SERVE_ACCESS_PWDB_H
#include <stdbool.h>
#include <stddef.h>

enum { PWDB_LINE_BYTES = 256 }; /* of a line, as in memcached; a longer one counts for nobody */

/* False also where the file cannot be read, which is logged. */
bool pwdb_check(const char *path, const char *user, const char *password, size_t password_bytes);
#endif
