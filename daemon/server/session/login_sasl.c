/* Logins by SASL, as memcached's clients of the binary protocol use with -S: the packets that a
 * session may send before a login, and the steps of a login, which another thread runs
 * (server/auth/logins.h).
 *
 * When a later attempt fails, the session loses its login, as in memcached. */
#include <stdlib.h>
#include <string.h>

#include "protocol/binary.h"
#include "server/auth/logins.h"
#include "server/session/session_internal.h"

enum parsed login_sasl_parse(struct session *s, char *at, char *end, struct request *out,
                             unsigned *count, char **next) {
    uint8_t opcode = end - at > 1 ? binary_opcode(at) : 0;
    if (end - at < BINARY_HEAD_BYTES || (uint8_t)at[0] != BINARY_REQUEST ||
        opcode == BINARY_VERSION || opcode == BINARY_SASL_LIST_MECHS ||
        opcode == BINARY_SASL_AUTH || opcode == BINARY_SASL_STEP) {
        return parse(&s->parser, at, end, out, 1, count, next);
    }
    /* does not wait for bytes behind the head, because the reply ends the connection */
    *out = (struct request){.verb = VERB_BINARY_ANSWER,
                            .flags = REQUEST_BINARY | REQUEST_LAST,
                            .text = at,
                            .number = BINARY_AUTH_ERROR};
    *count = 1;
    *next = at + BINARY_HEAD_BYTES;
    return PARSED;
}

/* --- a step --- */

struct login_wait {
    struct command_wait     waiting; /* first */
    struct session    *session; /* outlives this struct */
    struct login_step *step;
    uint32_t           opaque;
    uint8_t            opcode;
};

static void sasl_put_packet(struct text_out *out, const struct login_wait *w,
                            enum binary_status status, const char *text, size_t n) {
    const struct binary_head head = {.opcode = w->opcode,
                                     .status = (uint16_t)status,
                                     .body_bytes = (uint32_t)n,
                                     .opaque = w->opaque};
    char *p = text_out_reserve(out, BINARY_HEAD_BYTES);
    if (p != NULL) {
        binary_put_head(p, &head);
        text_out_grow(out, BINARY_HEAD_BYTES);
    }
    text_out_bytes(out, text, n);
}

static void sasl_put_text(struct text_out *out, const struct login_wait *w,
                          enum binary_status status, const char *words) {
    sasl_put_packet(out, w, status, words, strlen(words));
}

static void sasl_refuse(struct command_context *ctx, struct session *s) {
    s->role = ROLE_NONE;
    s->unguarded = false;
    free(s->user);
    s->user = NULL;
    counter_add(&ctx->counters->auth_errors, 1);
    users_log_refusal(&ctx->server->users, s->addr, "authentication failure");
}

static bool sasl_reply(struct command_wait *waiting, struct command_context *ctx) {
    struct login_wait *w = (struct login_wait *)waiting;
    struct login_step *step = w->step;
    struct session    *s = w->session;
    bool mechanisms = step->verb == LOGIN_MECHANISMS;
    if (mechanisms && step->verdict == CYRUS_PROVEN) {
        sasl_put_packet(ctx->out, w, BINARY_OK, step->text.bytes, step->text.n);
    } else if (step->verdict == CYRUS_CONTINUES) {
        sasl_put_packet(ctx->out, w, BINARY_AUTH_CONTINUE, step->text.bytes, step->text.n);
    } else if (step->verdict == CYRUS_PROVEN) {
        counter_add(&ctx->counters->auth_cmds, 1);
        size_t n = strlen(step->user);
        session_let_in(s, step->user, n,
                       users_role(&ctx->server->users, step->user, n,
                                  (enum role)s->role_default));
        s->unguarded = false; /* a second login may have a lesser role */
        sasl_put_text(ctx->out, w, BINARY_OK, "Authenticated");
    } else {
        if (!mechanisms) {
            counter_add(&ctx->counters->auth_cmds, 1);
            sasl_refuse(ctx, s);
        }
        sasl_put_text(ctx->out, w, BINARY_AUTH_ERROR, binary_status_text(BINARY_AUTH_ERROR));
    }
    s->dialogue = step->dialogue; /* for the next step */
    step->dialogue = NULL;
    return false;
}

static void sasl_wait_destroy(struct command_wait *waiting) {
    struct login_wait *w = (struct login_wait *)waiting;
    login_step_release(w->step);
    free(w);
}

static enum login_verb sasl_verb_of(uint8_t opcode) {
    return opcode == BINARY_SASL_LIST_MECHS ? LOGIN_MECHANISMS
           : opcode == BINARY_SASL_AUTH     ? LOGIN_BEGIN
                                            : LOGIN_CONTINUE;
}

/* Returns the hash of a client's address without the port. */
static uint64_t sasl_address_hash(const char *addr) {
    const char *port = strrchr(addr, ':');
    return key_hash(addr, port != NULL ? (size_t)(port - addr) : strlen(addr));
}

/* Hands the step over. False: too many clients log in, or there is no memory. */
static bool sasl_post_step(struct batch *b, struct session *s, const struct request *r) {
    struct login_wait *w = calloc(1, sizeof *w);
    struct login_step *step =
        w ? login_step_create(s->dialogue, sasl_verb_of(binary_opcode(r->text)), r->key.ptr,
                              r->key.len, r->value, r->value_bytes)
          : NULL;
    if (step == NULL) {
        free(w);
        return false;
    }
    s->dialogue = NULL; /* the step owns the dialogue now */
    *w = (struct login_wait){.session = s,
                             .step = step,
                             .opaque = binary_opaque(r->text),
                             .opcode = binary_opcode(r->text)};
    struct command_context wakes = {.wake = b->wake, .wake_arg = b->wake_arg};
    command_wait_begin(&w->waiting, &wakes, &step->future, sasl_reply, sasl_wait_destroy);
    w->waiting.more.packets = true;
    w->waiting.more.ends_with_client = true;
    if (!logins_post(b->server->logins, step, sasl_address_hash(s->addr))) {
        s->dialogue = step->dialogue;
        step->dialogue = NULL;
        command_wait_end(&w->waiting);
        return false;
    }
    s->more = &w->waiting.more;
    s->opaque = w->opaque;
    s->opcode = w->opcode;
    return true;
}

char *login_sasl_run(struct batch *b, const struct request *r, char *p) {
    struct session *s = b->slots[r->slot].session;
    enum binary_status status = BINARY_INVALID; /* for a mechanism whose name is too long */
    if (r->key.len <= LOGIN_MECHANISM_BYTES) {
        if (sasl_post_step(b, s, r)) {
            return p;
        }
        status = BINARY_NO_MEMORY;
    }
    return binary_put_text(p, binary_opcode(r->text), binary_opaque(r->text), status,
                           binary_status_text(status));
}
