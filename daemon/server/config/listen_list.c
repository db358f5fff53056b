#include "server/config/listen_list.h"

#include <stdio.h>
#include <string.h>

enum { TAG_BYTES_MAX = 8 };

static const char role_word[] = "role=";

static bool listen_text_begins(const char *text, const char *end, const char *word) {
    size_t n = strlen(word);
    return (size_t)(end - text) >= n && memcmp(text, word, n) == 0;
}

static const char *listen_refuse(char *why, const char *sentence) {
    snprintf(why, SETTING_WHY_BYTES, "%s", sentence);
    return NULL;
}

/* Skips `open` NAME `close`. NULL: `close` is missing, or NAME does not have 1 to TAG_BYTES_MAX
 * bytes. */
static const char *listen_skip_tag(const char *at, const char *end, const char *open,
                                   const char *close, char *why) {
    const char *name = at + strlen(open), *stop = name;
    while (stop < end && !listen_text_begins(stop, end, close)) {
        stop++;
    }
    bool is_named = stop < end && stop > name && stop - name <= TAG_BYTES_MAX;
    return is_named ? stop + strlen(close) : listen_refuse(why, "-l: a tag has 1 to 8 characters");
}

/* Skips one word before an address and stores its meaning. Returns `at` if there is no such word.
 * NULL: the word is refused, and `why` holds the reason. */
static const char *listen_skip_word(const char *at, const char *end, struct listen_entry *e,
                                    char *why) {
    static const char *const protocols[] = {[LISTEN_PROTOCOL_AUTO] = "proto[negotiating]:",
                                            [LISTEN_PROTOCOL_TEXT] = "proto[ascii]:",
                                            [LISTEN_PROTOCOL_BINARY] = "proto[binary]:"};
    static const char *const tls[] = {[LISTEN_TLS_NONE] = "notls:",
                                      [LISTEN_TLS_NO_PEER] = "btls:",
                                      [LISTEN_TLS_PEER] = "mtls:"};
    for (size_t i = LISTEN_PROTOCOL_AUTO; i < sizeof protocols / sizeof *protocols; i++) {
        if (listen_text_begins(at, end, protocols[i])) {
            e->protocol = (enum listen_protocol)i;
            return at + strlen(protocols[i]);
        }
    }
    for (size_t i = LISTEN_TLS_NONE; i < sizeof tls / sizeof *tls; i++) {
        if (listen_text_begins(at, end, tls[i])) {
            e->tls = (enum listen_tls)i;
            return at + strlen(tls[i]);
        }
    }
    if (listen_text_begins(at, end, "tag[")) {
        return listen_skip_tag(at, end, "tag[", "]:", why);
    }
    if (listen_text_begins(at, end, "tag_")) {
        return listen_skip_tag(at, end, "tag_", "_:", why);
    }
    if (listen_text_begins(at, end, "proto[")) {
        return listen_refuse(why, "-l: a listener speaks proto[ascii], proto[binary] or "
                                  "proto[negotiating]; there is no proxy");
    }
    return at;
}

/* Parses the role behind the address, which ends at *end. Moves *end behind the role, if there is
 * one. */
static bool listen_take_role(const char **end, struct listen_entry *e, char *why) {
    const char *word = *end + strspn(*end, ","), *stop = word + strcspn(word, ",");
    const char *name = word + strlen(role_word);
    if (!listen_text_begins(word, stop, role_word)) {
        return true;
    }
    *end = stop;
    return role_parse(name, (size_t)(stop - name), &e->role) ||
           listen_refuse(why, "-l: a role is read, write or admin") != NULL;
}

int listen_list_next(const char **list, struct listen_entry *e, char *why) {
    const char *at = *list + strspn(*list, ","), *end = at + strcspn(at, ",");
    if (at == end) {
        return 0;
    }
    e->tls = LISTEN_TLS_AS_SET;
    e->protocol = LISTEN_PROTOCOL_AS_SET;
    e->role = ROLE_NONE;
    if (listen_text_begins(at, end, role_word)) {
        listen_refuse(why, "-l: role= stands behind an address and a comma");
        return -1;
    }
    for (const char *next; (next = listen_skip_word(at, end, e, why)) != at; at = next) {
        if (!next) {
            return -1;
        }
    }
    if (at == end) {
        listen_refuse(why, "-l: an address is missing behind the words for it");
        return -1;
    }
    if (!listen_take_role(&end, e, why)) {
        return -1;
    }
    const char *stop = at + strcspn(at, ",");
    *list = end;
    /* an address is no longer than the list, which fits */
    memcpy(e->address, at, (size_t)(stop - at));
    e->address[stop - at] = '\0';
    return 1;
}

bool listen_list_check(const char *list, bool tls, char *why) {
    struct listen_entry e;
    int more;
    while ((more = listen_list_next(&list, &e, why)) > 0) {
        if (e.tls != LISTEN_TLS_AS_SET && !tls) {
            snprintf(why, SETTING_WHY_BYTES,
                     "-l: notls:, btls: and mtls: want -Z, without which nothing is encrypted");
            return false;
        }
    }
    return more == 0;
}

bool listen_list_requests_certificates(const struct settings *s) {
    const char *list = s->inter;
    char why[SETTING_WHY_BYTES];
    struct listen_entry e;
    bool wants = false;
    while (!wants && listen_list_next(&list, &e, why) > 0) {
        wants = e.tls == LISTEN_TLS_PEER || (e.tls == LISTEN_TLS_AS_SET && s->ssl_verify_mode != 0);
    }
    return wants && s->ssl_enabled && s->ssl_ca_cert != NULL;
}
