#include "server/verbs/observe.h"

#include "base/clock.h"
#include "cache/admin/cache_events.h"
#include "protocol/binary.h"

/* True: the request will be refused before its key is looked up. */
static bool observe_is_refused(const struct request *r) {
    struct meta_flags m;
    if (r->flags & (REQUEST_BAD_DATA | REQUEST_BAD_KEY)) {
        return true;
    }
    bool has_flags = verb_is_meta(r->verb) && r->verb != VERB_META_DEBUG;
    return has_flags && (meta_flags_parse(r, &m) != NULL || m.opaque_too_long);
}

void observe_lookup(struct serving *sv, const struct request *r) {
    if (!verb_has_key(r->verb) || !observed(sv, EVENT_FETCHERS | EVENT_DELETIONS) ||
        observe_is_refused(r)) {
        return;
    }
    enum event_found found = cache_event_lookup(sv->ct, &r->key, &sv->found);
    if (observed(sv, EVENT_FETCHERS)) {
        event_item_get(r->key.ptr, r->key.len, found, sv->found.class_id, sv->fd,
                       sv->found.value_bytes);
    }
}

static enum event_stored observe_outcome(enum cache_status status) {
    switch (status) {
    case CACHE_OK: return EVENT_STORED;
    case CACHE_MISS: return EVENT_NO_ITEM;
    case CACHE_EXISTS: return EVENT_EXISTS;
    case CACHE_TOO_LARGE: return EVENT_TOO_LARGE;
    case CACHE_NO_MEMORY: return EVENT_NO_MEMORY;
    case CACHE_NOT_STORED:
    case CACHE_NOT_A_NUMBER: break;
    }
    return EVENT_NOT_STORED;
}

static enum event_command observe_binary_command(const struct request *r) {
    uint8_t opcode = binary_plain_opcode(r->text);
    if (opcode == BINARY_APPEND || opcode == BINARY_PREPEND) {
        return opcode == BINARY_APPEND ? EVENT_BY_APPEND : EVENT_BY_PREPEND;
    }
    if (r->number != 0) {
        return EVENT_BY_CAS;
    }
    return opcode == BINARY_ADD       ? EVENT_BY_ADD
           : opcode == BINARY_REPLACE ? EVENT_BY_REPLACE
                                      : EVENT_BY_SET;
}

static enum event_command observe_command(const struct request *r, const struct meta_flags *m) {
    if (m != NULL) {
        switch (m->mode) {
        case 'E': return EVENT_BY_ADD;
        case 'R': return EVENT_BY_REPLACE;
        case 'A': return EVENT_BY_APPEND;
        case 'P': return EVENT_BY_PREPEND;
        default: return meta_has(m, 'C') ? EVENT_BY_CAS : EVENT_BY_SET;
        }
    }
    switch (r->verb) {
    case VERB_ADD: return EVENT_BY_ADD;
    case VERB_REPLACE: return EVENT_BY_REPLACE;
    case VERB_APPEND: return EVENT_BY_APPEND;
    case VERB_PREPEND: return EVENT_BY_PREPEND;
    case VERB_CAS: return EVENT_BY_CAS;
    case VERB_BINARY_STORE: return observe_binary_command(r);
    default: return EVENT_BY_SET;
    }
}

/* Returns the seconds to live as memcached reports them: 0 for ever, a wrapped number when
 * expired. */
static uint32_t observe_ttl_s(const struct serving *sv, uint32_t exptime_s) {
    return exptime_s == 0 ? 0 : exptime_s - cache_now_s(sv->ct);
}

/* Returns the class in which a refused value would have been stored. */
static unsigned observe_class(const struct serving *sv, const struct request *r,
                              uint32_t client_flags) {
    uint8_t flags = (uint8_t)((cache_has_cas(sv->cache) ? ITEM_CAS : 0) |
                              (client_flags != 0 ? ITEM_CFLAGS : 0));
    return slab_class_of(cache_slab(sv->cache),
                         item_total_bytes(flags, r->key.len, r->value_bytes));
}

void observe_store(struct serving *sv, const struct request *r, const struct meta_flags *m,
                   enum cache_status status, const struct cache_view *view) {
    enum event_command command = observe_command(r, m);
    if (status == CACHE_OK) {
        event_item_store(r->key.ptr, r->key.len, EVENT_STORED, command,
                         observe_ttl_s(sv, view->exptime_s), view->class_id, sv->fd,
                         view->value_bytes);
        return;
    }
    bool    unsigned_time = (r->flags & REQUEST_BINARY) != 0;
    int64_t exptime = m != NULL       ? m->touch_exptime
                      : unsigned_time ? (int64_t)(uint32_t)r->exptime
                                      : r->exptime;
    uint32_t client_flags = m != NULL ? m->client_flags : r->client_flags;
    event_item_store(r->key.ptr, r->key.len, observe_outcome(status), command,
                     observe_ttl_s(sv, clock_expiry_s(exptime, cache_now_s(sv->ct))),
                     observe_class(sv, r, client_flags), sv->fd, r->value_bytes);
}

void observe_made(struct serving *sv, const struct request *r, const struct cache_view *view) {
    event_item_store(r->key.ptr, r->key.len, EVENT_STORED, EVENT_BY_ADD,
                     observe_ttl_s(sv, view->exptime_s), view->class_id, sv->fd, view->value_bytes);
}

void observe_delete(struct serving *sv, const struct request *r, const struct meta_flags *m) {
    bool emptied = m != NULL && meta_has(m, 'x');
    if (m != NULL && meta_has(m, 'I') && !emptied) {
        return; /* the item is still there, only stale */
    }
    if (emptied && observed(sv, EVENT_MUTATIONS)) {
        uint32_t exptime_s = clock_expiry_s(m->touch_exptime, cache_now_s(sv->ct));
        event_item_store(r->key.ptr, r->key.len, EVENT_STORED, EVENT_BY_SET,
                         observe_ttl_s(sv, exptime_s), sv->found.class_id, sv->fd, 0);
    }
    if (observed(sv, EVENT_DELETIONS)) {
        event_deleted(r->key.ptr, r->key.len, m != NULL ? EVENT_BY_META_DELETE : EVENT_BY_DELETE,
                      sv->found.class_id, emptied ? 0 : sv->found.value_bytes);
    }
}
