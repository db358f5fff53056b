/* What was changed while the server ran: what, from which value to which, by whom and when. The
 * last changes are kept for `stats audit`. Each one is a line of the log (base/log.h) from
 * verbosity 1 on; one with an old value is also sent to clients that watch sysevents. Page moves
 * have a record of their own (control/pages/moves.h), which `stats audit` shows between the
 * changes.
 *
 * Threading: the control thread's. */
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

/* Adds an entry. Longer texts are cut. */
void audit_add(struct audit *, const char *who, const char *what, const char *was, const char *is);
/* Copies the entries that are kept, the oldest first; returns how many. */
unsigned audit_copy(const struct audit *, struct audit_entry to[AUDIT_ENTRIES_MAX]);
#endif
