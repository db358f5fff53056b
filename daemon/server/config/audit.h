/* The record of changes while the server runs: the setting or command, old and new value, client
 * and time. `stats audit` shows the last changes. From verbosity 1 on each change is a log line
 * (base/log.h); a change with an old value is also an event for clients that watch sysevents.
 * Page moves have their own record (control/pages/move_log.h); `stats audit` merges both by time.
 *
 * Threading: the control thread. */
#ifndef SLATE_SERVER_CONFIG_AUDIT_H
#define SLATE_SERVER_CONFIG_AUDIT_H
#include <stdint.h>

enum {
    AUDIT_ENTRIES_MAX = 128,
    AUDIT_WHO_BYTES = 128,
    AUDIT_WHAT_BYTES = 64,
    AUDIT_VALUE_BYTES = 128
};

struct audit_entry {
    uint64_t number; /* 1 is the first since the start */
    uint64_t unix_ms;
    char     who[AUDIT_WHO_BYTES];   /* a client's address, or "tuner" */
    char     what[AUDIT_WHAT_BYTES]; /* a setting or a command */
    char     was[AUDIT_VALUE_BYTES]; /* empty when there is no old value */
    char     is[AUDIT_VALUE_BYTES];
};

struct audit {
    uint64_t           count; /* entries ever added */
    struct audit_entry ring[AUDIT_ENTRIES_MAX];
};

/* Adds an entry. Texts that are too long are cut. */
void audit_add(struct audit *, const char *who, const char *what, const char *was, const char *is);
/* Copies the stored entries, oldest first. Returns their number. */
unsigned audit_copy(const struct audit *, struct audit_entry to[AUDIT_ENTRIES_MAX]);
#endif
