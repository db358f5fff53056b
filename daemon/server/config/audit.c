#include "server/config/audit.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "watch/event.h"

void audit_add(struct audit *a, const char *who, const char *what, const char *was,
               const char *is) {
    struct audit_entry e = {.unix_ms = clock_unix_ms()};
    snprintf(e.who, sizeof e.who, "%s", who);
    snprintf(e.what, sizeof e.what, "%s", what);
    snprintf(e.was, sizeof e.was, "%s", was);
    snprintf(e.is, sizeof e.is, "%s", is);
    e.number = ++a->count;
    a->ring[(e.number - 1) % AUDIT_ENTRIES_MAX] = e;
    if (e.was[0] != '\0' && event_watched(EVENT_SYSEVENTS)) {
        event_change(e.what, e.was, e.is, e.who);
    }
    log_info("audit: %s: %s %s%s%s", e.who, e.what, e.is, e.was[0] ? ", was " : "", e.was);
}

unsigned audit_copy(const struct audit *a, struct audit_entry to[AUDIT_ENTRIES_MAX]) {
    unsigned n = 0;
    for (uint64_t i = a->count > AUDIT_ENTRIES_MAX ? a->count - AUDIT_ENTRIES_MAX : 0; i < a->count;
         i++) {
        to[n++] = a->ring[i % AUDIT_ENTRIES_MAX];
    }
    return n;
}
