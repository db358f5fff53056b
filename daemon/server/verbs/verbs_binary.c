/* Runs requests of the binary protocol against the cache, and writes their replies. */
#include "base/clock.h"
#include "protocol/binary.h"
#include "server/verbs/observe.h"
#include "server/process/version.h"

/* --- replies --- */

static char *binary_put_status(char *p, const struct request *r, enum binary_status status) {
    return binary_put_text(p, binary_opcode(r->text), binary_opaque(r->text), status,
                           binary_status_text(status));
}

static char *binary_put_no_memory(char *p, const struct request *r, const char *text) {
    return binary_put_text(p, binary_opcode(r->text), binary_opaque(r->text), BINARY_NO_MEMORY,
                           text);
}

/* Writes the head of a success. */
static inline char *binary_put_success(char *p, const struct request *r, uint8_t extras_bytes,
                                       uint8_t key_bytes, uint32_t value_bytes, uint64_t cas) {
    struct binary_head head = {.opcode = binary_opcode(r->text),
                               .extras_bytes = extras_bytes,
                               .key_bytes = key_bytes,
                               .body_bytes = extras_bytes + key_bytes + value_bytes,
                               .opaque = binary_opaque(r->text),
                               .cas = cas};
    return binary_put_head(p, &head);
}

/* Writes a success without a body. */
static char *binary_put_done(char *p, const struct request *r, uint64_t cas) {
    return binary_quiet(r->text) ? p : binary_put_success(p, r, 0, 0, 0, cas);
}

char *binary_answer(const struct request *r, char *p) {
    enum binary_status status = (enum binary_status)r->number;
    if (status != BINARY_OK) {
        return binary_put_status(p, r, status);
    }
    if (binary_opcode(r->text) != BINARY_VERSION) {
        return binary_put_done(p, r, 0);
    }
    p = binary_put_success(p, r, 0, 0, sizeof SLATE_PROTOCOL_VERSION - 1, 0);
    return PUT(p, SLATE_PROTOCOL_VERSION);
}

/* --- reading --- */

/* True: the reply contains the key. */
static inline bool binary_shows_key(const struct request *r) {
    uint8_t opcode = binary_opcode(r->text);
    return opcode == BINARY_GETK || opcode == BINARY_GETKQ || opcode == BINARY_GATK ||
           opcode == BINARY_GATKQ;
}

static inline char *binary_put_found(char *p, const struct request *r, uint32_t client_flags,
                                     uint32_t value_bytes, uint64_t cas) {
    bool key = binary_shows_key(r);
    p = binary_put_success(p, r, 4, key ? r->key.len : 0, value_bytes, cas);
    p = binary_put32(p, client_flags);
    return key ? put_key(p, &r->key) : p;
}

static char *binary_put_miss(char *p, const struct request *r) {
    if (binary_quiet(r->text)) {
        return p;
    }
    if (!binary_shows_key(r)) {
        return binary_put_status(p, r, BINARY_NOT_FOUND);
    }
    struct binary_head head = {.opcode = binary_opcode(r->text),
                               .key_bytes = r->key.len,
                               .status = BINARY_NOT_FOUND,
                               .body_bytes = r->key.len,
                               .opaque = binary_opaque(r->text)};
    return put_key(binary_put_head(p, &head), &r->key);
}

static uint32_t binary_expiry_s(const struct serving *sv, const struct request *r) {
    return clock_expiry_s((uint32_t)r->exptime, cache_now_s(sv->ct));
}

/* Reads large values, touches, and does all else that the lock-free read cannot do. */
static char *binary_fetch(struct serving *sv, const struct request *r, char *p) {
    bool touch = r->verb == VERB_BINARY_TOUCH;
    struct cache_fetch want = {.want_value = binary_opcode(r->text) != BINARY_TOUCH,
                               .touch = touch,
                               .exptime_s = touch ? binary_expiry_s(sv, r) : 0};
    struct cache_view view = {0};
    enum cache_status status = cache_fetch(sv->ct, &r->key, &want, sv->scratch, &view);
    serving_note(sv, &r->key, status == CACHE_OK ? PREFIX_HIT : PREFIX_GET);
    if (status != CACHE_OK) {
        return binary_put_miss(p, r);
    }
    p = binary_put_found(p, r, view.client_flags, want.want_value ? view.value_bytes : 0, view.cas);
    return want.want_value ? serving_put_fetched(sv, p, &view) : p;
}

static char *binary_get(struct serving *sv, const struct request *r, char *p) {
    struct cache_reader reader;
    for (;;) {
        char *end = p;
        enum cache_read how = cache_read_begin(sv->ct, &r->key, *sv->hint, &reader);
        if (how == CACHE_READ_SLOW) {
            return binary_fetch(sv, r, p);
        }
        if (how == CACHE_READ_COPY) {
            end = binary_put_found(p, r, reader.client_flags, reader.value_bytes, reader.cas);
            cache_read_copy(&reader, end);
            end += reader.value_bytes;
        }
        if (cache_read_end(sv->ct, &reader, true)) {
            serving_note(sv, &r->key, how == CACHE_READ_COPY ? PREFIX_HIT : PREFIX_GET);
            return how == CACHE_READ_COPY ? end : binary_put_miss(p, r);
        }
    }
}

/* --- storing --- */

static enum cache_mode binary_mode_of(const struct request *r) {
    switch (binary_plain_opcode(r->text)) {
    case BINARY_ADD: return CACHE_ADD;
    case BINARY_REPLACE: return CACHE_REPLACE;
    case BINARY_APPEND: return CACHE_APPEND;
    case BINARY_PREPEND: return CACHE_PREPEND;
    default: return CACHE_SET;
    }
}

