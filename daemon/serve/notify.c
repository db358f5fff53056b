#include "serve/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

static void notify(const char *state) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (path == NULL || path[0] == '\0') {
        return;
    }
    size_t n = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || n >= sizeof to.sun_path) {
        log_warn("NOTIFY_SOCKET is no path of a socket: %.100s", path);
        return;
    }
    memcpy(to.sun_path, path, n);
    if (path[0] == '@') { /* a name outside of the file system */
        to.sun_path[0] = '\0';
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t to_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
                         to_bytes) < 0) {
        log_warn("cannot tell the service manager %s: %s", state, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
}

void notify_ready(void) { notify("READY=1"); }

void notify_main(int pid) {
    char state[32];
    snprintf(state, sizeof state, "MAINPID=%d", pid);
    notify(state);
}

void notify_stopping(void) { notify("STOPPING=1"); }
