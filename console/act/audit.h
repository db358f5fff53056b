/* The file of the record of changes that slatectl and slatetop share: lines of JSON (slate/audit/1
 * of slate-json(7)), only ever appended to, each in one write. What stands in a line is known to
 * lua/slate/facts/audit.lua. It does I/O; only acting calls it. One thread. */
#ifndef CONSOLE_ACT_AUDIT_H
#define CONSOLE_ACT_AUDIT_H
#include <stddef.h>

enum { AUDIT_PATH_BYTES = 512, AUDIT_TAIL_BYTES = 1 << 18 };

/* Who is on record for what is changed from here. */
const char *audit_who(void);

/* The file, to be read: -1 when there is none. */
int audit_open(const char *path);

/* Makes the folders above a path, where they are missing. */
void audit_make_folders(const char *path);

/* The file, to be appended to and locked against others who append; makes it (mode 600) and its
 * folders when they are missing. -1 with errno when it cannot be. */
int audit_open_locked(const char *path);

/* The lines of its last AUDIT_TAIL_BYTES, whole ones; NULL when there are none. The caller frees
 * it. */
char *audit_tail(int fd, size_t *bytes);
#endif
