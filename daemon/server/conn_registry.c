#include "server/conn_registry.h"

#include <stddef.h>

void conn_registry_init(struct conn_registry *registry) {
    *registry = (struct conn_registry){.last = &registry->first};
    lock_init(&registry->lock);
}

void conn_registry_fini(struct conn_registry *registry) { lock_fini(&registry->lock); }

void conn_registry_add(struct conn_registry *registry, struct conn_record *record) {
    lock_take(&registry->lock);
    record->next = NULL;
    record->number = registry->number++;
    record->link = registry->last; /* in the order of their coming, listeners first */
    *registry->last = record;
    registry->last = &record->next;
    lock_release(&registry->lock);
}

void conn_registry_remove(struct conn_registry *registry, struct conn_record *record) {
    lock_take(&registry->lock);
    for (struct conn_cursor *c = registry->cursors; c; c = c->next) {
        c->at = c->at == record ? record->next : c->at;
    }
    *record->link = record->next;
    if (record->next) {
        record->next->link = record->link;
    } else {
        registry->last = record->link;
    }
    lock_release(&registry->lock);
}

void conn_cursor_begin(struct conn_registry *registry, struct conn_cursor *cursor) {
    lock_take(&registry->lock);
    *cursor = (struct conn_cursor){.at = registry->first,
                                   .end = registry->number,
                                   .next = registry->cursors,
                                   .link = &registry->cursors};
    if (cursor->next) {
        cursor->next->link = &cursor->next;
    }
    registry->cursors = cursor;
    lock_release(&registry->lock);
}

void conn_cursor_end(struct conn_registry *registry, struct conn_cursor *cursor) {
    lock_take(&registry->lock);
    *cursor->link = cursor->next;
    if (cursor->next) {
        cursor->next->link = cursor->link;
    }
    lock_release(&registry->lock);
}

const struct conn_record *conn_cursor_next_locked(struct conn_cursor *cursor) {
    const struct conn_record *record = cursor->at;
    if (!record || record->number >= cursor->end) {
        return NULL;
    }
    cursor->at = record->next;
    return record;
}
