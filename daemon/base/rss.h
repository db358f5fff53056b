/* How much memory the process has, and how much its control group allows.
 *
 * The files are opened once. Each later read costs a system call, none of which a filter of system
 * calls is likely to forbid. Control groups may be of either version. Facts that the system lacks
 * read as 0. Threading: one owner. Nothing here allocates or fails. */
#ifndef SLATE_BASE_RSS_H
#define SLATE_BASE_RSS_H
#include <stddef.h>
#include <stdint.h>

struct rss {
    int      statm_fd, current_fd, stat_fd, pressure_fd; /* -1: not there */
    const char *droppable_word; /* the word in stat_fd for files of the group that can be dropped */
    /* the lowest limit of our control group and those above it; 0: none */
    uint64_t group_limit_bytes;
};

/* `proc_self` and `groups` are folders; NULL: /proc/self and /sys/fs/cgroup. The limit is read
 * here, once. */
void rss_open(struct rss *, const char *proc_self, const char *groups);
void rss_close(struct rss *);

struct rss_reading {
    uint64_t bytes;       /* of the process */
    /* memory of its control group, without files that can be dropped; 0: no group */
    uint64_t group_bytes;
    /* part of the last ten seconds in which some process of the group waited for memory */
    double   pressure_pct;
};
void rss_read(const struct rss *, struct rss_reading *);

/* The control group's limit, without a struct; 0: none. */
uint64_t rss_group_limit_bytes(void);
/* Memory that the machine has; 0: not known. */
uint64_t rss_machine_bytes(void);
#endif
