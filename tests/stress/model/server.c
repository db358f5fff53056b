#include "server.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPTIONS_MAX = 40, START_TRIES = 6000, TRY_US = 10000 };

static void path_in(const struct server *s, const char *name, char to[100]) { snprintf(to, 100, "%s/%s", s->folder, name); }

static void run(const struct server *s, const char *program, char *const options[]) {
    char *words[OPTIONS_MAX] = {(char *)(uintptr_t)program, "-l", "127.0.0.1", "-p", "-1"}, port_file[100], log[100];
    unsigned n = 5;
    const struct passwd *me = getpwuid(getuid());
    if (getuid() == 0 && me != NULL) {
        words[n++] = "-u";
        words[n++] = me->pw_name;
    }
    for (unsigned i = 0; options[i] != NULL && n + 1 < OPTIONS_MAX; i++) {
        words[n++] = options[i];
    }
    path_in(s, "port", port_file);
    path_in(s, "log", log);
    setenv("MEMCACHED_PORT_FILENAME", port_file, 1);
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600), null = open("/dev/null", O_RDONLY);
    if (fd >= 0 && null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        close(fd);
        close(null);
        execvp(program, words);
        perror(program);
    }
    _exit(127);
}

static int port_of(const struct server *s) {
    char path[100];
    int port = 0;
    path_in(s, "port", path);
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        return 0;
    }
    if (fscanf(f, "TCP INET: %d", &port) != 1) {
        port = 0;
    }
    fclose(f);
    return port;
}

static void print_log(const struct server *s) {
    char path[100], line[400];
    path_in(s, "log", path);
    FILE *f = fopen(path, "r");
    for (unsigned i = 0; f != NULL && i < 100 && fgets(line, sizeof line, f) != NULL; i++) {
        printf("# server: %s", line);
    }
    if (f != NULL) {
        fclose(f);
    }
}

static void remove_folder(const struct server *s) {
    char path[100];
    path_in(s, "port", path);
    unlink(path);
    path_in(s, "log", path);
    unlink(path);
    rmdir(s->folder);
}

static int status_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

bool server_start(struct server *s, const char *program, char *const options[]) {
    const char *tmp = getenv("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%s/slate-model-XXXXXX", tmp != NULL && strlen(tmp) < 40 ? tmp : "/tmp");
    if (mkdtemp(s->folder) == NULL) {
        perror(s->folder);
        return false;
    }
    s->port = 0;
    s->pid = fork();
    if (s->pid == 0) {
        run(s, program, options);
    }
    int status = 0;
    for (unsigned i = 0; i < START_TRIES && s->port == 0 && waitpid(s->pid, &status, WNOHANG) == 0; i++) {
        usleep(TRY_US);
        s->port = port_of(s);
    }
    if (s->port == 0) {
        printf("# %s did not start, status %d\n", program, status_of(status));
        print_log(s);
        remove_folder(s);
    }
    return s->port != 0;
}

unsigned server_descriptors(const struct server *s) {
    char path[40];
    unsigned n = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)s->pid);
    DIR *d = opendir(path);
    for (const struct dirent *e = d != NULL ? readdir(d) : NULL; e != NULL; e = readdir(d)) {
        n += e->d_name[0] != '.';
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

int server_stop(struct server *s) {
    int status = 0;
    kill(s->pid, SIGTERM);
    waitpid(s->pid, &status, 0);
    if (status_of(status) != 0) {
        print_log(s);
    }
    remove_folder(s);
    return status_of(status);
}
