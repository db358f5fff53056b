/* The filter of system calls: calls that fail under the filter, and calls that serving needs. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/process/syscall_filter.h"
#include "tap.h"

enum { NO_FILTER = 77 };

/* A deed returns 0, or its errno. */
typedef int (*deed)(void);

static int met(long result) { return result < 0 ? errno : 0; }

static int run_program(void) {
    char *const none[] = {NULL};
    return met(syscall(SYS_execve, "/bin/true", none, none));
}

static int run_opened_program(void) {
    char *const none[] = {NULL};
    return met(syscall(SYS_execveat, AT_FDCWD, "/bin/true", none, none, 0));
}

static int make_process(void) {
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        _exit(0);
    }
    return met(child);
}

static int map(int access) {
    void *at = mmap(NULL, 4096, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? errno : 0;
}

static int make_data_code(void) {
    static _Alignas(4096) char page[4096];
    return met(mprotect(page, sizeof page, PROT_READ | PROT_EXEC));
}

#define DEED(name, call) static int name(void) { return call; }
DEED(make_process_by_clone3, met(syscall(SYS_clone3, NULL, 0)))
DEED(look_into_another, met(syscall(SYS_ptrace, PTRACE_ATTACH, getppid(), 0, 0)))
DEED(read_memory_of_another, met(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0)))
DEED(signal_another, met(syscall(SYS_kill, getppid(), SIGWINCH)))
DEED(signal_own_group, met(syscall(SYS_kill, 0, SIGWINCH)))
DEED(open_another, met(syscall(SYS_pidfd_open, getppid(), 0)))
DEED(ask_whether_another_runs, met(syscall(SYS_kill, getppid(), 0)))
DEED(make_socket, met(socket(AF_INET, SOCK_STREAM, 0)))
DEED(make_packet_socket, met(socket(AF_PACKET, SOCK_RAW, 0)))
DEED(make_local_socket, met(socket(AF_UNIX, SOCK_STREAM, 0)))
DEED(change_user, met(syscall(SYS_setuid, getuid())))
DEED(change_root, met(syscall(SYS_chroot, "/")))
DEED(map_data, map(PROT_READ | PROT_WRITE))
DEED(map_code, map(PROT_READ | PROT_EXEC))
DEED(name_thread, pthread_setname_np(pthread_self(), "filtered"))
DEED(open_file, met(open("/dev/null", O_RDWR | O_CLOEXEC)))

static pthread_barrier_t filtered;

static void *run_program_once_filtered(void *result) {
    pthread_barrier_wait(&filtered);
    *(int *)result = run_program();
    return result;
}

static bool start_runner(pthread_t *thread, int *result) {
    return pthread_barrier_init(&filtered, NULL, 2) == 0 && pthread_create(thread, NULL, run_program_once_filtered, result) == 0;
}

/* The results of calls in a thread that starts under the filter. */
static int run_program_from_thread(void) {
    pthread_t thread;
    int       result = 0;
    if (!start_runner(&thread, &result)) {
        return NO_FILTER;
    }
    pthread_barrier_wait(&filtered);
    pthread_join(thread, NULL);
    return result;
}

/* Runs a deed under the filter in a child process, because a filter stays. Without a deed: a thread that ran before the filter was set. */
static int behind_filter(deed does, bool plugins) {
    int   status = 0;
    pid_t child = fork();
    if (child == 0) {
        const struct syscall_filter_needs needs = {.plugins = plugins};
        pthread_t thread;
        int       result = 0;
        if ((does == NULL && !start_runner(&thread, &result)) || syscall_filter_install(&needs) != 0) {
            _exit(NO_FILTER);
        }
        if (does == NULL) {
            pthread_barrier_wait(&filtered);
            pthread_join(thread, NULL);
        }
        _exit(does != NULL ? does() : result);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static const struct {
    deed        does;
    bool        plugins;
    int         meets;
    const char *claim;
} deeds[] = {
    {run_program, false, EPERM, "no other program is run"}, {run_opened_program, false, EPERM, "… nor by a descriptor"},
    {run_program_from_thread, false, EPERM, "… nor by a thread that starts later"}, {NULL, false, EPERM, "… nor by one that started before"},
    {make_process, false, EPERM, "no process is made"},
    {make_process_by_clone3, false, ENOSYS, "… nor by clone3, which libc takes as a kernel without"},
    {look_into_another, false, EPERM, "no other process is traced"}, {read_memory_of_another, false, EPERM, "… nor its memory read"},
    {signal_another, false, EPERM, "… nor is it sent a signal"}, {open_another, false, EPERM, "… nor had as a descriptor, by which it could be"},
    {signal_own_group, false, EPERM, "… nor is the process group"}, {make_socket, false, EPERM, "no socket of the network is made"},
    {make_packet_socket, true, EPERM, "… and none of raw packets even for plugins"}, {change_user, false, EPERM, "the user does not change"},
    {change_root, false, EPERM, "… nor the root folder"}, {map_code, false, EPERM, "no memory is mapped that can be run"},
    {make_data_code, false, EPERM, "… nor does data become code"},
    {ask_whether_another_runs, false, 0, "whether the process of a pidfile runs is found"},
    {make_local_socket, false, 0, "the service manager is told by a local socket"}, {map_data, false, 0, "memory is mapped"},
    {open_file, false, 0, "files are opened"}, {name_thread, false, 0, "threads get names"},
    {make_socket, true, 0, "plugins of SASL make sockets"}, {map_code, true, 0, "… and libraries are loaded for them"},
};

int main(void) {
    if (behind_filter(name_thread, false) == NO_FILTER) {
        printf("1..0 # SKIP this system cannot filter system calls\n");
        return 0;
    }
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        is(behind_filter(deeds[i].does, deeds[i].plugins), deeds[i].meets, "%s", deeds[i].claim);
    }
    return tap_done();
}
