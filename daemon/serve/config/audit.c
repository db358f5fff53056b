#include "serve/config/audit.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "watch/event.h"

void audit_init(struct audit *a) {
    memset(a, 0, sizeof *a);
    lock_init(&a->lock);
}

void audit_fini(struct audit *a) { lock_fini(&a->lock); }

void audit_add(struct audit *a, const char *who, const char *what, const char *was,
               const char *is) {
    struct audit_entry e = {.unix_ms = clock_unix_ms()};
    snprintf(e.who, sizeof e.who, "%s", who);
    snprintf(e.what, sizeof e.what, "%s", what);
    snprintf(e.was, sizeof e.was, "%s", was);
    snprintf(e.is, sizeof e.is, "%s", is);
    lock_take(&a->lock);
    e.number = ++a->count;
    a->ring[(e.number - 1) % AUDIT_KEPT] = e;
    lock_release(&a->lock);
    if (e.was[0] != '\0' && event_watched(EVENT_SYSEVENTS)) {
        event_change(e.what, e.was, e.is, e.who);
    }
    log_info("audit: %s: %s %s%s%s", e.who, e.what, e.is, e.was[0] ? ", was " : "", e.was);
}

unsigned audit_copy(struct audit *a, struct audit_entry to[AUDIT_KEPT]) {
    unsigned n = 0;
    lock_take(&a->lock);
    for (uint64_t i = a->count > AUDIT_KEPT ? a->count - AUDIT_KEPT : 0; i < a->count; i++) {
        to[n++] = a->ring[i % AUDIT_KEPT];
    }
    lock_release(&a->lock);
    return n;
}
