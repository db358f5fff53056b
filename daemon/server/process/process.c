#include "server/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/input.h"
#include "base/log.h"
#include "watch/watcher.h"

static int ready_fd = -1; /* the pipe on which the parent waits */

/* --- stdio --- */

int process_stdio(void) {
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0) {
        log_error("cannot open /dev/null: %s", strerror(errno)); /* is seen where stderr is open */
        return EX_OSERR;
    }
    close(fd);
    return 0;
}

/* --- the next process --- */

static char   program_path[PATH_MAX];
static char **next_argv; /* NULL: out of memory */

void process_save_argv(char **argv) {
    static char word[] = "--takeover";
    size_t count = 0;
    bool there = false;
    ssize_t n = readlink("/proc/self/exe", program_path, sizeof program_path - 1);
    program_path[n > 0 ? n : 0] = '\0';
    for (; argv[count] != NULL; count++) {
        there = there || strcmp(argv[count], word) == 0;
    }
    next_argv = calloc(count + 2, sizeof *next_argv);
    for (size_t i = 0; next_argv != NULL && i < count; i++) {
        next_argv[i] = strdup(argv[i]);
    }
    if (next_argv != NULL && !there) {
        next_argv[count] = word;
    }
}

int process_start_next(void) {
    posix_spawnattr_t attr;
    sigset_t none;
    pid_t child = 0;
    sigemptyset(&none);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    int error = next_argv != NULL
                    ? posix_spawn(&child, program_path, NULL, &attr, next_argv, environ)
                    : ENOMEM;
    posix_spawnattr_destroy(&attr);
    if (error != 0) {
        log_error("cannot start the next process, %s: %s", program_path, strerror(error));
        return 0;
    }
    log_info("process %d is started to take over", (int)child);
    return (int)child;
}

/* --- limits --- */

/* stdio, the event loops, the pidfile */
enum { DESCRIPTORS_OTHERS = 16 };

/* The number of files that the server opens besides its connections. */
static rlim_t process_own_files(const struct settings *s) {
    return process_descriptors_reserved((unsigned)s->threads) + WATCHERS_MAX + DESCRIPTORS_OTHERS;
}

bool process_descriptors_allow(const struct settings *s, char *why) {
    struct rlimit limit;
    rlim_t want = (rlim_t)s->maxconns + process_own_files(s);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        snprintf(why, SETTING_WHY_BYTES, "cannot read the limit of open files: %s",
                 strerror(errno));
        return false;
    }
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= want) {
        return true;
    }
    limit.rlim_cur = want;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < want) {
        limit.rlim_max = want; /* only root may raise it */
    }
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        snprintf(why, SETTING_WHY_BYTES,
                 "cannot open %lu files at once (%s): give a smaller -c, or start as root",
                 (unsigned long)want, strerror(errno));
        return false;
    }
    return true;
}

bool process_descriptors_fit(struct settings *s, char *why) {
    struct rlimit limit;
    if (process_descriptors_allow(s, why)) {
        return true;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < (rlim_t)s->maxconns ||
        limit.rlim_max <= process_own_files(s)) {
        return false;
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return false;
    }
    int fit = (int)(limit.rlim_max - process_own_files(s));
    log_warn("at most %d connections, not %d: the process may open %lu files", fit, s->maxconns,
             (unsigned long)limit.rlim_max);
    s->maxconns = fit;
    return true;
}

static int process_raise_core_limit(void) {
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY}, was;
    if (setrlimit(RLIMIT_CORE, &limit) == 0) {
        return 0;
    }
    if (getrlimit(RLIMIT_CORE, &was) == 0) {
        was.rlim_cur = was.rlim_max;
        if (was.rlim_max != 0 && setrlimit(RLIMIT_CORE, &was) == 0) {
            return 0;
        }
    }
    log_error("cannot lift the limit of core files (-r): %s", strerror(errno));
    return EX_OSERR;
}

int process_limits(struct settings *s) {
    char why[SETTING_WHY_BYTES];
    int status = 0;
    if (!process_descriptors_fit(s, why)) {
        log_error("%s", why);
        status = EX_OSERR;
    } else if (s->coredumps) {
        status = process_raise_core_limit();
    }
    if (s->lock_memory) {
        /* Raised while still root. If refused, process_lock_memory reports the error. */
        setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    }
    return status;
}

/* --- user --- */

int process_drop_root(const struct settings *s) {
    if (getuid() != 0 && geteuid() != 0) {
        return 0;
    }
    if (!s->user || !*s->user) {
        fprintf(stderr,
                "slated: must add '-u root' to start as root, or better -u with another user\n");
        return EX_USAGE;
    }
    errno = 0;
    const struct passwd *to = getpwnam(s->user);
    if (!to) {
        fprintf(stderr, "slated: can't find the user %s to switch to\n", s->user);
        return EX_NOUSER;
    }
    if (to->pw_uid == 0) {
        return 0;
    }
    if (initgroups(s->user, to->pw_gid) != 0 || setgid(to->pw_gid) != 0 ||
        setuid(to->pw_uid) != 0) {
        log_error("cannot become user %s: %s", s->user, strerror(errno));
        return EX_OSERR;
    }
    return 0;
}

/* --- policies --- */

