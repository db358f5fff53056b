#include "server.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "notified.h"

enum { OPTIONS_MAX = 40, LOG_LINES = 100 };

/* Does not return. The server ends with the client, however that ends. */
static void run(const struct server *s, const char *port_file, const char *program, char *const options[]) {
    char *words[OPTIONS_MAX] = {(char *)(uintptr_t)program, "-l", "127.0.0.1", "-p", "-1"};
    unsigned n = 5;
    const struct passwd *me = getpwuid(getuid());
    if (getuid() == 0 && me != NULL) {
        words[n++] = "-u";
        words[n++] = me->pw_name;
    }
    for (unsigned i = 0; options[i] != NULL && n + 1 < OPTIONS_MAX; i++) {
        words[n++] = options[i];
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("MEMCACHED_PORT_FILENAME", port_file, 1);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(fileno(s->log), STDOUT_FILENO);
        dup2(fileno(s->log), STDERR_FILENO);
        close(null);
        close(fileno(s->log));
        execvp(program, words);
        perror(program);
    }
    _exit(127);
}

static int port_in(const char *port_file) {
    int port = 0;
    FILE *f = fopen(port_file, "r");
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
    char line[400];
    rewind(s->log);
    for (unsigned i = 0; i < LOG_LINES && fgets(line, sizeof line, s->log) != NULL; i++) {
        printf("# server: %s", line);
    }
}

static int status_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

bool server_start(struct server *s, const char *program, char *const options[]) {
    const char *tmp = getenv("TMPDIR");
    char folder[80], port_file[100];
    snprintf(folder, sizeof folder, "%s/slate-model-XXXXXX", tmp != NULL && strlen(tmp) < 40 ? tmp : "/tmp");
    *s = (struct server){.log = tmpfile()};
    if (s->log == NULL || mkdtemp(folder) == NULL) {
        perror(folder);
        return false;
    }
    snprintf(port_file, sizeof port_file, "%s/port", folder);
    int words_fd = notified_open();
    s->pid = fork();
    if (s->pid == 0) {
        run(s, port_file, program, options);
    }
    int process_fd = s->pid > 0 ? pidfd_open(s->pid, 0) : -1;
    s->port = process_fd >= 0 && notified_await(words_fd, process_fd) ? port_in(port_file) : 0;
    close(process_fd);
    unlink(port_file);
    rmdir(folder);
    if (s->port == 0) {
        int status = 0;
        kill(s->pid, SIGKILL);
        waitpid(s->pid, &status, 0);
        printf("# %s did not start, status %d\n", program, status_of(status));
        print_log(s);
        fclose(s->log);
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
    fclose(s->log);
    return status_of(status);
}
