/* A server with the shim in a process and folder of its own, on a UNIX socket. */
#ifndef FAULTS_SERVER_H
#define FAULTS_SERVER_H
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control.h"
#include "notified.h"

enum { HANG_MS = TAP_HANG_MS, PATH_BYTES_MAX = 512, WORDS_MAX = 40 };

struct server {
    char  folder[64], socket[80], stderr_path[80];
    char  program[PATH_BYTES_MAX], shim[PATH_BYTES_MAX];
    struct fault_control *control;
    bool  on_tcp; /* listens on a free port of 127.0.0.1 instead */
    pid_t pid;    /* 0: none runs */
    int   status; /* of waitpid, after its end */
    bool  is_ready; /* its message that it serves, as to a service manager (sd_notify(3)) */
    int   process_fd, words_fd, files_fd; /* that it has ended; the socket of this message; inotify's, of its folder */
};

static const char *const call_names[FAULT_CALL_COUNT] = {
#define FAULT_NAME(name, ...) #name,
    FAULT_CALLS(FAULT_NAME)
#undef FAULT_NAME
};
static const int call_errors[FAULT_CALL_COUNT][FAULT_ERRORS] = {
#define FAULT_ERROR_ROW(name, ...) {__VA_ARGS__},
    FAULT_CALLS(FAULT_ERROR_ROW)
#undef FAULT_ERROR_ROW
};

__attribute__((format(printf, 1, 2), noreturn)) static inline void give_up(const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    printf("Bail out! ");
    vprintf(format, ap);
    printf("\n");
    exit(1);
}

