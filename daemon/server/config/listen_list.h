/* The list of -l in memcached's form. Words before an address set the protocol and TLS of its
 * listener:
 *
 *     tag[NAME]:  or tag_NAME_:   a name of 1 to 8 characters; accepted without effect
 *     proto[PROTOCOL]:   ascii, binary or negotiating, instead of -B; the proxy's is refused
 *     notls:   no TLS, although -Z is given
 *     btls:    TLS; clients are not asked for a certificate
 *     mtls:    TLS; clients must show a certificate
 *
 * A role behind the address and a comma sets what its clients may do:
 *
 *     ADDRESS,role=ROLE       read, write or admin (server/auth/role.h) */
#ifndef SLATE_SERVER_CONFIG_LISTEN_LIST_H
#define SLATE_SERVER_CONFIG_LISTEN_LIST_H
#include <stdbool.h>

#include "server/auth/role.h"
#include "server/config/settings.h"

enum listen_tls {
    /* TLS if -Z is given; client certificates as in ssl_verify_mode */
    LISTEN_TLS_AS_SET,
    LISTEN_TLS_NONE,
    LISTEN_TLS_NO_PEER,
    LISTEN_TLS_PEER,
};

enum listen_protocol {
    LISTEN_PROTOCOL_AS_SET, /* the protocol of -B */
    LISTEN_PROTOCOL_AUTO,   /* the client's first byte decides */
    LISTEN_PROTOCOL_TEXT,
    LISTEN_PROTOCOL_BINARY,
};

struct listen_entry {
    char address[SETTING_LIST_BYTES]; /* without those words */
    enum listen_tls tls;
    enum listen_protocol protocol;
    enum role role; /* ROLE_NONE: not given */
};

/* Parses the next entry of a list shorter than SETTING_LIST_BYTES, and moves *list behind the
 * entry. Returns 1, or 0 at the end of the list, or -1 if a word is refused; then `why`
 * (SETTING_WHY_BYTES) holds a sentence. */
int listen_list_next(const char **list, struct listen_entry *, char *why);

/* Checks every entry of the list. `tls`: -Z is given. */
bool listen_list_check(const char *list, bool tls, char *why);

/* Whether a client of any listener is asked for a certificate. The list is good. */
bool listen_list_requests_certificates(const struct settings *);
#endif
