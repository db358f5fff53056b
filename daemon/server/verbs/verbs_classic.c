/* Runs classic commands against the cache, and writes their replies. */
#include "base/clock.h"
#include "base/number.h"
#include "server/verbs/observe.h"

/* --- reading --- */

static char *classic_put_head(char *p, const struct request *r, uint32_t client_flags,
                              uint32_t value_bytes, uint64_t cas) {
    p = PUT(p, "VALUE ");
    p = put_key(p, &r->key);
    *p++ = ' ';
    p = number_put(p, client_flags);
    *p++ = ' ';
    p = number_put(p, value_bytes);
    if (r->verb == VERB_GETS || r->verb == VERB_GATS) {
        *p++ = ' ';
        p = number_put(p, cas);
    }
    return PUT(p, "\r\n");
}

static inline char *classic_put_end(char *p, const struct request *r) {
    return r->flags & REQUEST_END ? PUT(p, "END\r\n") : p;
}

/* Reads large values, touches, and does all else that the lock-free read cannot do. */
static char *classic_fetch(struct serving *sv, const struct request *r, char *p) {
    bool touch = r->verb == VERB_GAT || r->verb == VERB_GATS;
    struct cache_fetch want = {.want_value = true, .touch = touch};
    if (touch) {
        want.exptime_s = clock_expiry_s(r->exptime, cache_now_s(sv->ct));
    }
    struct cache_view view = {0};
    enum cache_status status = cache_fetch(sv->ct, &r->key, &want, sv->scratch, &view);
    serving_note(sv, &r->key, status == CACHE_OK ? PREFIX_HIT : PREFIX_GET);
    if (status != CACHE_OK) {
        return classic_put_end(p, r);
    }
    p = classic_put_head(p, r, view.client_flags, view.value_bytes, view.cas);
    p = serving_put_fetched(sv, p, &view);
    return p != NULL ? classic_put_end(PUT(p, "\r\n"), r) : NULL;
}

static char *classic_get(struct serving *sv, const struct request *r, char *p) {
    struct cache_reader reader;
    for (;;) {
        char *end = p;
        enum cache_read how = cache_read_begin(sv->ct, &r->key, *sv->hint, &reader);
        if (how == CACHE_READ_SLOW) {
            return classic_fetch(sv, r, p);
        }
        if (how == CACHE_READ_COPY) {
            end = classic_put_head(p, r, reader.client_flags, reader.value_bytes, reader.cas);
            cache_read_copy(&reader, end);
            end = PUT(end + reader.value_bytes, "\r\n");
        }
        if (cache_read_end(sv->ct, &reader, true)) {
            serving_note(sv, &r->key, how == CACHE_READ_COPY ? PREFIX_HIT : PREFIX_GET);
            return classic_put_end(end, r);
        }
    }
}

/* --- storing --- */

void classic_store_of(const struct serving *sv, const struct request *r,
                      struct cache_store *store) {
    static const enum cache_mode modes[] = {
        [VERB_SET] = CACHE_SET,         [VERB_ADD] = CACHE_ADD,
        [VERB_REPLACE] = CACHE_REPLACE, [VERB_APPEND] = CACHE_APPEND,
        [VERB_PREPEND] = CACHE_PREPEND, [VERB_CAS] = CACHE_REPLACE,
    };
    serving_note(sv, &r->key, PREFIX_SET);
    /* a replace, so that a failure leaves the old item: only a failed set removes the item */
    bool cas = r->verb == VERB_CAS;
    *store = (struct cache_store){
        .mode = modes[r->verb],
        .value = r->value,
        .value_bytes = r->value_bytes,
        .client_flags = r->client_flags,
        .exptime_s = r->exptime == 0 ? 0 : clock_expiry_s(r->exptime, cache_now_s(sv->ct)),
        .compare = cas,
        .compare_cas = r->number,
        .counts_cas = cas,
    };
}

