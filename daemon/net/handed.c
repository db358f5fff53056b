#include "net/handed.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/address.h"

bool handed_add(struct handed *h, const int *taken_fds, unsigned count) {
    if (h->count + count > h->room) {
        unsigned room = h->count + count;
        int *longer = realloc(h->fds, room * sizeof *longer);
        if (longer == NULL) {
            for (unsigned i = 0; i < count; i++) {
                close(taken_fds[i]);
            }
            return false;
        }
        h->room = room;
        h->fds = longer;
    }
    memcpy(h->fds + h->count, taken_fds, count * sizeof *taken_fds);
    h->count += count;
    return true;
}

bool handed_keep(struct handed *h, int fd) {
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy >= 0 && handed_add(h, &copy, 1);
}

static bool is_at(int fd, int type, const struct sockaddr *wanted) {
    struct sockaddr_storage has = {0}, wants = {0};
    socklen_t bytes = sizeof has, type_bytes = sizeof(int);
    int its_type = 0;
    char texts[2][160];
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &its_type, &type_bytes) != 0 || its_type != type ||
        getsockname(fd, (struct sockaddr *)&has, &bytes) != 0 ||
        has.ss_family != wanted->sa_family) {
        return false;
    }
    if (has.ss_family == AF_UNIX) {
        return strcmp(((struct sockaddr_un *)&has)->sun_path,
                      ((const struct sockaddr_un *)(const void *)wanted)->sun_path) == 0;
    }
    memcpy(&wants, wanted, has.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                     : sizeof(struct sockaddr_in));
    if (address_port(wanted) == 0) {
        address_set_port((struct sockaddr *)&has, 0);
    }
    address_show((struct sockaddr *)&has, "", texts[0], sizeof texts[0]);
    address_show((struct sockaddr *)&wants, "", texts[1], sizeof texts[1]);
    return strcmp(texts[0], texts[1]) == 0;
}

int handed_take(struct handed *h, int type, const struct sockaddr *wanted) {
    for (unsigned i = 0; h != NULL && i < h->count; i++) {
        if (is_at(h->fds[i], type, wanted)) {
            int fd = h->fds[i];
            h->fds[i] = h->fds[--h->count];
            return fd;
        }
    }
    return -1;
}

void handed_end(struct handed *h) {
    while (h->count > 0) {
        close(h->fds[--h->count]);
    }
    free(h->fds);
    *h = (struct handed){0};
}
