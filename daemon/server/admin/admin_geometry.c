/* slabs geometry: new chunk sizes for a cache in use. The reply follows when the prediction is
 * ready, which takes a while; other orders run meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/admin/admin.h"

#define FACTOR_LEAST 1.01
#define FACTOR_MOST 100.0
enum { CLASSES_LEAST = 2 };

struct geometry_request {
    struct geometry_order   order; /* first */
    struct command_context *ctx;
    char                    text[AUDIT_VALUE_BYTES]; /* the command, for the audit */
};

/* Turns slab_geometry_auto off, which would change the requested sizes again. */
static void geometry_turn_auto_off(struct command_context *ctx) {
    struct settings to = *server_settings_now(ctx->server);
    char why[SETTING_WHY_BYTES];
    to.slab_geometry_auto = false;
    if (!admin_change(ctx, &to, why)) {
        log_warn("slab_geometry_auto stays on: it %s", why);
    }
}

/* Records an order, with the number of sizes before the change that it began. */
static void geometry_audit(struct command_context *ctx, bool has_begun, const char *text) {
    char was[AUDIT_VALUE_BYTES];
    struct geometry_facts f;
    if (!has_begun) {
        admin_audit(ctx, "slabs geometry", text);
        return;
    }
    tuner_geometry(ctx->server->tuner, &f);
    snprintf(was, sizeof was, "%u sizes", f.from.count);
    admin_audit_change(ctx, "slabs geometry", was, text);
}

static void geometry_answered(struct geometry_order *order) {
    struct geometry_request *request = (struct geometry_request *)order;
    struct command_context *ctx = request->ctx;
    enum geometry_verb verb = order->verb;
    if (strncmp(order->answer, "OK", 2) == 0 && !order->dry) {
        geometry_audit(ctx, verb != GEOMETRY_PAUSE && verb != GEOMETRY_RESUME, request->text);
        if (verb == GEOMETRY_FACTOR || verb == GEOMETRY_SIZES || verb == GEOMETRY_REVERT) {
            geometry_turn_auto_off(ctx);
        }
    }
    text_out_printf(ctx->out, "%s\r\n", order->answer);
    free(request);
    command_answered(ctx);
}

/* Joins the words behind `slabs geometry`, as far as there is room. */
static void geometry_join_words(const struct words *words, char to[AUDIT_VALUE_BYTES]) {
    size_t len = 0;
    to[0] = '\0';
    for (unsigned i = 2; i < words->count && len < AUDIT_VALUE_BYTES; i++) {
        int n = snprintf(to + len, AUDIT_VALUE_BYTES - len, "%s%.*s", i > 2 ? " " : "",
                         (int)words->word[i].bytes, words->word[i].ptr);
        len += n > 0 ? (size_t)n : 0;
    }
}

/* Parses sizes in bytes, separated by commas. */
static bool geometry_parse_sizes(const struct token *w, struct geometry_order *o) {
    const char *at = w->ptr, *end = w->ptr + w->bytes;
    for (;;) {
        const char *comma = at < end ? memchr(at, ',', (size_t)(end - at)) : NULL;
        struct token number = {at, (uint32_t)((comma ? comma : end) - at)};
        if (o->size_count == CLASS_SIZES_MAX || !word_u32(&number, &o->sizes[o->size_count])) {
            return false;
        }
        o->size_count++;
        if (!comma) {
            return true;
        }
        at = comma + 1;
    }
}

/* Parses the argument of a verb. NULL: good; otherwise an error that says what is allowed. */
static const char *geometry_parse_verb(struct command_context *ctx, const struct words *w,
                                       unsigned count, struct geometry_order *o) {
    const struct token *value = count > 3 ? &w->word[3] : NULL;
    uint32_t classes;
    switch (o->verb) {
    case GEOMETRY_FACTOR:
        o->first_bytes = (uint32_t)ctx->server->at_start.chunk_size + SLAB_HEADER_ROOM;
        return value && word_double(value, &o->factor) && o->factor >= FACTOR_LEAST &&
                       o->factor <= FACTOR_MOST
                   ? NULL
                   : "CLIENT_ERROR geometry factor must be from 1.01 to 100\r\n";
    case GEOMETRY_SIZES:
        return value && geometry_parse_sizes(value, o)
                   ? NULL
                   : "CLIENT_ERROR geometry sizes are at most 255 "
                     "numbers of bytes with commas between them\r\n";
    case GEOMETRY_AUTO:
        if (!value) {
            return NULL;
        }
        if (!word_u32(value, &classes) || classes < CLASSES_LEAST || classes > CLASS_SIZES_MAX) {
            return "CLIENT_ERROR geometry auto makes from 2 to 255 classes\r\n";
        }
        o->classes_most = classes;
        return NULL;
    case GEOMETRY_REVERT: return value ? ANSWER_BAD_FORMAT : NULL;
    case GEOMETRY_PAUSE:
    case GEOMETRY_RESUME: return value || o->force || o->dry ? ANSWER_BAD_FORMAT : NULL;
    }
    return REPLY_ERROR;
}

/* Parses `force` and `dry` at the end. Returns the number of words before them. */
static unsigned geometry_take_flags(const struct words *w, struct geometry_order *o) {
    unsigned count = w->count;
    for (; count > 3; count--) {
        if (word_is(&w->word[count - 1], "force")) {
            o->force = true;
        } else if (word_is(&w->word[count - 1], "dry")) {
            o->dry = true;
        } else {
            break;
        }
    }
    return count;
}

/* slabs geometry factor <f> | sizes <n,n,...> | auto [classes] | pause | resume | revert */
void admin_slabs_geometry(struct command_context *ctx, const struct words *w) {
    static const char *const verbs[] = {
        [GEOMETRY_FACTOR] = "factor", [GEOMETRY_SIZES] = "sizes",   [GEOMETRY_AUTO] = "auto",
        [GEOMETRY_PAUSE] = "pause",   [GEOMETRY_RESUME] = "resume", [GEOMETRY_REVERT] = "revert"};
    enum { VERBS = sizeof verbs / sizeof *verbs };
    unsigned verb = 0, count = w->count;
    while (count > 2 && verb < VERBS && !word_is(&w->word[2], verbs[verb])) {
        verb++;
    }
    if (count < 3 || verb == VERBS) {
        text_out_str(ctx->out, "CLIENT_ERROR usage: slabs geometry factor N|sizes N,N,...|auto "
                               "[CLASSES]|revert [force] [dry], or pause|resume\r\n");
        return;
    }
    struct geometry_request *request = calloc(1, sizeof *request);
    if (request == NULL) {
        text_out_str(ctx->out, "SERVER_ERROR out of memory\r\n");
        return;
    }
    struct geometry_order *order = &request->order;
    order->verb = (enum geometry_verb)verb;
    order->done = geometry_answered;
    request->ctx = ctx;
    count = geometry_take_flags(w, order);
    const char *error = count > 4 ? ANSWER_BAD_FORMAT : geometry_parse_verb(ctx, w, count, order);
    if (error == NULL && !tuner_order_geometry(ctx->server->tuner, order)) {
        error = "BUSY currently processing another geometry request\r\n";
    }
    if (error != NULL) {
        text_out_str(ctx->out, error);
        free(request);
        return;
    }
    command_defer(ctx);
    geometry_join_words(w, request->text);
}
