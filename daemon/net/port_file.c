#include "net/port_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

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
    for (; list != NULL; list = list->next) {
        if (list->port != 0) {
            fprintf(f, "TCP %s: %d\n", list->is_v6 ? "INET6" : "INET", list->port);
        }
    }
    for (; udp != NULL; udp = udp->next) {
        if (udp->next == NULL || udp->next->port != udp->port || udp->next->is_v6 != udp->is_v6) {
            fprintf(f, "UDP %s: %d\n", udp->is_v6 ? "INET6" : "INET", udp->port);
        }
    }
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
