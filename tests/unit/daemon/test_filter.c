/* The filter of system calls: what a process can no longer do, and what serving needs. */
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

#include "serve/filter.h"
#include "tap.h"

enum { NO_FILTER = 77 };

/* A deed returns 0, or the errno it met. */
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

static int make_process_by_clone3(void) { return met(syscall(SYS_clone3, NULL, 0)); }

static int look_into_another(void) { return met(syscall(SYS_ptrace, PTRACE_ATTACH, getppid(), 0, 0)); }

static int read_memory_of_another(void) {
    return met(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
}

static int signal_another(void) { return met(syscall(SYS_kill, getppid(), SIGWINCH)); }

static int signal_own_group(void) { return met(syscall(SYS_kill, 0, SIGWINCH)); }

static int open_another(void) { return met(syscall(SYS_pidfd_open, getppid(), 0)); }

static int ask_whether_another_runs(void) { return met(syscall(SYS_kill, getppid(), 0)); }

static int make_socket(void) { return met(socket(AF_INET, SOCK_STREAM, 0)); }

static int make_packet_socket(void) { return met(socket(AF_PACKET, SOCK_RAW, 0)); }

static int make_local_socket(void) { return met(socket(AF_UNIX, SOCK_STREAM, 0)); }

static int change_user(void) { return met(syscall(SYS_setuid, getuid())); }

static int change_root(void) { return met(syscall(SYS_chroot, "/")); }

static int map(int access) {
    void *at = mmap(NULL, 4096, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? errno : 0;
}

static int map_data(void) { return map(PROT_READ | PROT_WRITE); }

static int map_code(void) { return map(PROT_READ | PROT_EXEC); }

static int make_data_code(void) {
    static _Alignas(4096) char page[4096];
    return met(mprotect(page, sizeof page, PROT_READ | PROT_EXEC));
}

static int name_thread(void) { return pthread_setname_np(pthread_self(), "filtered"); }

static int open_file(void) { return met(open("/dev/null", O_RDWR | O_CLOEXEC)); }

static void *thread_start(void *result) {
    *(int *)result = run_program();
    return result;
}

/* What the calls of a new thread meet. */
static int run_program_from_thread(void) {
    pthread_t thread;
    int       result = 0;
    int       failed = pthread_create(&thread, NULL, thread_start, &result);
    return failed ? -failed : (pthread_join(thread, NULL), result);
}

static pthread_barrier_t filtered;

static void *thread_waits(void *result) {
    pthread_barrier_wait(&filtered);
    *(int *)result = run_program();
    return result;
}

/* In a process of its own, for a filter stays: what the deed meets there. */
static int behind_filter(deed does, bool plugins) {
    int   status = 0;
    pid_t child = fork();
    if (child == 0) {
        const struct filter_needs needs = {.plugins = plugins};
        _exit(filter_system_calls(&needs) ? NO_FILTER : does());
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* The same, by a thread that ran before the filter came. */
static int old_thread_behind_filter(void) {
    int   status = 0;
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        int       result = 0;
        pthread_barrier_init(&filtered, NULL, 2);
        if (pthread_create(&thread, NULL, thread_waits, &result) != 0 ||
            filter_system_calls(&(struct filter_needs){.plugins = false}) != 0) {
            _exit(NO_FILTER);
        }
        pthread_barrier_wait(&filtered);
        pthread_join(thread, NULL);
        _exit(result);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_refused(void) {
    is(behind_filter(run_program, false), EPERM, "no other program is run");
    is(behind_filter(run_opened_program, false), EPERM, "… nor by a descriptor");
    is(behind_filter(run_program_from_thread, false), EPERM, "… nor by a thread that starts later");
    is(old_thread_behind_filter(), EPERM, "… nor by one that started before");
    is(behind_filter(make_process, false), EPERM, "no process is made");
    is(behind_filter(make_process_by_clone3, false), ENOSYS, "… nor by clone3, which libc takes as a kernel without");
    is(behind_filter(look_into_another, false), EPERM, "no other process is traced");
    is(behind_filter(read_memory_of_another, false), EPERM, "… nor its memory read");
    is(behind_filter(signal_another, false), EPERM, "… nor is it sent a signal");
    is(behind_filter(open_another, false), EPERM, "… nor had as a descriptor, by which it could be");
    is(behind_filter(signal_own_group, false), EPERM, "… nor is the process group");
    is(behind_filter(make_socket, false), EPERM, "no socket of the network is made");
    is(behind_filter(make_packet_socket, true), EPERM, "… and none of raw packets even for plugins");
    is(behind_filter(change_user, false), EPERM, "the user does not change");
    is(behind_filter(change_root, false), EPERM, "… nor the root folder");
    is(behind_filter(map_code, false), EPERM, "no memory is mapped that can be run");
    is(behind_filter(make_data_code, false), EPERM, "… nor does data become code");
}

static void test_allowed(void) {
    is(behind_filter(ask_whether_another_runs, false), 0, "whether the process of a pidfile runs is found");
    is(behind_filter(make_local_socket, false), 0, "the service manager is told by a local socket");
    is(behind_filter(map_data, false), 0, "memory is mapped");
    is(behind_filter(open_file, false), 0, "files are opened");
    is(behind_filter(name_thread, false), 0, "threads get names");
    is(behind_filter(make_socket, true), 0, "plugins of SASL make sockets");
    is(behind_filter(map_code, true), 0, "… and libraries are loaded for them");
}

int main(void) {
    if (behind_filter(name_thread, false) == NO_FILTER) {
        printf("1..0 # SKIP this system cannot filter system calls\n");
        return 0;
    }
    test_refused();
    test_allowed();
    return tap_done();
}
