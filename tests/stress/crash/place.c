/* A server in a folder of its own. */
#include "crash.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "notified.h"

static int words_fd, answers_fd[WAITS]; /* messages of servers that serve; eventfds, for batches with their replies */

/* The memory file is on a tmpfs where there is one. */
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

/* The server listens before it has adopted its items, and serves after that. */
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
