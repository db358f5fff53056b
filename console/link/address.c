#include "link/address.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int address_resolve_host(const struct address *address, int flags, struct endpoints *found) {
    *found = (struct endpoints){0};
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *info = NULL;
    int error = getaddrinfo(address->host, address->port, &hints, &info);
    if (error != 0) {
        snprintf(found->why, sizeof found->why, "%s", gai_strerror(error));
        return error;
    }
    for (const struct addrinfo *one = info; one != NULL && found->count < ENDPOINT_LIMIT;
         one = one->ai_next) {
        struct endpoint *endpoint = &found->list[found->count++];
        memcpy(&endpoint->socket_address, one->ai_addr, one->ai_addrlen);
        endpoint->bytes = one->ai_addrlen;
    }
    freeaddrinfo(info);
    return 0;
}

bool address_is_numeric(const struct address *address, struct endpoints *found) {
    if (address->is_path) {
        *found = (struct endpoints){.count = 1};
        struct sockaddr_un unix_address = {.sun_family = AF_UNIX};
        memcpy(unix_address.sun_path, address->host, strlen(address->host) + 1);
        memcpy(&found->list[0].socket_address, &unix_address, sizeof unix_address);
        found->list[0].bytes = sizeof unix_address;
        return true;
    }
    return address_resolve_host(address, AI_NUMERICHOST | AI_NUMERICSERV, found) == 0;
}

/* Writes the endpoints in one write, which fits the pipe. */
static void address_answer_endpoints(const void *of, int pipe_fd) {
    struct endpoints found;
    address_resolve_host(of, AI_NUMERICSERV, &found);
    size_t bytes = offsetof(struct endpoints, list) + (size_t)found.count * sizeof *found.list;
    ssize_t written = write(pipe_fd, &found, bytes);
    (void)written; /* the reader of a shorter answer reports a failed lookup */
}

bool lookup_begin_address(struct lookup *lookup, const struct address *address) {
    return lookup_begin(lookup, address_answer_endpoints, address);
}

bool lookup_begin(struct lookup *lookup, lookup_answer *answer, const void *of) {
    static const int handled[] = {SIGTERM, SIGHUP, SIGSEGV, SIGABRT, SIGQUIT};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t child = fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 ? fork() : -1;
    if (child == 0) { /* no terminal handlers, no shared state */
        for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
            signal(handled[i], SIG_DFL);
        }
        signal(SIGINT, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        answer(of, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return false;
    }
    *lookup = (struct lookup){.child = child, .pipe_fd = ends[0]};
    return true;
}

void lookup_end(struct lookup *lookup, struct endpoints *found) {
    ssize_t got = read(lookup->pipe_fd, found, sizeof *found);
    size_t least = offsetof(struct endpoints, list);
    if (got < (ssize_t)least || found->count > ENDPOINT_LIMIT ||
        (size_t)got != least + (size_t)found->count * sizeof *found->list) {
        *found = (struct endpoints){0};
        snprintf(found->why, sizeof found->why, "the name lookup failed");
    }
    lookup_cancel(lookup);
}

void lookup_cancel(struct lookup *lookup) {
    if (lookup->pipe_fd < 0) {
        return;
    }
    close(lookup->pipe_fd);
    kill(lookup->child, SIGKILL);
    waitpid(lookup->child, NULL, 0); /* a short wait: a killed child ends at once */
    *lookup = LOOKUP_NONE;
}
