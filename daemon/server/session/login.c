/* Logins of text sessions, and the requests that a role allows. A client of the binary protocol
 * logs in by SASL (login_sasl.c).
 *
 * The dialogue is memcached's: a set command of any key, whose value is the user's name, a blank
 * and the password. Every other line gets an error. So does each line of another
 * command's value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/binary.h"
#include "server/commands/command_words.h"
#include "server/session/session_internal.h"

enum {
    LOGIN_LINE_MIN = 6,         /* bytes of a login's first line; a shorter line hangs up */
    LOGIN_VALUE_MAX = 16384,    /* as in memcached; a longer value is refused at once */
    LOGIN_NAME_BYTES = 2 * AUDIT_WHO_BYTES,
};

static void login_reply(struct request *out, const char *text) {
    *out = (struct request){.verb = VERB_REPLY, .text = text, .text_bytes = (uint32_t)strlen(text)};
}

void session_let_in(struct session *s, const char *name, size_t name_bytes, enum role role) {
    /* the audit's name; without memory the address is enough */
    char who[LOGIN_NAME_BYTES];
    snprintf(who, sizeof who, "%.*s@%s", (int)name_bytes, name, s->addr);
    free(s->user);
    s->user = strdup(who);
    s->role = role < s->role_most ? role : s->role_most;
}

static bool login_check(struct batch *b, struct session *s, const char *value, size_t n) {
    struct users *users = &b->server->users;
    const char *blank = memchr(value, ' ', n);
    enum role   role;
    size_t      name = (size_t)(blank - value);
    if (!users_check(users, value, name, blank + 1, n - name - 1, s->role_default, &role)) {
        return false;
    }
    session_let_in(s, value, name, role);
    return true;
}

static const char *login_try(struct batch *b, struct session *s, const char *value, size_t n) {
    s->login_tried = true;
    BATCH_COUNT(b, auth_cmds);
    if (n <= USER_TOKEN_BYTES && login_check(b, s, value, n)) {
        return "STORED\r\n";
    }
    BATCH_COUNT(b, auth_errors);
    users_log_refusal(&b->server->users, s->addr, "authentication failure");
    return "CLIENT_ERROR authentication failure\r\n";
}

enum parsed login_parse(struct batch *b, struct session *s, const char *at, const char *end,
                        struct request *out, unsigned *count, char **next) {
    struct words w;
    uint32_t     value_bytes;
    const char  *feed = memchr(at, '\n', (size_t)(end - at));
    if (feed == NULL) {
        return end - at > PARSE_LINE_MAX ? PARSE_CLOSE : PARSE_MORE;
    }
    if (feed - at < LOGIN_LINE_MIN) {
        return PARSE_CLOSE;
    }
    words_split(at, (size_t)(feed - at) - (feed[-1] == '\r'), &w);
    const char *value = feed + 1, *after = value;
    if (w.count < 5 || !word_is(&w.word[0], "set") || !word_u32(&w.word[4], &value_bytes)) {
        login_reply(out, "CLIENT_ERROR unauthenticated\r\n");
    } else if (value_bytes > LOGIN_VALUE_MAX) {
        login_reply(out, "CLIENT_ERROR auth token too long\r\n");
    } else if (value_bytes > PARSE_WAIT_MAX) {
        /* longer than any valid name and password */
        login_reply(out, login_try(b, s, value, value_bytes));
        out->flags = REQUEST_SWALLOW;
        out->value_bytes = value_bytes;
    } else if ((size_t)(end - value) < (size_t)value_bytes + 2) {
        return PARSE_MORE;
    } else {
        after = value + value_bytes + 2;
        login_reply(out, memcmp(after - 2, "\r\n", 2) != 0
                             ? "CLIENT_ERROR bad command line termination\r\n"
                         : memchr(value, ' ', value_bytes) == NULL
                             ? "CLIENT_ERROR bad authentication token format\r\n"
                             : login_try(b, s, value, value_bytes));
    }
    *count = 1;
    *next = (char *)(uintptr_t)after;
    return PARSED;
}

/* --- after the login --- */

/* True: a flag stores, touches, or wins the right to recache. */
static bool login_meta_get_writes(const struct request *r) {
    for (uint32_t i = 0; i < r->text_bytes; i++) {
        bool first = i == 0 || r->text[i - 1] == ' ';
        if (first && strchr("NTR", r->text[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool login_request_writes(const struct request *r) {
    switch ((enum verb)r->verb) {
    case VERB_GET:
    case VERB_GETS:
    case VERB_BINARY_GET:
    case VERB_BINARY_ANSWER:
    case VERB_META_DEBUG:
    case VERB_META_NOOP:
    case VERB_VERSION:
    case VERB_COMMAND: /* the table of commands checks the role */
    case VERB_BINARY_LOGIN:
    case VERB_REPLY:
    case VERB_CLOSE: return false;
    case VERB_META_GET: return login_meta_get_writes(r);
    case VERB_GAT:
    case VERB_GATS:
    case VERB_SET:
    case VERB_ADD:
    case VERB_REPLACE:
    case VERB_APPEND:
    case VERB_PREPEND:
    case VERB_CAS:
    case VERB_DELETE:
    case VERB_INCR:
    case VERB_DECR:
    case VERB_TOUCH:
    case VERB_BINARY_TOUCH:
    case VERB_BINARY_STORE:
    case VERB_BINARY_DELETE:
    case VERB_BINARY_ARITH:
    case VERB_META_SET:
    case VERB_META_DELETE:
    case VERB_META_ARITH: return true;
    }
    return true;
}

void login_guard(struct batch *b, const struct session *s, struct request *r, unsigned count) {
    if (s->role >= ROLE_WRITE) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!login_request_writes(&r[i])) {
            r[i].flags |= r[i].verb == VERB_META_GET ? REQUEST_READS_ONLY : 0;
            continue;
        }
        bool     to_come = verb_stores(r[i].verb) && r[i].value == NULL;
        uint8_t  binary = r[i].flags & REQUEST_BINARY;
        uint32_t value_bytes = r[i].value_bytes;
        /* a get line is one request a key, but is refused only once */
        bool     is_key = r[i].verb == VERB_GAT || r[i].verb == VERB_GATS;
        bool     counts = !is_key || (r[i].flags & REQUEST_END) != 0;
        if (binary) {
            r[i].verb = VERB_BINARY_ANSWER;
            r[i].number = BINARY_AUTH_ERROR;
        } else {
            bool mute = !counts || (r[i].flags & REQUEST_NOREPLY) != 0;
            login_reply(&r[i],
                        mute ? "" : "CLIENT_ERROR not allowed: this needs the role write\r\n");
        }
        r[i].flags = binary | (to_come ? REQUEST_SWALLOW : 0);
        r[i].value_bytes = to_come ? value_bytes : 0;
        if (counts) {
            BATCH_COUNT(b, role_refusals);
            users_log_refusal(&b->server->users, session_who(s),
                              "a request that needs the role write");
        }
    }
}
