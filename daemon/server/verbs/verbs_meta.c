/* Runs meta commands against the cache, and writes their replies. */
#include "base/clock.h"
#include "base/number.h"
#include "protocol/base64.h"
#include "server/verbs/observe.h"

static const char reply_opaque_too_long[] = "CLIENT_ERROR opaque token too long\r\n";

static inline char *meta_put_flag(char *p, char c) {
    *p++ = ' ';
    *p++ = c;
    return p;
}

static inline char *meta_put_flag_number(char *p, char c, uint64_t n) {
    return number_put(meta_put_flag(p, c), n);
}

/* Writes a key as the client wrote it: a binary key in base64, with the flag b. */
static inline char *meta_put_flag_key(char *p, const struct key *key, bool binary) {
    p = meta_put_flag(p, 'k');
    if (!binary) {
        return put_key(p, key);
    }
    return meta_put_flag(base64_encode(p, key->ptr, key->len), 'b');
}

/* Writes the seconds left to live as memcached does: -1 for ever, a wrapped number when expired. */
static inline char *meta_put_ttl(char *p, uint32_t exptime_s, uint32_t now_s) {
    p = meta_put_flag(p, 't');
    return exptime_s == 0 ? PUT(p, "-1") : number_put(p, (uint32_t)(exptime_s - now_s));
}

/* True: no reply to a miss of mg, nor to a success of another command. */
static bool meta_is_quiet(const struct meta_flags *m) { return meta_has(m, 'q'); }

/* The values for the flags of a reply. */
struct meta_shown {
    const struct cache_view *view; /* only for mg */
    uint64_t cas;
    uint32_t value_bytes, exptime_s, now_s;
    bool     binary_key;
};
#define SHOWN_ECHO (META_BIT('O') | META_BIT('k'))
#define SHOWN_SET (SHOWN_ECHO | META_BIT('c') | META_BIT('s'))
#define SHOWN_ARITH (SHOWN_ECHO | META_BIT('c') | META_BIT('t'))
#define SHOWN_GET (SHOWN_SET | META_BIT('t') | META_BIT('f') | META_BIT('l') | META_BIT('h'))

static inline uint32_t meta_unused_s(const struct meta_shown *s) {
    return s->now_s > s->view->last_access_s ? s->now_s - s->view->last_access_s : 0;
}

/* Writes the requested flags that are in `flags`, a constant, in the order of the request. */
__attribute__((always_inline)) static inline char *meta_put_flags(char *p, const struct request *r,
                                                                  const struct meta_flags *m,
                                                                  const uint64_t flags,
                                                                  const struct meta_shown s) {
    for (unsigned i = 0; i < m->token_count; i++) {
        switch (m->tokens[i].ptr[0]) {
        case 'O':
            *p++ = ' ';
            p = put_bytes(p, m->tokens[i].ptr, m->tokens[i].bytes);
            break;
        case 'k': p = meta_put_flag_key(p, &r->key, s.binary_key); break;
        case 'c': p = flags & META_BIT('c') ? meta_put_flag_number(p, 'c', s.cas) : p; break;
        case 's':
            p = flags & META_BIT('s') ? meta_put_flag_number(p, 's', s.value_bytes) : p;
            break;
        case 't': p = flags & META_BIT('t') ? meta_put_ttl(p, s.exptime_s, s.now_s) : p; break;
        case 'f':
            p = flags & META_BIT('f') ? meta_put_flag_number(p, 'f', s.view->client_flags) : p;
            break;
        case 'l':
            p = flags & META_BIT('l') ? meta_put_flag_number(p, 'l', meta_unused_s(&s)) : p;
            break;
        case 'h':
            p = flags & META_BIT('h') ? meta_put_flag_number(p, 'h', s.view->fetched) : p;
            break;
        default: break;
        }
    }
    return p;
}

