#include "net/listen/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static int address_refuse(char *error, size_t error_bytes, const char *what, const char *entry,
                          size_t n) {
    snprintf(error, error_bytes, "%s: '%.*s'", what, (int)(n > 200 ? 200 : n), entry);
    return -1;
}

/* Splits entry[0..n) into a host and an optional port. */
static int address_parse_entry(const char *entry, size_t n, int default_port, struct address *a,
                               char *error, size_t error_bytes) {
    const char *host = entry, *port = NULL;
    size_t host_bytes = n, port_bytes = 0;
    const char *colon = memchr(entry, ':', n);
    if (entry[0] == '[') {
        const char *close = memchr(entry, ']', n);
        if (close == NULL || (close + 1 < entry + n && close[1] != ':')) {
            return address_refuse(error, error_bytes,
                                  "an address in brackets must be [ADDRESS] or [ADDRESS]:PORT",
                                  entry, n);
        }
        host = entry + 1;
        host_bytes = (size_t)(close - host);
        port = close + 1 < entry + n ? close + 2 : NULL;
    } else if (colon != NULL && memchr(colon + 1, ':', n - (size_t)(colon + 1 - entry)) == NULL) {
        host_bytes = (size_t)(colon - entry);
        port = colon + 1;
    }
    a->port = default_port;
    if (port != NULL) {
        port_bytes = (size_t)(entry + n - port);
        uint32_t number;
        if (port_bytes > 5 || !number_u32(port, port_bytes, &number) || number == 0 ||
            number > UINT16_MAX) {
            return address_refuse(error, error_bytes, "a port must be a number from 1 to 65535",
                                  port, port_bytes);
        }
        a->port = (int)number;
    }
    if (host_bytes == 0 || host_bytes >= sizeof a->host) {
        return address_refuse(error, error_bytes,
                              "a listen address needs a host name of at most 255 bytes", entry, n);
    }
    memcpy(a->host, host, host_bytes);
    a->host[host_bytes == 1 && host[0] == '*' ? 0 : host_bytes] = '\0';
    return 1;
}

int address_next(const char **list, int default_port, struct address *a, char *error,
                 size_t error_bytes) {
    const char *entry = *list + strspn(*list, ", ");
    size_t n = strcspn(entry, ", ");
    *list = entry + n;
    return n == 0 ? 0 : address_parse_entry(entry, n, default_port, a, error, error_bytes);
}

void address_show(const struct sockaddr *sa, const char *path, char *text, size_t text_bytes) {
    char host[INET6_ADDRSTRLEN] = "?";
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)sa;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(text, text_bytes, "tcp:%s:%u", host, ntohs(in->sin_port));
    } else if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)sa;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(text, text_bytes, "tcp6:[%s]:%u", host, ntohs(in6->sin6_port));
    } else {
        snprintf(text, text_bytes, "unix:%s", path);
    }
}

int address_port(const struct sockaddr *sa) {
    switch (sa->sa_family) {
    case AF_INET: return ntohs(((const struct sockaddr_in *)(const void *)sa)->sin_port);
    case AF_INET6: return ntohs(((const struct sockaddr_in6 *)(const void *)sa)->sin6_port);
    default: return 0;
    }
}

void address_set_port(struct sockaddr *sa, int port) {
    if (sa->sa_family == AF_INET6) {
        ((struct sockaddr_in6 *)(void *)sa)->sin6_port = htons((uint16_t)port);
    } else if (sa->sa_family == AF_INET) {
        ((struct sockaddr_in *)(void *)sa)->sin_port = htons((uint16_t)port);
    }
}

bool address_is_local(const struct sockaddr *sa) {
    switch (sa->sa_family) {
    case AF_UNIX: return true;
    case AF_INET: {
        const struct sockaddr_in *in = (const void *)sa;
        return ntohl(in->sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
    }
    case AF_INET6: {
        const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(in6) ||
               (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == IN_LOOPBACKNET);
    }
    default: return false;
    }
}
