/* Allowed by name: the calls of libc, OpenSSL, libevent and jemalloc while the server serves and
 * stops. A name that this machine's architecture lacks is skipped. */
#include "server/process/syscall_filter.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *const allowed[] = {
    /* connections */
    "accept", "accept4", "getpeername", "getsockname", "getsockopt", "recv", "recvfrom", "recvmmsg",
    "recvmsg", "send", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", "socketpair",
    /* connect: to the service manager; listen: when the next process waits at the takeover
     * socket */
    "connect", "listen",
    /* waiting */
    "clock_gettime", "clock_gettime64", "clock_nanosleep", "clock_nanosleep_time64", "epoll_create",
    "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait", "epoll_pwait2", "epoll_wait",
    "eventfd", "eventfd2", "futex", "futex_time64", "futex_waitv", "gettimeofday", "nanosleep",
    "pipe", "pipe2", "poll", "ppoll", "ppoll_time64", "restart_syscall", "select", "pselect6",
    "time", "timerfd_create", "timerfd_settime", "timerfd_settime64",
    /* files */
    "_llseek", "access", "chdir", "chmod", "close", "close_range", "creat", "dup", "dup2", "dup3",
    "faccessat", "faccessat2", "fadvise64", "fallocate", "fchmod", "fcntl", "fcntl64", "fdatasync",
    "flock",
    "fstat", "fstat64", "fstatat64", "fstatfs", "fsync", "ftruncate", "ftruncate64", "getcwd",
    "getdents", "getdents64", "ioctl", "lseek", "lstat", "lstat64", "newfstatat", "open", "openat",
    "pread64", "pwrite64", "read", "readlink", "readlinkat", "readv", "rename", "renameat",
    "renameat2", "stat", "stat64", "statfs", "statx", "umask", "unlink", "unlinkat", "write",
    "writev",
    /* memory; mmap and mprotect have rules below */
    "brk", "madvise", "membarrier", "memfd_create", "mincore", "mlock", "mlock2", "mlockall",
    "mremap", "munlock", "msync", "munlockall", "munmap",
    /* threads; clone has a rule below */
    "arch_prctl", "exit", "exit_group", "get_robust_list", "getcpu", "gettid", "rseq",
    "sched_getaffinity", "sched_getparam", "sched_getscheduler", "sched_setaffinity",
    "sched_yield", "set_robust_list", "set_tid_address", "sigaltstack",
    /* signals, to this process alone by a rule below */
    "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait",
    "sigreturn",
    /* needs a descriptor of the other process. The filter lets no thread open one; the kernel gives
     * one of a successor that has connected */
    "pidfd_send_signal",
    /* facts about this process */
    "getegid", "getegid32", "geteuid", "geteuid32", "getgid", "getgid32", "getpid", "getppid",
    "getpriority", "getrandom", "getrlimit", "getrusage", "getuid", "getuid32", "prlimit64",
    "setpriority", "setrlimit", "sysinfo", "ugetrlimit", "uname",
};

/* Allows the call if the argument with this number passes the comparison. */
static int filter_allow_if(scmp_filter_ctx filter, int call, unsigned argument,
                           enum scmp_compare how, scmp_datum_t a, scmp_datum_t b) {
    struct scmp_arg_cmp compared = {.arg = argument, .op = how, .datum_a = a, .datum_b = b};
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &compared);
}

/* Architectures name some calls that others lack: libseccomp numbers those below zero. */
static int filter_allow_names(scmp_filter_ctx filter) {
    int failed = 0;
    for (size_t i = 0; failed == 0 && i < sizeof allowed / sizeof *allowed; i++) {
        int number = seccomp_syscall_resolve_name(allowed[i]);
        if (number >= 0) {
            failed = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
        }
    }
    return failed;
}

/* Allows threads, but no process. The flags of clone3 are in memory, which no filter can read:
 * after ENOSYS libc calls clone instead. */
static int filter_allow_threads(scmp_filter_ctx filter) {
    int failed =
        filter_allow_if(filter, SCMP_SYS(clone), 0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD);
    if (failed == 0) {
        failed = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    }
    /* Threads have names. */
    return failed ? failed
                  : filter_allow_if(filter, SCMP_SYS(prctl), 0, SCMP_CMP_EQ, PR_SET_NAME, 0);
}

static int filter_allow_signals_to_self(scmp_filter_ctx filter) {
    scmp_datum_t self = (scmp_datum_t)getpid();
    int          failed = filter_allow_if(filter, SCMP_SYS(kill), 0, SCMP_CMP_EQ, self, 0);
    failed = failed ? failed : filter_allow_if(filter, SCMP_SYS(tgkill), 0, SCMP_CMP_EQ, self, 0);
    /* Signal 0 tests whether the process of an old pidfile runs. */
    return failed ? failed : filter_allow_if(filter, SCMP_SYS(kill), 1, SCMP_CMP_EQ, 0, 0);
}

static int filter_allow_memory(scmp_filter_ctx filter, bool plugins) {
    scmp_datum_t run = plugins ? 0 : PROT_EXEC;
    int          failed = filter_allow_if(filter, SCMP_SYS(mmap), 2, SCMP_CMP_MASKED_EQ, run, 0);
    failed =
        failed ? failed : filter_allow_if(filter, SCMP_SYS(mmap2), 2, SCMP_CMP_MASKED_EQ, run, 0);
    return failed ? failed
                  : filter_allow_if(filter, SCMP_SYS(mprotect), 2, SCMP_CMP_MASKED_EQ, run, 0);
}

static int filter_allow_sockets(scmp_filter_ctx filter, bool plugins) {
    return plugins ? filter_allow_if(filter, SCMP_SYS(socket), 0, SCMP_CMP_LE, AF_NETLINK, 0)
                   : filter_allow_if(filter, SCMP_SYS(socket), 0, SCMP_CMP_EQ, AF_UNIX, 0);
}

int syscall_filter_install(const struct syscall_filter_needs *needs) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter) {
        return ENOMEM;
    }
    int failed = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    /* A binary tree: in a list the last call would cost some hundred comparisons. */
    failed = failed ? failed : seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    failed = failed ? failed : filter_allow_names(filter);
    failed = failed ? failed : filter_allow_threads(filter);
    failed = failed ? failed : filter_allow_signals_to_self(filter);
    failed = failed ? failed : filter_allow_memory(filter, needs->plugins);
    failed = failed ? failed : filter_allow_sockets(filter, needs->plugins);
    failed = failed ? failed : seccomp_load(filter);
    seccomp_release(filter);
    return -failed;
}