/* Writes the flags of a reply without an item: the opaque and the key. */
static char *meta_put_echo(char *p, const struct request *r, const struct meta_flags *m) {
    bool binary_key = (r->flags & REQUEST_BINARY_KEY) != 0;
    p = meta_put_flags(p, r, m, SHOWN_ECHO, (struct meta_shown){.binary_key = binary_key});
    return PUT(p, "\r\n");
}

/* True: flag a stands before flag b. The request has both. */
static bool meta_flag_stands_before(const struct meta_flags *m, char a, char b) {
    for (unsigned i = 0; i < m->token_count; i++) {
        char c = m->tokens[i].ptr[0];
        if (c == a || c == b) {
            return c == a;
        }
    }
    return false;
}

/* Flags act in their order, so t shows the expiry time as of its place: before T and N the time
 * before the request, or none for an item that the request has created; behind a T, or behind an N
 * that has created the item, the new time. */
static uint32_t meta_shown_exptime_s(const struct meta_flags *m, bool created, uint32_t before_s,
                                     uint32_t touch_s, uint32_t vivify_s) {
    uint32_t exptime_s = created ? 0 : before_s;
    for (unsigned i = 0; i < m->token_count && m->tokens[i].ptr[0] != 't'; i++) {
        if (m->tokens[i].ptr[0] == 'T') {
            exptime_s = touch_s;
        } else if (m->tokens[i].ptr[0] == 'N' && created) {
            exptime_s = vivify_s;
        }
    }
    return exptime_s;
}

/* Returns the expiry time of an item that N creates: the time of T, if T stands behind N. */
static uint32_t meta_vivify_exptime_s(const struct meta_flags *m, uint32_t touch_s,
                                      uint32_t now_s) {
    bool touched_last =
        meta_has(m, 'T') && meta_has(m, 'N') && meta_flag_stands_before(m, 'N', 'T');
    return touched_last ? touch_s : clock_expiry_s(m->vivify_exptime, now_s);
}

/* --- mg --- */

static char *meta_put_get_flags(char *p, const struct request *r, const struct meta_flags *m,
                                const struct cache_view *v, uint32_t ttl_exptime_s,
                                uint32_t now_s) {
    p = meta_put_flags(p, r, m, SHOWN_GET,
                       (struct meta_shown){.view = v,
                                           .cas = v->cas,
                                           .value_bytes = v->value_bytes,
                                           .exptime_s = ttl_exptime_s,
                                           .now_s = now_s,
                                           .binary_key = v->binary_key});
    if (v->lost) {
        p = meta_put_flag(p, 'Z');
    }
    if (v->stale) {
        p = meta_put_flag(p, 'X');
    }
    if (v->won) {
        p = meta_put_flag(p, 'W');
    }
    return PUT(p, "\r\n");
}

static bool meta_shows_value(const struct meta_flags *m, uint64_t cas) {
    return meta_has(m, 'v') && !(meta_has(m, 'C') && m->compare_cas == cas);
}

static char *meta_put_get_head(char *p, bool value, uint32_t value_bytes) {
    return value ? number_put(PUT(p, "VA "), value_bytes) : PUT(p, "HD");
}

static char *meta_put_get_miss(char *p, const struct request *r, const struct meta_flags *m) {
    return meta_is_quiet(m) ? p : meta_put_echo(PUT(p, "EN"), r, m);
}

/* Runs the command under the partition's lock: for a command with an effect, and for items that are
 * large, stale or being recached. */
