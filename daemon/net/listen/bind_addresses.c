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

/* Whether clients of the listener prove who they are, or need not by the options. */
static bool is_for_all(const struct net_config *cfg, bool with_login,
                       const struct listen_entry *e) {
    const struct tls_config *tls = cfg->tls;
    bool certificate =
        tls != NULL && (e->tls == LISTEN_TLS_PEER || (e->tls == LISTEN_TLS_AS_SET &&
                                                      tls->verify_mode >= TLS_VERIFY_REQUIRED));
    return certificate || with_login || e->role != ROLE_NONE || cfg->open_to_all;
}

static struct place *add_place(struct place ***end, const struct address *a, int type,
                               const struct listen_entry *as) {
    struct place *p = calloc(1, sizeof *p);
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

/* The addresses of an entry, by TCP or UDP, with port `port` if the entry names none. False and
 * errno, after a log line. */
static bool find_some(const struct net_config *cfg, bool with_login, const struct listen_entry *as,
                      int type, struct place ***end) {
    const char *at = as->address;
    struct address a;
    char error[SETTING_WHY_BYTES];
    int more, port = type == SOCK_DGRAM ? cfg->udp_port : cfg->port;
    while ((more = address_next(&at, port, &a, error, sizeof error)) > 0) {
        struct place *p;
        if (a.port == 0) {
            continue;
        }
        if ((p = add_place(end, &a, type, as)) == NULL) {
            return false;
        }
        p->at.local_only = !is_for_all(cfg, with_login, as);
        p->at.handed = cfg->handed;
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

bool places_find(const struct net_config *cfg, bool with_login, struct place **list) {
    const char *rest = cfg->listen != NULL && cfg->listen[0] != '\0' ? cfg->listen : "127.0.0.1";
    struct place **end = list;
    struct listen_entry entry;
    char error[SETTING_WHY_BYTES];
    int more;
    *list = NULL;
    if (cfg->unix_path != NULL) {
        return places_take_socket(cfg->unix_path, "");
    }
    while ((more = listen_list_next(&rest, &entry, error)) > 0) {
        if (!find_some(cfg, with_login, &entry, SOCK_STREAM, &end) ||
            (cfg->udp_port != 0 && !find_some(cfg, with_login, &entry, SOCK_DGRAM, &end))) {
            return false;
        }
    }
    if (more < 0) {
        log_error("cannot listen: %s", error);
        errno = EINVAL;
    }
    return more == 0;
}

void places_free(struct place **list) {
    while (*list != NULL) {
        struct place *p = *list;
        *list = p->next;
        if (p->found != NULL) {
            freeaddrinfo(p->found);
        }
        free(p);
    }
}

/* --- what only a check looks at --- */

static bool is_here(const struct addrinfo *ai) {
    struct sockaddr_storage any_port;
    memcpy(&any_port, ai->ai_addr, ai->ai_addrlen);
    address_set_port((struct sockaddr *)&any_port, 0);
    return listen_may_bind(ai->ai_socktype, (struct sockaddr *)&any_port, ai->ai_addrlen);
}

bool places_are_here(const struct place *p) {
    for (; p != NULL; p = p->next) {
        const struct addrinfo *ai = p->found;
        while (ai != NULL && !is_here(ai)) {
            ai = ai->ai_next;
        }
        if (ai == NULL) {
            listen_failed(&p->at, errno);
            return false;
        }
    }
    return true;
}

/* --- UNIX sockets --- */

/* Whether this process may make files in the folder of the path. */
static bool may_make(const char *path) {
    char folder[sizeof((struct sockaddr_un *)0)->sun_path];
    snprintf(folder, sizeof folder, "%s", path);
    return faccessat(AT_FDCWD, dirname(folder), W_OK | X_OK, AT_EACCESS) == 0;
}

bool places_take_socket(const char *path, const char *is_for) {
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
    if (!is_there && !may_make(path)) {
        int saved = errno;
        log_error("cannot listen%s on %s: %s", is_for, path, strerror(saved));
        errno = saved;
        return false;
    }
    return true;
}