/* The build that this program lies in has the server and the shim: build/faults/test_x, build/faults/shim.so, build/bin/slated. */
static inline void server_prepare(struct server *s) {
    char self[PATH_BYTES_MAX - 64];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    memset(s, 0, sizeof *s);
    if (n <= 0 || (self[n] = '\0', strrchr(self, '/') == NULL)) {
        give_up("cannot tell where this program is");
    }
    *strrchr(self, '/') = '\0';
    const char *given = getenv("SLATE_TEST_SERVER");
    snprintf(s->program, sizeof s->program, given ? "%s" : "%s/../bin/slated", given ? given : self);
    snprintf(s->shim, sizeof s->shim, "%s/shim.so", self);
    strcpy(s->folder, "/tmp/slate-faults-XXXXXX");
    if (access(s->program, X_OK) != 0 || access(s->shim, R_OK) != 0 || mkdtemp(s->folder) == NULL) {
        give_up("%s, %s or a folder in /tmp cannot be had", s->program, s->shim);
    }
    char control[80];
    snprintf(control, sizeof control, "%s/control", s->folder);
    snprintf(s->socket, sizeof s->socket, "%s/s", s->folder);
    snprintf(s->stderr_path, sizeof s->stderr_path, "%s/stderr", s->folder);
    int fd = open(control, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *mapped = fd >= 0 && ftruncate(fd, sizeof *s->control) == 0
                       ? mmap(NULL, sizeof *s->control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (mapped == MAP_FAILED) {
        give_up("cannot map %s", control);
    }
    close(fd);
    s->control = mapped;
    atomic_store(&s->control->call, FAULT_NONE);
    s->words_fd = notified_open();
    s->files_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (inotify_add_watch(s->files_fd, s->folder, IN_MODIFY) < 0) {
        give_up("cannot watch %s", s->folder);
    }
}

enum { CHOICES_MAX = 8, CHOICE_BYTES = 24, DESCRIBE_UNIT = 6 /* the column of --describe */ };

/* The words that an option may have, by the server's own --describe. */
static inline unsigned server_choices(const struct server *s, const char *option, char to[CHOICES_MAX][CHOICE_BYTES]) {
    char command[PATH_BYTES_MAX + 20], line[2000];
    unsigned n = 0;
    snprintf(command, sizeof command, "'%s' --describe", s->program);
    FILE *rows = popen(command, "r");
    while (rows != NULL && fgets(line, sizeof line, rows) != NULL) {
        char *rest = line, *field = NULL;
        if (strcmp(strsep(&rest, "\t"), option) != 0) {
            continue;
        }
        for (int column = 1; column <= DESCRIBE_UNIT; column++) {
            field = strsep(&rest, "\t");
        }
        for (char *word; n < CHOICES_MAX && (word = strsep(&field, "|")) != NULL; n++) {
            snprintf(to[n], CHOICE_BYTES, "%s", word);
        }
    }
    if (rows == NULL || pclose(rows) != 0 || n == 0) {
        give_up("%s does not tell what --%s may be", s->program, option);
    }
    return n;
}

/* A kind of index, by the seed, where any will do. */
static inline void server_choose_index(const struct server *s, uint64_t seed, char to[CHOICE_BYTES]) {
    char kinds[CHOICES_MAX][CHOICE_BYTES];
    unsigned n = server_choices(s, "index", kinds);
    strcpy(to, kinds[seed % n]);
    printf("# the index is %s\n", to);
}

static inline void server_finish(struct server *s) {
    static const char *const files[] = {"control", "s", "stderr", "pid", "moves", "ports"};
    char path[80];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", s->folder, files[i]);
        unlink(path);
    }
    rmdir(s->folder);
}

/* Starts the program with `options`, words parted by blanks. stderr goes to a file, or to the descriptor unless that is -1. Does not wait
 * until the server serves. */
static inline void server_spawn(struct server *s, const char *options, int stderr_fd) {
    char words[1024], *argv[WORDS_MAX] = {s->program, "-u", "root"}, control[80], ports[80];
    int argc = geteuid() == 0 ? 3 : 1;
    if (!s->on_tcp) {
        argv[argc++] = "-s";
        argv[argc++] = s->socket;
    }
    snprintf(words, sizeof words, "%s", options);
    for (char *word = strtok(words, " "); word && argc < WORDS_MAX - 1; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    snprintf(control, sizeof control, "%s/control", s->folder);
    snprintf(ports, sizeof ports, "%s/ports", s->folder);
    unlink(s->socket);
    unlink(ports);
    unlink(s->stderr_path); /* an earlier server's messages are not this one's */
    notified_ready(s->words_fd);
    s->is_ready = false;
    fflush(NULL);
    s->pid = fork();
    if (s->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing is left behind when the test is ended */
        int fd = stderr_fd >= 0 ? stderr_fd : open(s->stderr_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        dup2(fd, 2);
        setenv("SLATE_FAULTS", control, 1);
        if (s->on_tcp) {
            setenv("MEMCACHED_PORT_FILENAME", ports, 1);
        }
        setenv("LD_PRELOAD", s->shim, 1);
        setenv("MALLOC_PERTURB_", "165", 1); /* freed memory, and memory never written, has other bytes now */
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
        execv(s->program, argv);
        _exit(127);
    }
    if (s->pid < 0 || (s->process_fd = pidfd_open(s->pid, 0)) < 0) {
        give_up("cannot fork");
    }
}

/* True while the process runs. Afterwards its status is known. */
static inline bool server_runs(struct server *s) {
    if (s->pid != 0 && waitpid(s->pid, &s->status, WNOHANG) == s->pid) {
        s->pid = 0;
        close(s->process_fd);
    }
    return s->pid != 0;
}

/* Waits until the server sends a message, such as that it serves, or ends. False: the server hangs. */
static inline bool server_goes_on(struct server *s) {
    struct pollfd fds[] = {{.fd = s->process_fd, .events = POLLIN}, {.fd = s->words_fd, .events = POLLIN}, {.fd = s->files_fd, .events = POLLIN}};
    char events[4096];
    bool goes_on = poll(fds, 3, HANG_MS) > 0;
    s->is_ready = notified_ready(s->words_fd) || s->is_ready;
    while (read(s->files_fd, events, sizeof events) > 0) {
    }
    return goes_on;
}

/* Waits for the process to end by itself; one that does not is killed, and false says so. */
static inline bool server_ends(struct server *s) {
    bool ends = s->pid == 0 || tap_readable(s->process_fd);
    if (!ends) {
        kill(s->pid, SIGKILL);
        tap_readable(s->process_fd);
    }
    return !server_runs(s) && ends;
}

static inline bool server_ended_well(const struct server *s) { return WIFEXITED(s->status) && WEXITSTATUS(s->status) == 0; }

/* The server's stderr, with a NUL behind; valid until the next call. */
static inline const char *server_said(const struct server *s) {
    static char said[4096];
    int fd = open(s->stderr_path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, said, sizeof said - 1) : 0;
    if (fd >= 0) {
        close(fd);
    }
    said[n > 0 ? n : 0] = '\0';
    return said;
}

static inline bool server_has_said(const struct server *s, const char *text) { return strstr(server_said(s), text) != NULL; }

/* Waits until stderr has this text, or the server serves if text is NULL. False: it ends or hangs before. */
static inline bool server_comes_to(struct server *s, const char *text) {
    bool said = false;
    while (!(said = text != NULL ? server_has_said(s, text) : s->is_ready) && server_runs(s) && server_goes_on(s)) {
    }
    return said;
}

/* --- faults --- */

/* From now on: `skip` calls succeed, `most` fail. */
static inline void fault_arm(struct server *s, int call, int error, int64_t skip, int64_t most) {
    atomic_store(&s->control->call, FAULT_NONE);
    atomic_store(&s->control->error, error);
    atomic_store(&s->control->skip, skip);
    atomic_store(&s->control->most, most);
    atomic_store(&s->control->failed, 0);
    memset(s->control->from, 0, sizeof s->control->from);
    atomic_store(&s->control->call, call);
}

/* No call fails any more. Returns the number of failed calls. */
static inline uint64_t fault_disarm(struct server *s) {
    atomic_store(&s->control->call, FAULT_NONE);
    return atomic_load(&s->control->failed);
}

/* Prints the callers of the failed call, as diagnostics. */
static inline void fault_show(const struct server *s) {
    for (int i = 0; i < FAULT_FRAMES && s->control->from[i][0] != '\0'; i++) {
        char command[PATH_BYTES_MAX + 160], line[200] = "";
        const char *from = s->control->from[i], *offset = strchr(from, ' ');
        if (strncmp(from, "slated ", 7) == 0) {
            snprintf(command, sizeof command, "addr2line -fse %s%s 2>/dev/null | tr '\\n' ' '", s->program, offset);
            FILE *pipe = popen(command, "r");
            if (pipe != NULL) {
                if (fgets(line, sizeof line, pipe) == NULL) {
                    line[0] = '\0';
                }
                pclose(pipe);
            }
        }
        printf("#   from %s %s\n", from, line);
    }
}

/* --- a connection --- */

static inline int connected(int family, const void *at, socklen_t bytes) {
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, at, bytes) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* -1: no listener, or none yet. */
static inline int server_connect(const struct server *s) {
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char ports[80];
    int port = 0;
    if (!s->on_tcp) {
        strcpy(path.sun_path, s->socket);
        return connected(AF_UNIX, &path, sizeof path);
    }
    snprintf(ports, sizeof ports, "%s/ports", s->folder);
    FILE *file = fopen(ports, "re");
    if (file == NULL || fscanf(file, "TCP INET: %d", &port) != 1) {
        port = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    at.sin_port = htons((uint16_t)port);
    return port != 0 ? connected(AF_INET, &at, sizeof at) : -1;
}
#endif