const char *process_policy_dir(const struct settings *s, char *to, size_t room) {
    static const char *const places[] = {"share/lua/5.4/slate/policies", "../lua/slate/policies"};
    char program[1024];
    if (s->policy_dir) {
        return s->policy_dir;
    }
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    for (int strip = 0; strip < 2; strip++) { /* bin/slated */
        char *slash = strrchr(program, '/');
        if (!slash) {
            return NULL;
        }
        *slash = '\0';
    }
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        if ((size_t)snprintf(to, room, "%s/%s", program, places[i]) < room &&
            access(to, X_OK) == 0) {
            return to;
        }
    }
    return NULL;
}

/* --- background --- */

/* Waits until the child writes a byte. If the child ends without one, its exit status is
 * returned. */
static int process_await_child(pid_t child, int fd) {
    char    word;
    ssize_t n;
    do {
        n = read(fd, &word, 1);
    } while (n < 0 && errno == EINTR);
    if (n == 1) {
        return 0;
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : EX_SOFTWARE;
}

int process_background(const struct settings *s, bool *parent) {
    int fds[2];
    *parent = false;
    if (!s->daemonize || getenv("NOTIFY_SOCKET")) {
        return 0;
    }
    if (pipe2(fds, O_CLOEXEC) != 0) {
        log_error("cannot go into the background: %s", strerror(errno));
        return EX_OSERR;
    }
    pid_t child = fork();
    if (child < 0) {
        log_error("cannot go into the background: %s", strerror(errno));
        close(fds[0]);
        close(fds[1]);
        return EX_OSERR;
    }
    if (child > 0) {
        *parent = true;
        close(fds[1]);
        int status = process_await_child(child, fds[0]);
        close(fds[0]);
        return status;
    }
    close(fds[0]);
    ready_fd = fds[1];
    setsid();
    return 0;
}

static bool process_path_is_relative(const char *path) { return path && *path != '/'; }

void process_ready(const struct settings *s) {
    if (ready_fd < 0) {
        return;
    }
    /* A server in the root folder blocks no unmount. But a core file is written to the folder of
     * the start, and relative paths are used again: removed at the end, or opened by the next
     * process. */
    if (!s->coredumps && !process_path_is_relative(s->socketpath) &&
        !process_path_is_relative(s->pidfile) && !process_path_is_relative(s->policy_dir) &&
        !process_path_is_relative(s->automove_record) &&
        !process_path_is_relative(s->memory_file) &&
        !process_path_is_relative(s->takeover_socket) && chdir("/") != 0) {
        log_warn("cannot leave the current folder: %s", strerror(errno));
    }
    int null = s->verbosity > 0 ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        log_sync(); /* lines so far go to the terminal that started the server */
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        if (null > STDERR_FILENO) {
            close(null);
        }
    }
    if (write(ready_fd, "+", 1) != 1) {
        log_warn("the parent process did not wait for the start");
    }
    close(ready_fd);
    ready_fd = -1;
}

/* Drops read-only segments only: a written segment would lose its contents. */
static int process_drop_segments(struct dl_phdr_info *object, size_t bytes, void *arg) {
    (void)bytes, (void)arg;
    const uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t from = (object->dlpi_addr + part->p_vaddr) & ~(page_bytes - 1);
        if (part->p_type == PT_LOAD && (part->p_flags & PF_W) == 0) {
            madvise((void *)from, object->dlpi_addr + part->p_vaddr + part->p_memsz - from,
                    MADV_DONTNEED);
        }
    }
    return 0;
}

void process_drop_start_pages(void) { dl_iterate_phdr(process_drop_segments, NULL); }

void process_lock_memory(const struct settings *s) {
    /* On fault: the address space is reserved so that the cache can grow, and mostly unused. */
    if (s->lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) {
        log_warn("cannot lock memory (-k): %s", strerror(errno));
    }
}

/* --- pidfile --- */

static long process_read_pidfile(const char *path) {
    long  pid = 0;
    const char *why;
    char  text[32] = "";
    int   fd = input_open(path, false, &why);
    if (fd >= 0) {
        ssize_t got = read(fd, text, sizeof text - 1);
        close(fd);
        pid = got > 0 ? strtol(text, NULL, 10) : 0;
    }
    return pid;
}

/* True also for a process of another user, which kill() refuses to signal. */
static bool process_runs(long pid) { return kill((pid_t)pid, 0) == 0 || errno == EPERM; }

void process_pidfile_write(const char *path, int predecessor) {
    char temporary[4096];
    long other = process_read_pidfile(path);
    if (other > 0 && other != (long)getpid() && other != predecessor && process_runs(other)) {
        log_warn("the pidfile %s names a process that runs: %ld", path, other);
    }
    /* Written to another name and renamed: a reader never sees half a file. */
    if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= (int)sizeof temporary) {
        log_warn("cannot write the pidfile: its name is too long");
        return;
    }
    FILE *file = fopen(temporary, "we");
    bool  written = file && fprintf(file, "%ld\n", (long)getpid()) > 0;
    if (file) {
        written = fclose(file) == 0 && written;
    }
    if (!written || rename(temporary, path) != 0) {
        log_warn("cannot write the pidfile %s: %s", path, strerror(errno));
        unlink(temporary);
    }
}

void process_pidfile_remove(const char *path) {
    if (process_read_pidfile(path) == (long)getpid() && unlink(path) != 0) {
        log_warn("cannot remove the pidfile %s: %s", path, strerror(errno));
    }
}

/* --- the service manager --- */

void process_notify(const char *state) {
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
        log_warn("cannot report %s to the service manager: %s", state, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
}
