/* ms: what to store, and the reply once it was tried. */
#include "base/clock.h"
#include "serve/verbs/meta_reply.h"
#include "serve/verbs/observe.h"

void meta_drop(struct serving *sv, const struct key *key) {
    static const struct cache_delete plainly;
    cache_delete(sv->ct, key, &plainly);
}

const char *meta_store_of(const struct serving *sv, const struct request *r, struct meta_flags *m,
                          struct cache_store *store) {
    const char *error = meta_flags_parse(r, m);
    if (error) {
        return error;
    }
    error = m->opaque_too_long ? reply_opaque_too_long : NULL;
    uint32_t now_s = cache_now_s(sv->ct);
    *store = (struct cache_store){
        .value = r->value,
        .value_bytes = r->value_bytes,
        .client_flags = m->client_flags,
        .exptime_s = clock_expiry_s(m->touch_exptime, now_s),
        .compare = meta_has(m, 'C'),
        .compare_cas = m->compare_cas,
        .compare_low = meta_has(m, 'I'),
        .cas = m->cas,
        .binary_key = (r->flags & REQUEST_BINARY_KEY) != 0,
    };
    switch (m->mode) {
    case 0:
    case 'S':
        store->mode = CACHE_SET;
        store->counts_cas = store->compare;
        return error;
    case 'E':
        store->mode = CACHE_ADD;
        store->compare = false;
        return error;
    case 'R':
        store->mode = CACHE_REPLACE;
        store->counts_cas = store->compare;
        return error;
    case 'A':
    case 'P':
        store->mode = m->mode == 'A' ? CACHE_APPEND : CACHE_PREPEND;
        /* unlike above, 0 is no comparison; and without CAS values there is nothing to compare */
        store->compare = m->compare_cas != 0 && cache_has_cas(sv->cache);
        store->compare_low = false;
        store->vivify = meta_has(m, 'N');
        if (store->vivify) {
            store->exptime_s = clock_expiry_s(m->vivify_exptime, now_s);
        }
        return error;
    default:
        return "CLIENT_ERROR invalid mode for ms M token\r\n";
    }
}

char *meta_stored(struct serving *sv, const struct request *r, const struct meta_flags *m,
                  enum cache_status status, const struct cache_view *view, char *p) {
    char *start = p;
    bool stored = status == CACHE_OK;
    if (observed(sv, EVENT_MUTATIONS)) {
        observe_store(sv, r, m, status, view);
    }
    bool joined = m->mode == 'A' || m->mode == 'P';
    if (status == CACHE_TOO_LARGE && joined &&
        cache_value_fits(sv->cache, &r->key, r->value_bytes)) {
        status = CACHE_NOT_STORED;
    }
    switch (status) {
    case CACHE_OK:
        p = PUT(p, "HD");
        break;
    case CACHE_EXISTS:
        p = PUT(p, "EX");
        break;
    case CACHE_MISS:
        p = joined ? PUT(p, "NS") : PUT(p, "NF");
        break;
    case CACHE_NOT_STORED:
    case CACHE_NOT_A_NUMBER:
        p = PUT(p, "NS");
        break;
    case CACHE_TOO_LARGE:
    case CACHE_NO_MEMORY:
        if (m->mode != 0 && m->mode != 'S') {
            meta_drop(sv, &r->key);
        }
        return status == CACHE_TOO_LARGE ? PUT(p, reply_too_large) : PUT(p, reply_no_memory);
    }
    for (unsigned i = 0; i < m->token_count; i++) {
        switch (m->tokens[i].ptr[0]) {
        case 'O':
            p = put_opaque(p, &m->tokens[i]);
            break;
        case 'k':
            p = put_flag_key(p, &r->key, (r->flags & REQUEST_BINARY_KEY) != 0);
            break;
        case 'c':
            p = put_flag_number(p, 'c', stored ? view->cas : 0);
            break;
        case 's':
            p = put_flag_number(p, 's', stored && joined ? view->value_bytes : r->value_bytes);
            break;
        default:
            break;
        }
    }
    return stored && meta_has(m, 'q') ? start : PUT(p, "\r\n");
}

char *meta_set(struct serving *sv, const struct request *r, char *p) {
    struct meta_flags m;
    struct cache_store store;
    const char *error = meta_store_of(sv, r, &m, &store);
    if (error) {
        return put_text(p, error);
    }
    if (r->flags & REQUEST_BAD_DATA) {
        cache_store_spoilt(sv->ct, &r->key, &store);
        return put_text(p, reply_bad_data);
    }
    struct cache_view view = {0};
    store.spot = *sv->spot;
    enum cache_status status = cache_store(sv->ct, &r->key, &store, &view);
    return meta_stored(sv, r, &m, status, &view, p);
}