/* True: lines of text, as in dumps, must show the key in base64: the key's bytes could end a line,
 * and forge further lines of the server. */
static bool binary_key_in_base64(const struct key *key) {
    return !key_fits_line(key->ptr, key->len);
}

static bool binary_joins(enum cache_mode mode) {
    return mode == CACHE_APPEND || mode == CACHE_PREPEND;
}

void binary_store_of(const struct serving *sv, const struct request *r, struct cache_store *store) {
    enum cache_mode mode = binary_mode_of(r);
    bool compare = r->number != 0 && cache_has_cas(sv->cache), cas = compare && !binary_joins(mode);
    serving_note(sv, &r->key, PREFIX_SET);
    *store = (struct cache_store){
        /* with a CAS an add is a set, and a replace too */
        .mode = cas && mode == CACHE_ADD ? CACHE_REPLACE : mode,
        .value = r->value,
        .value_bytes = r->value_bytes,
        .client_flags = r->client_flags,
        .exptime_s = binary_expiry_s(sv, r),
        .compare = compare,
        .compare_cas = r->number,
        .counts_cas = cas,
        .binary_key = binary_key_in_base64(&r->key),
    };
}

char *binary_stored(struct serving *sv, const struct request *r, enum cache_status status,
                    const struct cache_view *view, char *p) {
    enum cache_mode mode = binary_mode_of(r);
    if (observed(sv, EVENT_MUTATIONS)) {
        observe_store(sv, r, NULL, status, view);
    }
    switch (status) {
    case CACHE_OK: return binary_put_done(p, r, view->cas);
    case CACHE_MISS: return binary_put_status(p, r, BINARY_NOT_FOUND);
    case CACHE_EXISTS: return binary_put_status(p, r, BINARY_EXISTS);
    case CACHE_TOO_LARGE:
        if (!binary_joins(mode) || !cache_value_fits(sv->cache, &r->key, r->value_bytes)) {
            return binary_put_status(p, r, BINARY_TOO_LARGE);
        }
        break; /* too large only together with the item's value */
    case CACHE_NO_MEMORY: return binary_put_no_memory(p, r, "Out of memory allocating item");
    case CACHE_NOT_STORED:
    case CACHE_NOT_A_NUMBER: break;
    }
    return binary_put_status(p, r,
                             mode == CACHE_ADD       ? BINARY_EXISTS
                             : mode == CACHE_REPLACE ? BINARY_NOT_FOUND
                                                     : BINARY_NOT_STORED);
}

static char *binary_store(struct serving *sv, const struct request *r, char *p) {
    struct cache_store wanted;
    struct cache_view view = {0};
    binary_store_of(sv, r, &wanted);
    wanted.hint = *sv->hint;
    enum cache_status status = cache_store(sv->ct, &r->key, &wanted, &view);
    return binary_stored(sv, r, status, &view, p);
}

/* --- changing --- */

static char *binary_delete(struct serving *sv, const struct request *r, char *p) {
    struct cache_delete wanted = {.compare = r->number != 0, .compare_cas = r->number};
    serving_note(sv, &r->key, PREFIX_DELETE);
    switch (cache_delete(sv->ct, &r->key, &wanted)) {
    case CACHE_OK: break;
    case CACHE_EXISTS: return binary_put_status(p, r, BINARY_EXISTS);
    default: return binary_put_status(p, r, BINARY_NOT_FOUND);
    }
    if (observed(sv, EVENT_DELETIONS)) {
        observe_delete(sv, r, NULL);
    }
    return binary_put_done(p, r, 0);
}

static char *binary_arith(struct serving *sv, const struct request *r, char *p) {
    uint64_t cas = binary_cas(r->text), number = 0;
    struct cache_arith wanted = {
        .decrement = binary_plain_opcode(r->text) == BINARY_DECREMENT,
        .delta = r->number,
        .compare = cas != 0,
        .compare_cas = cas,
        .vivify = (uint32_t)r->exptime != BINARY_NOT_CREATED,
        .initial = binary_get64(binary_extras(r->text) + 8),
        .vivify_exptime_s = binary_expiry_s(sv, r),
        .binary_key = binary_key_in_base64(&r->key),
    };
    struct cache_view view = {0};
    switch (cache_arith(sv->ct, &r->key, &wanted, &number, &view)) {
    case CACHE_OK:
        if (view.created && observed(sv, EVENT_MUTATIONS)) {
            observe_made(sv, r, &view);
        }
        if (binary_quiet(r->text)) {
            return p;
        }
        return binary_put64(binary_put_success(p, r, 0, 0, sizeof number, view.cas), number);
    case CACHE_NOT_A_NUMBER: return binary_put_status(p, r, BINARY_NOT_A_NUMBER);
    case CACHE_EXISTS: return binary_put_status(p, r, BINARY_EXISTS);
    case CACHE_TOO_LARGE:
    case CACHE_NO_MEMORY:
        return binary_put_no_memory(p, r,
                                    view.created ? "Out of memory allocating new item"
                                                 : "Out of memory incrementing value");
    case CACHE_MISS:
    case CACHE_NOT_STORED: break;
    }
    return binary_put_status(p, r, BINARY_NOT_FOUND);
}

char *binary_run(struct serving *sv, const struct request *r, char *p) {
    switch (r->verb) {
    case VERB_BINARY_GET: return binary_get(sv, r, p);
    case VERB_BINARY_TOUCH: return binary_fetch(sv, r, p);
    case VERB_BINARY_STORE: return binary_store(sv, r, p);
    case VERB_BINARY_DELETE: return binary_delete(sv, r, p);
    default: return binary_arith(sv, r, p);
    }
}
