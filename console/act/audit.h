/* The file of the record of changes that slatectl and slatetop share: lines of JSON (slate/audit/1
 * of slate-json(7)), only ever appended to, each in one write. lua/slate/facts/audit.lua makes and
 * reads the lines. These functions do I/O; only acting calls them. One thread. */
#ifndef CONSOLE_ACT_AUDIT_H
#define CONSOLE_ACT_AUDIT_H
#include <stddef.h>

enum { AUDIT_PATH_BYTES = 512, AUDIT_TAIL_BYTES = 1 << 18, AUDIT_WHO_BYTES = 128 };

/* user@host, the author that the record has for changes by slatetop. Valid until the next call. */
const char *audit_who(void);

/* Opens the file for reading; -1 when there is none. */
int audit_open(const char *path);

/* Makes the missing folders above a path. */
void audit_make_folders(const char *path);

/* Opens the file for appending and locks it against other writers; makes it (mode 600) and its
 * folders when they are missing. -1 with errno on failure. */
int audit_open_locked(const char *path);

/* The complete lines in the last AUDIT_TAIL_BYTES of the file; NULL when there are none. The caller
 * frees the text. */
char *audit_tail(int fd, size_t *bytes);
#endif
