/* The binary protocol's requests: one against the cache, one reply. */
#include "base/clock.h"
#include "protocol/binary.h"
#include "server/verbs/observe.h"
#include "server/version.h"

/* --- replies --- */

static char *put_status(char *p, const struct request *r, enum binary_status status) {
    return binary_put_text(p, binary_opcode(r->text), binary_opaque(r->text), status,
                           binary_status_text(status));
}

static char *put_no_memory(char *p, const struct request *r, const char *text) {
    return binary_put_text(p, binary_opcode(r->text), binary_opaque(r->text), BINARY_NO_MEMORY,
                           text);
}

/* The head of a success. */
static inline char *put_head(char *p, const struct request *r, uint8_t extras_bytes,
                             uint8_t key_bytes, uint32_t value_bytes, uint64_t cas) {
    struct binary_head head = {.opcode = binary_opcode(r->text),
                               .extras_bytes = extras_bytes,
                               .key_bytes = key_bytes,
                               .body_bytes = extras_bytes + key_bytes + value_bytes,
                               .opaque = binary_opaque(r->text),
                               .cas = cas};
    return binary_put_head(p, &head);
}

/* A success without a body. */
static char *put_done(char *p, const struct request *r, uint64_t cas) {
    return binary_quiet(r->text) ? p : put_head(p, r, 0, 0, 0, cas);
}

char *binary_answer(const struct request *r, char *p) {
    enum binary_status status = (enum binary_status)r->number;
    if (status != BINARY_OK) {
        return put_status(p, r, status);
    }
    if (binary_opcode(r->text) != BINARY_VERSION) {
        return put_done(p, r, 0);
    }
    p = put_head(p, r, 0, 0, sizeof SLATE_PROTOCOL_VERSION - 1, 0);
    return PUT(p, SLATE_PROTOCOL_VERSION);
}

/* --- reading --- */

/* Whether the reply has the key. */
static inline bool tells_key(const struct request *r) {
    uint8_t opcode = binary_opcode(r->text);
    return opcode == BINARY_GETK || opcode == BINARY_GETKQ || opcode == BINARY_GATK ||
           opcode == BINARY_GATKQ;
}

static inline char *put_found(char *p, const struct request *r, uint32_t client_flags,
                              uint32_t value_bytes, uint64_t cas) {
    bool key = tells_key(r);
    p = put_head(p, r, 4, key ? r->key.len : 0, value_bytes, cas);
    p = binary_put32(p, client_flags);
    return key ? put_key(p, &r->key) : p;
}

static char *put_miss(char *p, const struct request *r) {
    if (binary_quiet(r->text)) {
        return p;
    }
    if (!tells_key(r)) {
        return put_status(p, r, BINARY_NOT_FOUND);
    }
    struct binary_head head = {.opcode = binary_opcode(r->text),
                               .key_bytes = r->key.len,
                               .status = BINARY_NOT_FOUND,
                               .body_bytes = r->key.len,
                               .opaque = binary_opaque(r->text)};
    return put_key(binary_put_head(p, &head), &r->key);
}

static uint32_t expiry_s(const struct serving *sv, const struct request *r) {
    return clock_expiry_s((uint32_t)r->exptime, cache_now_s(sv->ct));
}

/* Large values, touches, and what the lock-free way leaves. */
static char *fetch(struct serving *sv, const struct request *r, char *p) {
    bool touch = r->verb == VERB_BINARY_TOUCH;
    struct cache_fetch want = {.want_value = binary_opcode(r->text) != BINARY_TOUCH,
                               .touch = touch,
                               .exptime_s = touch ? expiry_s(sv, r) : 0};
    struct cache_view view = {0};
    enum cache_status status = cache_fetch(sv->ct, &r->key, &want, sv->scratch, &view);
    serving_note(sv, &r->key, status == CACHE_OK ? PREFIX_HIT : PREFIX_GET);
    if (status != CACHE_OK) {
        return put_miss(p, r);
    }
    p = put_found(p, r, view.client_flags, want.want_value ? view.value_bytes : 0, view.cas);
    return want.want_value ? serving_put_fetched(sv, p, &view) : p;
}

static char *get(struct serving *sv, const struct request *r, char *p) {
    struct cache_reader reader;
    for (;;) {
        char *end = p;
        enum cache_read how = cache_read_begin(sv->ct, &r->key, *sv->spot, &reader);
        if (how == CACHE_READ_SLOW) {
            return fetch(sv, r, p);
        }
        if (how == CACHE_READ_COPY) {
            end = put_found(p, r, reader.client_flags, reader.value_bytes, reader.cas);
            cache_read_copy(&reader, end);
            end += reader.value_bytes;
        }
        if (cache_read_end(sv->ct, &reader, true)) {
            serving_note(sv, &r->key, how == CACHE_READ_COPY ? PREFIX_HIT : PREFIX_GET);
            return how == CACHE_READ_COPY ? end : put_miss(p, r);
        }
    }
}

/* --- storing --- */

static enum cache_mode mode_of(const struct request *r) {
    switch (binary_plain_opcode(r->text)) {
    case BINARY_ADD: return CACHE_ADD;
    case BINARY_REPLACE: return CACHE_REPLACE;
    case BINARY_APPEND: return CACHE_APPEND;
    case BINARY_PREPEND: return CACHE_PREPEND;
    default: return CACHE_SET;
    }
}

