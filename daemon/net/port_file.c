#include "net/port_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* The last first, as memcached does. */
static void write_tcp(FILE *f, const struct listener *l) {
    if (l != NULL) {
        write_tcp(f, l->next);
        if (l->port != 0) {
            fprintf(f, "TCP %s: %d\n", l->is_v6 ? "INET6" : "INET", l->port);
        }
    }
}

/* Once for the sockets of all workers. */
static void write_udp(FILE *f, const struct udp_socket *u) {
    if (u != NULL) {
        write_udp(f, u->next);
        if (u->next == NULL || u->next->port != u->port || u->next->is_v6 != u->is_v6) {
            fprintf(f, "UDP %s: %d\n", u->is_v6 ? "INET6" : "INET", u->port);
        }
    }
}

int port_file_write(const struct listener *list, const struct udp_socket *udp,
                    const char *path) {
    char draft[4096];
    if (snprintf(draft, sizeof draft, "%s.lck", path) >= (int)sizeof draft) {
        errno = ENAMETOOLONG;
        return -1;
    }
    FILE *f = fopen(draft, "we");
    if (f == NULL) {
        return -1;
    }
    write_tcp(f, list);
    write_udp(f, udp);
    bool bad = ferror(f) != 0;
    bad = fclose(f) != 0 || bad;
    if (bad || rename(draft, path) != 0) {
        int saved = errno;
        unlink(draft);
        errno = saved;
        return -1;
    }
    return 0;
}
