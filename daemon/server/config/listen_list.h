/* The list of -l as memcached writes it: each address may have words before it that say what it is
 * for.
 *
 *     tag[NAME]:  or tag_NAME_:   a name of 1 to 8 characters; taken and not used
 *     proto[PROTOCOL]:   ascii, binary or negotiating, whatever -B says; the proxy's is refused
 *     notls:   without TLS, where -Z is given
 *     btls:    with TLS, and no certificate of the client's is asked for
 *     mtls:    with TLS, and the client must show a certificate
 *
 * and, behind it and a comma, what its clients may do:
 *
 *     ADDRESS,role=ROLE       read, write or admin (server/auth/role.h) */
#ifndef SLATE_SERVER_CONFIG_LISTEN_LIST_H
#define SLATE_SERVER_CONFIG_LISTEN_LIST_H
#include <stdbool.h>

#include "server/auth/role.h"
#include "server/config/settings.h"

enum listen_tls {
    /* with -Z it speaks TLS, and asks for client certificates as ssl_verify_mode says */
    LISTEN_TLS_AS_SET,
    LISTEN_TLS_NONE,
    LISTEN_TLS_NO_PEER,
    LISTEN_TLS_PEER,
};

enum listen_protocol {
    LISTEN_PROTOCOL_AS_SET, /* as -B says */
    LISTEN_PROTOCOL_AUTO,   /* a client's first byte decides */
    LISTEN_PROTOCOL_TEXT,
    LISTEN_PROTOCOL_BINARY,
};

struct listen_entry {
    char address[SETTING_LIST_BYTES]; /* without those words */
    enum listen_tls tls;
    enum listen_protocol protocol;
    enum role role; /* ROLE_NONE: the list gives none */
};

/* Takes the next entry off a list shorter than SETTING_LIST_BYTES, and moves *rest behind it.
 * Returns 1, or 0 at the end of the list, or -1 if a word is refused; then `why`
 * (SETTING_WHY_BYTES) holds a sentence. */
int listen_list_next(const char **list, struct listen_entry *, char *why);

/* Whether every entry of the list is good. `tls`: -Z is given. */
bool listen_list_check(const char *list, bool tls, char *why);

/* Whether a client of any listener is asked for a certificate. The list is good. */
bool listen_list_requests_certificates(const struct settings *);
#endif
