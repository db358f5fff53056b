/* A server in a folder of its own, and connections to it. */
#include "crash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "notified.h"

enum { ANSWER_S = 60 };

static int words_fd, answers_fd[WAITS]; /* of servers that serve; eventfds, of batches that were answered */

/* The memory file is to be in memory where it can. */
void place_make(struct place *p, const char *program, bool roomy) {
    const char *folder = getenv("TMPDIR"), *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : folder;
    *p = (struct place){.program = program, .roomy = roomy};
    folder = folder != NULL ? folder : "/tmp";
    snprintf(p->file, sizeof p->file, "%s/slate-crash-%ld-memory", memory != NULL ? memory : "/tmp", (long)getpid());
    snprintf(p->socket, sizeof p->socket, "%s/slate-crash-%ld.s", folder, (long)getpid());
    snprintf(p->log, sizeof p->log, "%s/slate-crash-%ld.log", folder, (long)getpid());
    place_clear(p);
}

void place_clear(struct place *p) {
    unlink(p->file);
    unlink(p->socket);
    unlink(p->log);
}

static pid_t run(struct place *p) {
    pid_t pid = fork();
    if (pid == 0) {
        int log = open(p->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        dup2(log, STDERR_FILENO);
        dup2(log, STDOUT_FILENO);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (p->crash_at != NULL) {
            setenv("SLATED_CRASH_AT", p->crash_at, 1);
        }
        /* the values are chains then, from 16 KB on; as root a user must be named */
        execl(p->program, p->program, "-v", "-t", "4", "-s", p->socket, "-e", p->file, "-m", p->roomy ? "192" : "24", "-I", "512k", "-o",
              "slab_chunk_max=16,slab_geometry_rate=100", geteuid() == 0 ? "-u" : NULL, "root", (char *)NULL);
        _exit(127);
    }
    return pid;
}

/* It listens before it has taken up its items, and serves after that. */
bool place_start(struct place *p) {
    unlink(p->socket);
    if (words_fd == 0) {
        words_fd = notified_open();
        answers_fd[MAIN_WAITS] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        answers_fd[OPERATOR_WAITS] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    for (eventfd_t old; eventfd_read(answers_fd[MAIN_WAITS], &old) == 0 || eventfd_read(answers_fd[OPERATOR_WAITS], &old) == 0;) {
    }
    notified_ready(words_fd);
    p->pid = run(p);
    p->process_fd = p->pid > 0 ? pidfd_open(p->pid, 0) : -1;
    return p->process_fd >= 0 && notified_await(words_fd, p->process_fd);
}

bool place_has_crashed(struct place *p, int wait_ms) {
    int status;
    if (p->pid > 0 && poll(&(struct pollfd){.fd = p->process_fd, .events = POLLIN}, 1, wait_ms) > 0) {
        waitpid(p->pid, &status, 0);
        close(p->process_fd);
        p->pid = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : -1;
    }
    return p->pid == 0;
}

void place_work(const struct place *p, enum waits who, uint64_t batches) {
    struct pollfd fds[] = {{.fd = p->process_fd, .events = POLLIN}, {.fd = answers_fd[who], .events = POLLIN}};
    for (eventfd_t sum = 0, some; sum < batches && poll(fds, 2, TAP_HANG_MS) > 0 && fds[0].revents == 0; sum += some) {
        eventfd_read(answers_fd[who], &some);
    }
}

void place_answered(uint64_t batches) {
    eventfd_write(answers_fd[MAIN_WAITS], batches);
    eventfd_write(answers_fd[OPERATOR_WAITS], batches);
}

void place_kill(struct place *p, int signal) {
    if (p->pid > 0) {
        kill(p->pid, signal);
        waitpid(p->pid, NULL, 0);
        close(p->process_fd);
        p->pid = 0;
    }
}

bool wire_open(struct wire *w, const struct place *p) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = ANSWER_S};
    memcpy(at.sun_path, p->socket, sizeof p->socket);
    w->at = w->end = 0;
    w->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (w->fd < 0 || connect(w->fd, (struct sockaddr *)&at, sizeof at) != 0) {
        wire_close(w);
        return false;
    }
    setsockopt(w->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return true;
}

void wire_close(struct wire *w) {
    if (w->fd >= 0) {
        close(w->fd);
    }
    w->fd = -1;
}

bool wire_send(struct wire *w, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t sent = send(w->fd, bytes, n, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool more(struct wire *w) {
    memmove(w->bytes, w->bytes + w->at, w->end - w->at);
    w->end -= w->at;
    w->at = 0;
    ssize_t got = recv(w->fd, w->bytes + w->end, sizeof w->bytes - w->end, 0);
    w->end += got > 0 ? (size_t)got : 0;
    return got > 0;
}

bool wire_line(struct wire *w, char *line, size_t room) {
    for (;;) {
        char *end = memchr(w->bytes + w->at, '\n', w->end - w->at);
        if (end != NULL) {
            size_t n = (size_t)(end - (w->bytes + w->at)), text = n > 0 && end[-1] == '\r' ? n - 1 : n;
            text = text < room ? text : room - 1;
            memcpy(line, w->bytes + w->at, text);
            line[text] = '\0';
            w->at += n + 1;
            return true;
        }
        if (!more(w)) {
            return false;
        }
    }
}

bool wire_bytes(struct wire *w, char *to, size_t n) {
    while (n > 0) {
        size_t here = w->end - w->at < n ? w->end - w->at : n;
        memcpy(to, w->bytes + w->at, here);
        w->at += here;
        to += here;
        n -= here;
        if (n > 0 && !more(w)) {
            return false;
        }
    }
    return true;
}

bool wire_has_ended(const struct wire *w) {
    char byte;
    ssize_t got = recv(w->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
}

bool wire_ask(struct wire *w, const char *command, char *answer, size_t room) {
    return wire_send(w, command, strlen(command)) && wire_line(w, answer, room);
}
