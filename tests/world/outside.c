/* Programs that this process starts run in real time, outside of the world. While it waits for one, the world's time goes
 * with the real one, so that the program can talk to the world's servers. */
#include <fcntl.h>
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

static bool has_ended(void *arg) {
    struct child *c = arg;
    c->ended = c->ended || waitpid(c->pid, &c->status, WNOHANG) != 0;
    return c->ended;
}

/* Runs a shell's command to its end; `out`: its standard output; -1: ours. Returns its status as of waitpid; -1. */
static int run(const char *command, int out) {
    char *words[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
    struct child c = {.status = -1};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (out >= 0) {
        posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    }
    int error = posix_spawn(&c.pid, "/bin/sh", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        return -1;
    }
    if (world_is_empty()) { /* no time passes */
        return waitpid(c.pid, &c.status, 0) == c.pid ? c.status : -1;
    }
    world_goes_with_real_time(true);
    while (!has_ended(&c)) {
        actor_wait(has_ended, &c, WORLD_FOREVER);
    }
    world_goes_with_real_time(false);
    return c.status;
}

int system(const char *command) { return command == NULL ? 1 : run(command, -1); }

static struct {
    FILE *file;
    int   status;
} outputs[OUTPUTS_MAX];

/* For reading alone: the command has ended when this returns. */
FILE *popen(const char *command, const char *how) {
    for (int i = 0; i < OUTPUTS_MAX && how[0] == 'r'; i++) {
        if (outputs[i].file == NULL) {
            int fd = memfd_create("output", MFD_CLOEXEC);
            outputs[i].status = run(command, fd);
            lseek(fd, 0, SEEK_SET);
            return outputs[i].file = fdopen(fd, "r");
        }
    }
    fprintf(stderr, "world: popen for writing, or of more than %d, is for a process of its own\n", OUTPUTS_MAX);
    return NULL;
}

int pclose(FILE *file) {
    for (int i = 0; i < OUTPUTS_MAX; i++) {
        if (outputs[i].file == file) {
            outputs[i].file = NULL;
            fclose(file);
            return outputs[i].status;
        }
    }
    return -1;
}
