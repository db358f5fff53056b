/* The user and the password in a file of users; memcached and slated read the same file. */
#ifndef CONSOLE_APP_OPTIONS_PASSWORD_FILE_H
#define CONSOLE_APP_OPTIONS_PASSWORD_FILE_H
#include <stdbool.h>
#include <stddef.h>

enum { CREDENTIALS_MOST = 250 }; /* "user password" */

/* Reads "user:password" in the first line, with or without one of slated's roles after it. `out`:
 * "user password". False: `why` has the reason. */
bool password_file_read(const char *path, char out[CREDENTIALS_MOST + 1], char *why,
                        size_t why_bytes);
#endif