/* Whether the key stands in lines of text, dumps too, as one that came in base64: as it is it would
 * end them, and what follows would be taken for lines of the server's. */
static bool in_base64(const struct key *key) { return !key_fits_line(key->ptr, key->len); }

static bool joins(enum cache_mode mode) { return mode == CACHE_APPEND || mode == CACHE_PREPEND; }

void binary_store_of(const struct serving *sv, const struct request *r, struct cache_store *store) {
    enum cache_mode mode = mode_of(r);
    bool compare = r->number != 0 && cache_has_cas(sv->cache), cas = compare && !joins(mode);
    serving_note(sv, &r->key, PREFIX_SET);
    *store = (struct cache_store){
        /* with a CAS an add is a set, and a replace too */
        .mode = cas && mode == CACHE_ADD ? CACHE_REPLACE : mode,
        .value = r->value,
        .value_bytes = r->value_bytes,
        .client_flags = r->client_flags,
        .exptime_s = expiry_s(sv, r),
        .compare = compare,
        .compare_cas = r->number,
        .counts_cas = cas,
        .binary_key = in_base64(&r->key),
    };
}

char *binary_stored(struct serving *sv, const struct request *r, enum cache_status status,
                    const struct cache_view *view, char *p) {
    enum cache_mode mode = mode_of(r);
    if (observed(sv, EVENT_MUTATIONS)) {
        observe_store(sv, r, NULL, status, view);
    }
    switch (status) {
    case CACHE_OK:
        return put_done(p, r, view->cas);
    case CACHE_MISS:
        return put_status(p, r, BINARY_NOT_FOUND);
    case CACHE_EXISTS:
        return put_status(p, r, BINARY_EXISTS);
    case CACHE_TOO_LARGE:
        if (!joins(mode) || !cache_value_fits(sv->cache, &r->key, r->value_bytes)) {
            return put_status(p, r, BINARY_TOO_LARGE);
        }
        break; /* too large only together with what is there */
    case CACHE_NO_MEMORY:
        return put_no_memory(p, r, "Out of memory allocating item");
    case CACHE_NOT_STORED:
    case CACHE_NOT_A_NUMBER:
        break;
    }
    return put_status(p, r,
                      mode == CACHE_ADD       ? BINARY_EXISTS
                      : mode == CACHE_REPLACE ? BINARY_NOT_FOUND
                                              : BINARY_NOT_STORED);
}

static char *store(struct serving *sv, const struct request *r, char *p) {
    struct cache_store what;
    struct cache_view view = {0};
    binary_store_of(sv, r, &what);
    what.spot = *sv->spot;
    enum cache_status status = cache_store(sv->ct, &r->key, &what, &view);
    return binary_stored(sv, r, status, &view, p);
}

/* --- changing --- */

static char *remove_item(struct serving *sv, const struct request *r, char *p) {
    struct cache_delete what = {.compare = r->number != 0, .compare_cas = r->number};
    serving_note(sv, &r->key, PREFIX_DELETE);
    switch (cache_delete(sv->ct, &r->key, &what)) {
    case CACHE_OK:
        break;
    case CACHE_EXISTS:
        return put_status(p, r, BINARY_EXISTS);
    default:
        return put_status(p, r, BINARY_NOT_FOUND);
    }
    if (observed(sv, EVENT_DELETIONS)) {
        observe_delete(sv, r, NULL);
    }
    return put_done(p, r, 0);
}

static char *arith(struct serving *sv, const struct request *r, char *p) {
    uint64_t cas = binary_cas(r->text), number = 0;
    struct cache_arith what = {
        .decrement = binary_plain_opcode(r->text) == BINARY_DECREMENT,
        .delta = r->number,
        .compare = cas != 0,
        .compare_cas = cas,
        .vivify = (uint32_t)r->exptime != BINARY_NOT_CREATED,
        .initial = binary_get64(binary_extras(r->text) + 8),
        .vivify_exptime_s = expiry_s(sv, r),
        .binary_key = in_base64(&r->key),
    };
    struct cache_view view = {0};
    switch (cache_arith(sv->ct, &r->key, &what, &number, &view)) {
    case CACHE_OK:
        if (view.created && observed(sv, EVENT_MUTATIONS)) {
            observe_made(sv, r, &view);
        }
        if (binary_quiet(r->text)) {
            return p;
        }
        return binary_put64(put_head(p, r, 0, 0, sizeof number, view.cas), number);
    case CACHE_NOT_A_NUMBER:
        return put_status(p, r, BINARY_NOT_A_NUMBER);
    case CACHE_EXISTS:
        return put_status(p, r, BINARY_EXISTS);
    case CACHE_TOO_LARGE:
    case CACHE_NO_MEMORY:
        return put_no_memory(p, r, view.created ? "Out of memory allocating new item"
                                                : "Out of memory incrementing value");
    case CACHE_MISS:
    case CACHE_NOT_STORED:
        break;
    }
    return put_status(p, r, BINARY_NOT_FOUND);
}

char *binary_run(struct serving *sv, const struct request *r, char *p) {
    switch (r->verb) {
    case VERB_BINARY_GET:
        return get(sv, r, p);
    case VERB_BINARY_TOUCH:
        return fetch(sv, r, p);
    case VERB_BINARY_STORE:
        return store(sv, r, p);
    case VERB_BINARY_DELETE:
        return remove_item(sv, r, p);
    default:
        return arith(sv, r, p);
    }
}
