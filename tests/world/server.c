#include "server.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actor.h"

struct world_server {
    void     *object;
    int     (*main)(int, char **);
    char    **words;
    int       log_fd, status;
    bool      ended, held;
    uint64_t  random; /* the seed's draw at its start */
    pthread_t thread;
    void    (*handlers[NSIG])(int);
};

/* The loader takes a file with the name or inode of a loaded one for the same object: each server has a copy of its own. */
static void *server_load(const char *path) {
    char name[256];
    const char *folder = getenv("TMPDIR");
    struct stat facts;
    void *object = NULL;
    snprintf(name, sizeof name, "%s/slated.XXXXXX", folder != NULL ? folder : "/tmp");
    int from = open(path, O_RDONLY | O_CLOEXEC), to = mkostemp(name, O_CLOEXEC);
    off_t at = 0;
    if (from >= 0 && to >= 0 && fstat(from, &facts) == 0) {
        while (at < facts.st_size && sendfile(to, from, &at, (size_t)(facts.st_size - at)) > 0) {
        }
        object = at == facts.st_size ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    }
    if (from >= 0) {
        close(from);
    }
    if (to >= 0) {
        close(to);
        unlink(name);
    }
    return object;
}

static void *server_main(void *arg) {
    struct world_server *s = arg;
    int count = 0;
    actor_self()->server = s;
    while (s->words[count] != NULL) {
        count++;
    }
    s->status = s->main(count, s->words);
    s->ended = true;
    return NULL;
}

struct world_server *world_server_start(char **taken_words, const char *log, const char **why) {
    struct world_server *s = calloc(1, sizeof *s);
    *why = NULL;
    s->words = taken_words;
    s->random = world_random();
    s->log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    s->object = server_load(taken_words[0]);
    if (s->object != NULL) {
        *(void **)&s->main = dlsym(s->object, "main");
    }
    if (s->log_fd < 0) {
        *why = "its log cannot be opened";
    } else if (s->main == NULL) {
        *why = dlerror();
        *why = *why != NULL ? *why : "its object cannot be read";
    } else if (actor_start(&s->thread, NULL, server_main, s) != 0) {
        *why = "it has no thread";
    }
    if (*why != NULL) {
        world_server_free(s);
        return NULL;
    }
    return s;
}

bool world_server_signal(struct world_server *s, int number) {
    void (*handler)(int) = !s->ended && number > 0 && number < NSIG ? s->handlers[number] : NULL;
    if (handler != NULL) {
        handler(number);
    }
    return handler != NULL;
}

void world_server_hold(struct world_server *s, bool held) { s->held = held; }

bool world_server_is_held(const struct world_server *s) { return s->held; }

bool world_server_ended(const struct world_server *s, int *status) {
    *status = s->status;
    return s->ended;
}

/* The object stays loaded where a sanitizer searches for leaks: memory that the object still pointed to would count, too.
 * */
void world_server_free(struct world_server *s) {
    if (s->ended) {
        actor_join(s->thread, NULL);
    }
#ifndef __SANITIZE_ADDRESS__
    if (s->object != NULL) {
        dlclose(s->object);
    }
#endif
    if (s->log_fd >= 0) {
        close(s->log_fd);
    }
    for (char **word = s->words; *word != NULL; word++) {
        free(*word);
    }
    free(s->words);
    free(s);
}

void world_server_handle(struct world_server *s, int number, void (*handler)(int)) { s->handlers[number] = handler; }

uint64_t world_server_random(struct world_server *s) { return world_random_step(&s->random); }

int world_server_log(const struct world_server *s) { return s->log_fd; }