char *classic_stored(struct serving *sv, const struct request *r, enum cache_status status,
                     const struct cache_view *view, char *p) {
    if (observed(sv, EVENT_MUTATIONS)) {
        observe_store(sv, r, NULL, status, view);
    }
    if (r->flags & REQUEST_NOREPLY) {
        return p;
    }
    if (status == CACHE_TOO_LARGE && (r->verb == VERB_APPEND || r->verb == VERB_PREPEND) &&
        cache_value_fits(sv->cache, &r->key, r->value_bytes)) {
        status = CACHE_NOT_STORED; /* too large only together with the item's value */
    }
    switch (status) {
    case CACHE_OK: return PUT(p, "STORED\r\n");
    case CACHE_MISS: return PUT(p, "NOT_FOUND\r\n");
    case CACHE_EXISTS: return PUT(p, "EXISTS\r\n");
    case CACHE_TOO_LARGE: return PUT(p, reply_too_large);
    case CACHE_NO_MEMORY: return PUT(p, reply_no_memory);
    case CACHE_NOT_STORED:
    case CACHE_NOT_A_NUMBER: break;
    }
    return PUT(p, "NOT_STORED\r\n");
}

static char *classic_store(struct serving *sv, const struct request *r, char *p) {
    struct cache_store wanted;
    classic_store_of(sv, r, &wanted);
    if (r->flags & REQUEST_BAD_DATA) {
        cache_store_bad_terminator(sv->ct, &r->key, &wanted);
        return r->flags & REQUEST_NOREPLY ? p : PUT(p, reply_bad_data);
    }
    wanted.hint = *sv->hint;
    struct cache_view view;
    enum cache_status status =
        cache_store(sv->ct, &r->key, &wanted, observed(sv, EVENT_MUTATIONS) ? &view : NULL);
    return classic_stored(sv, r, status, &view, p);
}

/* --- changing --- */

static char *classic_arith(struct serving *sv, const struct request *r, char *p) {
    struct cache_arith wanted = {.decrement = r->verb == VERB_DECR, .delta = r->number};
    uint64_t number = 0;
    struct cache_view view = {0};
    switch (cache_arith(sv->ct, &r->key, &wanted, &number, &view)) {
    case CACHE_OK: return PUT(number_put(p, number), "\r\n");
    case CACHE_NOT_A_NUMBER:
        return PUT(p, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
    case CACHE_TOO_LARGE:
    case CACHE_NO_MEMORY: return PUT(p, "SERVER_ERROR out of memory\r\n");
    case CACHE_MISS:
    case CACHE_EXISTS:
    case CACHE_NOT_STORED: break;
    }
    return PUT(p, "NOT_FOUND\r\n");
}

/* Runs commands with a reply of one line, which noreply suppresses. */
static char *classic_change(struct serving *sv, const struct request *r, char *p) {
    static const struct cache_delete unconditional;
    switch (r->verb) {
    case VERB_DELETE:
        serving_note(sv, &r->key, PREFIX_DELETE);
        if (cache_delete(sv->ct, &r->key, &unconditional) != CACHE_OK) {
            return PUT(p, "NOT_FOUND\r\n");
        }
        if (observed(sv, EVENT_DELETIONS)) {
            observe_delete(sv, r, NULL);
        }
        return PUT(p, "DELETED\r\n");
    case VERB_TOUCH:
        return cache_touch(sv->ct, &r->key, clock_expiry_s(r->exptime, cache_now_s(sv->ct))) ==
                       CACHE_OK
                   ? PUT(p, "TOUCHED\r\n")
                   : PUT(p, "NOT_FOUND\r\n");
    default: return classic_arith(sv, r, p);
    }
}

char *classic_run(struct serving *sv, const struct request *r, char *p) {
    if (r->verb <= VERB_GETS) {
        return classic_get(sv, r, p);
    }
    if (r->verb <= VERB_GATS) {
        return classic_fetch(sv, r, p);
    }
    if (r->verb <= VERB_CAS) {
        return classic_store(sv, r, p);
    }
    char *end = classic_change(sv, r, p);
    return r->flags & REQUEST_NOREPLY ? p : end;
}