static char *meta_get_locked(struct serving *sv, const struct request *r,
                             const struct meta_flags *m, char *p) {
    uint32_t now_s = cache_now_s(sv->ct);
    struct cache_fetch want = {
        .no_bump = meta_has(m, 'u'),
        .touch = meta_has(m, 'T'),
        .vivify = meta_has(m, 'N'),
        .meta = true,
        .never_wins = (r->flags & REQUEST_READS_ONLY) != 0,
        .binary_key = (r->flags & REQUEST_BINARY_KEY) != 0,
        .want_value = meta_has(m, 'v'),
    };
    if (want.touch) {
        want.exptime_s = clock_expiry_s(m->touch_exptime, now_s);
    }
    if (want.vivify) {
        want.vivify_exptime_s = meta_vivify_exptime_s(m, want.exptime_s, now_s);
        want.vivify_cas = m->cas;
    }
    if (m->recache > 0) {
        uint32_t recache_at_s = clock_expiry_s(m->recache, now_s);
        want.recache = recache_at_s > now_s;
        want.recache_s = (int32_t)(recache_at_s - now_s);
        want.touch_first = want.touch && meta_flag_stands_before(m, 'T', 'R');
    }
    struct cache_view view = {0};
    if (cache_fetch(sv->ct, &r->key, &want, sv->scratch, &view) != CACHE_OK) {
        return meta_put_get_miss(p, r, m);
    }
    uint32_t ttl_exptime_s =
        meta_shown_exptime_s(m, view.created, view.exptime_before_s, want.exptime_s,
                             clock_expiry_s(m->vivify_exptime, now_s));
    bool value = meta_shows_value(m, view.cas);
    p = meta_put_get_head(p, value, view.value_bytes);
    p = meta_put_get_flags(p, r, m, &view, ttl_exptime_s, now_s);
    if (!value) {
        if (view.borrowed) {
            cache_return(sv->ct, view.borrowed);
        }
        return p;
    }
    p = serving_put_fetched(sv, p, &view);
    return p != NULL ? PUT(p, "\r\n") : NULL;
}

static char *meta_get(struct serving *sv, const struct request *r, char *p) {
    struct meta_flags m;
    const char *error = meta_flags_parse(r, &m);
    if (error || m.opaque_too_long) {
        return put_text(p, error ? error : reply_opaque_too_long);
    }
    if (m.present & (META_BIT('T') | META_BIT('N') | META_BIT('R'))) {
        return meta_get_locked(sv, r, &m, p);
    }
    uint32_t now_s = cache_now_s(sv->ct);
    struct cache_reader reader;
    char *end;
    do {
        enum cache_read how = cache_read_begin(sv->ct, &r->key, *sv->hint, &reader);
        if (how == CACHE_READ_SLOW || (how == CACHE_READ_COPY && reader.marked)) {
            return meta_get_locked(sv, r, &m, p);
        }
        if (how == CACHE_READ_MISS) {
            end = meta_put_get_miss(p, r, &m);
            continue;
        }
        struct cache_view view;
        cache_read_view(sv->ct, &reader, &view);
        bool value = meta_shows_value(&m, reader.cas);
        end = meta_put_get_head(p, value, reader.value_bytes);
        end = meta_put_get_flags(end, r, &m, &view, view.exptime_s, now_s);
        if (value) {
            cache_read_copy(&reader, end);
            end = PUT(end + reader.value_bytes, "\r\n");
        }
    } while (!cache_read_end(sv->ct, &reader, !meta_has(&m, 'u')));
    return end;
}

/* --- ms --- */

void meta_drop(struct serving *sv, const struct key *key) {
    static const struct cache_delete unconditional;
    cache_delete(sv->ct, key, &unconditional);
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
        /* unlike above, C0 compares nothing; and without CAS values no item has one */
        store->compare = m->compare_cas != 0 && cache_has_cas(sv->cache);
        store->compare_low = false;
        store->vivify = meta_has(m, 'N');
        if (store->vivify) {
            store->exptime_s = clock_expiry_s(m->vivify_exptime, now_s);
        }
        return error;
    default: return "CLIENT_ERROR invalid mode for ms M token\r\n";
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
    case CACHE_OK: p = PUT(p, "HD"); break;
    case CACHE_EXISTS: p = PUT(p, "EX"); break;
    case CACHE_MISS: p = joined ? PUT(p, "NS") : PUT(p, "NF"); break;
    case CACHE_NOT_STORED:
    case CACHE_NOT_A_NUMBER: p = PUT(p, "NS"); break;
    case CACHE_TOO_LARGE:
    case CACHE_NO_MEMORY:
        if (m->mode != 0 && m->mode != 'S') {
            meta_drop(sv, &r->key);
        }
        return status == CACHE_TOO_LARGE ? PUT(p, reply_too_large) : PUT(p, reply_no_memory);
    }
    if (m->token_count > 0) {
        struct meta_shown shown = {
            .cas = stored ? view->cas : 0,
            .value_bytes = stored && joined ? view->value_bytes : r->value_bytes,
            .binary_key = (r->flags & REQUEST_BINARY_KEY) != 0,
        };
        p = meta_put_flags(p, r, m, SHOWN_SET, shown);
    }
    return stored && meta_is_quiet(m) ? start : PUT(p, "\r\n");
}

