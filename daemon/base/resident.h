/* How much memory the system has given the process, and how much its control group allows.
 *
 * The files behind it are opened once: later reads cost a system call each, and none of those that
 * a filter of system calls may forbid. Control groups are of either version. What is not there
 * reads as 0.
 * Threading: one owner. Nothing here allocates or fails. */
#ifndef SLATE_BASE_RESIDENT_H
#define SLATE_BASE_RESIDENT_H
#include <stddef.h>
#include <stdint.h>

struct resident {
    int      statm_fd, current_fd, stat_fd, pressure_fd; /* -1: not there */
    const char *droppable_word; /* of stat_fd: files of the group that can be dropped */
    uint64_t group_limit_bytes; /* the least that a control group above us allows; 0: none */
};

/* `proc_self` and `groups` are folders: /proc/self and /sys/fs/cgroup, NULL for these. The limit is
 * read now. */
void resident_open(struct resident *, const char *proc_self, const char *groups);
void resident_close(struct resident *);

struct resident_now {
    uint64_t bytes;       /* of the process */
    uint64_t group_bytes; /* of its control group, without files that can be dropped; 0: none */
    double   pressure_pct; /* of the last ten seconds: some process waited for memory */
};
void resident_look(const struct resident *, struct resident_now *);

/* What the control group allows, without a struct; 0: nothing is said. */
uint64_t resident_group_limit(void);
#endif
