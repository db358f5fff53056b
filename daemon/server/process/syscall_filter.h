/* The filter of system calls (-o drop_privileges): once all is built the process keeps the calls
 * that serving takes, and no others.
 *
 * Refused are, among others: another program, a child process, a look into another process, sockets
 * of the network beyond those that are open, memory that is written and then run, another user. A
 * refused call returns EPERM and the server goes on: a call that this list lacks must not cost the
 * cache. The filter holds for every thread and cannot be taken away.
 *
 * Files stay open to the process's user: certificates, users and policies are read again while it
 * runs. libseccomp makes the filter (https://github.com/seccomp/libseccomp). */
#ifndef SLATE_SERVER_SYSCALL_FILTER_H
#define SLATE_SERVER_SYSCALL_FILTER_H
#include <stdbool.h>

/* Needs of a server beyond serving. */
struct syscall_filter_needs {
    /* plugins of SASL: libraries that are loaded late, and sockets of the network */
    bool plugins;
};

/* For all threads of the process. 0, or an errno with nothing changed: EINVAL where the kernel
 * cannot filter. */
int syscall_filter_install(const struct syscall_filter_needs *);
#endif