static char *meta_set(struct serving *sv, const struct request *r, char *p) {
    struct meta_flags m;
    struct cache_store store;
    const char *error = meta_store_of(sv, r, &m, &store);
    if (error) {
        return put_text(p, error);
    }
    if (r->flags & REQUEST_BAD_DATA) {
        cache_store_bad_terminator(sv->ct, &r->key, &store);
        return put_text(p, reply_bad_data);
    }
    struct cache_view view = {0};
    store.hint = *sv->hint;
    enum cache_status status = cache_store(sv->ct, &r->key, &store, &view);
    return meta_stored(sv, r, &m, status, &view, p);
}

/* --- md --- */

static char *meta_delete(struct serving *sv, const struct request *r, char *p) {
    struct meta_flags m;
    const char *error = meta_flags_parse(r, &m);
    if (error || m.opaque_too_long) {
        return put_text(p, error ? error : reply_opaque_too_long);
    }
    bool drop_value = meta_has(&m, 'x');
    struct cache_delete wanted = {
        .misses_mismatch = true,
        .compare = meta_has(&m, 'C'),
        .compare_cas = m.compare_cas,
        .mark_stale = meta_has(&m, 'I'),
        .drop_value = drop_value,
        .client_flags = m.client_flags,
        /* x leaves an item that never expires, unless T sets a time */
        .touch = meta_has(&m, 'T') || drop_value,
        .exptime_s = clock_expiry_s(m.touch_exptime, cache_now_s(sv->ct)),
        .cas = m.cas,
    };
    switch (cache_delete(sv->ct, &r->key, &wanted)) {
    case CACHE_OK:
        if (observed(sv, EVENT_DELETIONS | EVENT_MUTATIONS)) {
            observe_delete(sv, r, &m);
        }
        return meta_is_quiet(&m) ? p : meta_put_echo(PUT(p, "HD"), r, &m);
    case CACHE_EXISTS: return meta_put_echo(PUT(p, "EX"), r, &m);
    case CACHE_TOO_LARGE:
    case CACHE_NO_MEMORY: return PUT(p, "SERVER_ERROR out of memory\r\n");
    case CACHE_MISS:
    case CACHE_NOT_STORED:
    case CACHE_NOT_A_NUMBER: break;
    }
    return meta_put_echo(PUT(p, "NF"), r, &m);
}

/* --- ma --- */

static char *meta_put_arith(char *p, const struct request *r, const struct meta_flags *m,
                            uint64_t number, const struct cache_view *view, uint32_t ttl_exptime_s,
                            uint32_t now_s) {
    char digits[NUMBER_BYTES];
    size_t digit_bytes = (size_t)(number_put(digits, number) - digits);
    p = meta_put_get_head(p, meta_has(m, 'v'), (uint32_t)digit_bytes);
    p = meta_put_flags(p, r, m, SHOWN_ARITH,
                       (struct meta_shown){.cas = view->cas,
                                           .exptime_s = ttl_exptime_s,
                                           .now_s = now_s,
                                           .binary_key = (r->flags & REQUEST_BINARY_KEY) != 0});
    p = PUT(p, "\r\n");
    return meta_has(m, 'v') ? PUT(put_bytes(p, digits, digit_bytes), "\r\n") : p;
}

