#include "net/listen/bind_addresses.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "net/net_config.h"

/* True: clients of the listener prove their identity, or the options say that they need not. */
static bool bind_address_is_for_all(const struct net_config *cfg, bool with_login,
                                    const struct listen_entry *e) {
    const struct tls_config *tls = cfg->tls;
    bool certificate =
        tls != NULL && (e->tls == LISTEN_TLS_PEER || (e->tls == LISTEN_TLS_AS_SET &&
                                                      tls->verify_mode >= TLS_VERIFY_REQUIRED));
    return certificate || with_login || e->role != ROLE_NONE || cfg->open_to_all;
}

static struct bind_address *bind_address_add(struct bind_address ***end, const struct address *a,
                                             int type, const struct listen_entry *as) {
    struct bind_address *p = calloc(1, sizeof *p);
    if (p == NULL) {
        log_error("cannot listen on %s: %s", a->host, strerror(errno));
        return NULL;
    }
    p->address = *a;
    p->as = *as;
    p->at = (struct listen_place){.host = p->address.host, .port = a->port, .socket_type = type};
    **end = p;
    *end = &p->next;
    return p;
}

/* Finds the addresses of an entry, by TCP or UDP, with port `port` if the entry has none. False and
 * errno, after a log line. */
static bool bind_addresses_of_entry(const struct net_config *cfg, bool with_login,
                                    const struct listen_entry *as, int type,
                                    struct bind_address ***end) {
    const char *at = as->address;
    struct address a;
    char error[SETTING_WHY_BYTES];
    int more, port = type == SOCK_DGRAM ? cfg->udp_port : cfg->port;
    while ((more = address_next(&at, port, &a, error, sizeof error)) > 0) {
        struct bind_address *p;
        if (a.port == 0) {
            continue;
        }
        if ((p = bind_address_add(end, &a, type, as)) == NULL) {
            return false;
        }
        p->at.local_only = !bind_address_is_for_all(cfg, with_login, as);
        p->at.inherited = cfg->inherited;
        if ((p->found = listen_resolve(&p->at)) == NULL) {
            return false;
        }
    }
    if (more < 0) {
        log_error("cannot listen: %s", error);
        errno = EINVAL;
    }
    return more == 0;
}

bool bind_addresses_find(const struct net_config *cfg, bool with_login,
                         struct bind_address **list) {
    const char *entries = cfg->listen != NULL && cfg->listen[0] != '\0' ? cfg->listen : "127.0.0.1";
    struct bind_address **end = list;
    struct listen_entry entry;
    char error[SETTING_WHY_BYTES];
    int more;
    *list = NULL;
    if (cfg->unix_path != NULL) {
        return bind_path_is_usable(cfg->unix_path, "");
    }
    while ((more = listen_list_next(&entries, &entry, error)) > 0) {
        if (!bind_addresses_of_entry(cfg, with_login, &entry, SOCK_STREAM, &end) ||
            (cfg->udp_port != 0 &&
             !bind_addresses_of_entry(cfg, with_login, &entry, SOCK_DGRAM, &end))) {
            return false;
        }
    }
    if (more < 0) {
        log_error("cannot listen: %s", error);
        errno = EINVAL;
    }
    return more == 0;
}

void bind_addresses_free(struct bind_address **list) {
    while (*list != NULL) {
        struct bind_address *p = *list;
        *list = p->next;
        if (p->found != NULL) {
            freeaddrinfo(p->found);
        }
        free(p);
    }
}

/* --- for --check-config --- */

static bool bind_address_exists(const struct addrinfo *ai) {
    struct sockaddr_storage any_port;
    memcpy(&any_port, ai->ai_addr, ai->ai_addrlen);
    address_set_port((struct sockaddr *)&any_port, 0);
    return listen_may_bind(ai->ai_socktype, (struct sockaddr *)&any_port, ai->ai_addrlen);
}

bool bind_addresses_exist(const struct bind_address *p) {
    for (; p != NULL; p = p->next) {
        const struct addrinfo *ai = p->found;
        while (ai != NULL && !bind_address_exists(ai)) {
            ai = ai->ai_next;
        }
        if (ai == NULL) {
            listen_log_error(&p->at, errno);
            return false;
        }
    }
    return true;
}

/* --- UNIX sockets --- */

/* True: this process may make files in the folder of the path. */
static bool bind_may_make_file(const char *path) {
    char folder[sizeof((struct sockaddr_un *)0)->sun_path];
    snprintf(folder, sizeof folder, "%s", path);
    return faccessat(AT_FDCWD, dirname(folder), W_OK | X_OK, AT_EACCESS) == 0;
}

bool bind_path_is_usable(const char *path, const char *is_for) {
    struct stat there;
    if (strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path) {
        log_error("cannot listen%s on %s: the path of a UNIX socket has at most %zu bytes", is_for,
                  path, sizeof((struct sockaddr_un *)0)->sun_path - 1);
        errno = ENAMETOOLONG;
        return false;
    }
    bool is_there = lstat(path, &there) == 0;
    if (is_there && !S_ISSOCK(there.st_mode)) {
        log_error("cannot listen%s on %s: there is a file of that name, which is no socket", is_for,
                  path);
        errno = EADDRINUSE;
        return false;
    }
    if (!is_there && !bind_may_make_file(path)) {
        int saved = errno;
        log_error("cannot listen%s on %s: %s", is_for, path, strerror(saved));
        errno = saved;
        return false;
    }
    return true;
}
