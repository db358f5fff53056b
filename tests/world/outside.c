/* Programs that this process starts run in real time, outside of the world. While the process waits for one, the world's
 * time follows real time, so that the program can talk to the world's servers. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.h"

enum { OUTPUTS_MAX = 16 };

struct child {
    pid_t pid;
    bool  ended;
    int   status;
};

static bool outside_has_ended(void *arg) {
    struct child *c = arg;
    c->ended = c->ended || waitpid(c->pid, &c->status, WNOHANG) != 0;
    return c->ended;
}

/* Reads the pipe until its other end is closed. The end is closed for processes that start while the child runs. */
static void outside_read_output(int from, int to, bool alone) {
    char bytes[4096];
    ssize_t n;
    struct pollfd fd = {.fd = from, .events = POLLIN};
    while ((alone || poll(&fd, 1, -1) > 0) && (n = read(from, bytes, sizeof bytes)) > 0 && write(to, bytes, (size_t)n) == n) {
    }
    close(from);
}

/* Runs a shell's command to its end; its standard output goes to `out`; -1: to ours. Returns its status as of waitpid, or
 * -1. */
static int outside_run(const char *command, int out) {
    char *words[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
    struct child c = {.status = -1};
    int ends[2] = {-1, -1};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (out >= 0 && pipe2(ends, O_CLOEXEC) == 0) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    }
    int error = posix_spawn(&c.pid, "/bin/sh", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        return -1;
    }
    bool alone = world_is_empty(); /* then no time passes */
    if (!alone) {
        world_goes_with_real_time(true);
    }
    if (out >= 0) {
        outside_read_output(ends[0], out, alone);
    }
    if (alone) {
        waitpid(c.pid, &c.status, 0);
        return c.status;
    }
    while (!outside_has_ended(&c)) {
        actor_wait(outside_has_ended, &c, WORLD_FOREVER);
    }
    world_goes_with_real_time(false);
    return c.status;
}

/* Lua takes a leftover errno for a failure. */
int system(const char *command) {
    int status = command == NULL ? 1 : outside_run(command, -1);
    errno = status != -1 ? 0 : errno;
    return status;
}

static struct {
    FILE *file;
    int   status;
} outputs[OUTPUTS_MAX];

/* A command that is read has ended when this returns. One that is written to must not be a client of the world's servers.
 * */
FILE *popen(const char *command, const char *how) {
    if (how[0] == 'w') {
        return REAL(popen)(command, how);
    }
    for (int i = 0; i < OUTPUTS_MAX; i++) {
        if (outputs[i].file == NULL) {
            int fd = memfd_create("output", MFD_CLOEXEC);
            outputs[i].status = outside_run(command, fd);
            lseek(fd, 0, SEEK_SET);
            return outputs[i].file = fdopen(fd, "r");
        }
    }
    errno = EMFILE;
    return NULL;
}

int pclose(FILE *file) {
    for (int i = 0; i < OUTPUTS_MAX; i++) {
        if (outputs[i].file == file) {
            outputs[i].file = NULL;
            fclose(file);
            errno = 0;
            return outputs[i].status;
        }
    }
    return REAL(pclose)(file);
}