static char *meta_arith(struct serving *sv, const struct request *r, char *p) {
    struct meta_flags m;
    if (meta_flags_parse(r, &m)) {
        return PUT(p, "CLIENT_ERROR invalid or duplicate flag\r\n");
    }
    bool decrement = m.mode == 'D' || m.mode == '-';
    if (m.mode != 0 && !decrement && m.mode != 'I' && m.mode != '+') {
        return PUT(p, "CLIENT_ERROR invalid mode for ma M token\r\n");
    }
    if (m.opaque_too_long) {
        return PUT(p, reply_opaque_too_long);
    }
    uint32_t now_s = cache_now_s(sv->ct);
    struct cache_arith wanted = {
        .decrement = decrement,
        .delta = m.delta,
        .compare = m.compare_cas != 0,
        .compare_cas = m.compare_cas,
        .cas = m.cas,
        .touch = meta_has(&m, 'T'),
        .exptime_s = clock_expiry_s(m.touch_exptime, now_s),
        .vivify = meta_has(&m, 'N'),
        .initial = m.initial,
        .binary_key = (r->flags & REQUEST_BINARY_KEY) != 0,
    };
    wanted.vivify_exptime_s = meta_vivify_exptime_s(&m, wanted.exptime_s, now_s);
    uint32_t ttl_exptime_s;
    struct cache_view view = {0};
    uint64_t number = 0;
    switch (cache_arith(sv->ct, &r->key, &wanted, &number, &view)) {
    case CACHE_OK:
        if (view.created && observed(sv, EVENT_MUTATIONS)) {
            observe_made(sv, r, &view);
        }
        ttl_exptime_s =
            meta_shown_exptime_s(&m, view.created, view.exptime_before_s, wanted.exptime_s,
                                 clock_expiry_s(m.vivify_exptime, now_s));
        return meta_is_quiet(&m) ? p
                                 : meta_put_arith(p, r, &m, number, &view, ttl_exptime_s, now_s);
    case CACHE_NOT_A_NUMBER:
        return PUT(p, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
    case CACHE_TOO_LARGE:
    case CACHE_NO_MEMORY: return PUT(p, "SERVER_ERROR out of memory\r\n");
    case CACHE_EXISTS: return meta_put_echo(PUT(p, "EX"), r, &m);
    case CACHE_MISS:
    case CACHE_NOT_STORED: break;
    }
    return meta_put_echo(PUT(p, "NF"), r, &m);
}

/* --- me --- */

static char *meta_debug(struct serving *sv, const struct request *r, char *p) {
    if (r->flags & REQUEST_BAD_KEY) {
        return PUT(p, "CLIENT_ERROR bad command line format\r\n");
    }
    counter_add(&sv->counters->cmd_meta, 1);
    struct cache_view view = {0};
    if (cache_peek(sv->ct, &r->key, &view) != CACHE_OK) {
        return PUT(p, "EN\r\n");
    }
    uint32_t now_s = cache_now_s(sv->ct);
    p = PUT(p, "ME ");
    p = view.binary_key ? base64_encode(p, r->key.ptr, r->key.len) : put_key(p, &r->key);
    p = PUT(p, " exp=");
    p = view.exptime_s == 0 ? PUT(p, "-1") : number_put(p, (uint32_t)(view.exptime_s - now_s));
    p = number_put(PUT(p, " la="), now_s > view.last_access_s ? now_s - view.last_access_s : 0);
    p = number_put(PUT(p, " cas="), view.cas);
    p = put_text(p, view.fetched ? " fetch=yes" : " fetch=no");
    p = number_put(PUT(p, " cls="), view.class_id);
    p = number_put(PUT(p, " size="), view.total_bytes);
    return PUT(p, "\r\n");
}

char *meta_run(struct serving *sv, const struct request *r, char *p) {
    switch (r->verb) {
    case VERB_META_GET: return meta_get(sv, r, p);
    case VERB_META_SET: return meta_set(sv, r, p);
    case VERB_META_DELETE: return meta_delete(sv, r, p);
    case VERB_META_ARITH: return meta_arith(sv, r, p);
    case VERB_META_DEBUG: return meta_debug(sv, r, p);
    default: return PUT(p, "MN\r\n");
    }
}
