#include "base/resident.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = 4096, TEXT_ROOM = 8192 };

/* The file's first bytes as a string; empty: there is no such file. */
static const char *read_fd(int fd, char text[TEXT_ROOM]) {
    ssize_t n = fd >= 0 ? pread(fd, text, TEXT_ROOM - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static int open_in(const char *folder, const char *name) {
    char path[PATH_ROOM];
    int  n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && n < PATH_ROOM ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

/* "max", like a file that is not there, is no limit. */
static uint64_t limit_in(const char *folder, const char *name) {
    char text[TEXT_ROOM];
    int  fd = open_in(folder, name);
    uint64_t bytes = strtoull(read_fd(fd, text), NULL, 10);
    if (fd >= 0) {
        close(fd);
    }
    return bytes;
}

/* The least of a group's limit and those of all above it. Cuts `folder` down to `root`. */
static uint64_t least_limit(char *folder, size_t root_bytes) {
    uint64_t least = 0;
    for (;;) {
        uint64_t bytes = limit_in(folder, "memory.max");
        least = bytes > 0 && (least == 0 || bytes < least) ? bytes : least;
        char *slash = strrchr(folder, '/');
        if (slash == NULL || slash < folder + root_bytes) {
            return least;
        }
        *slash = '\0';
    }
}

/* The path of our group, of version 2: the line "0::/path". Empty: there is none. */
static void group_path(const char *proc_self, char path[TEXT_ROOM]) {
    char text[TEXT_ROOM];
    int  fd = open_in(proc_self, "cgroup");
    const char *line = strstr(read_fd(fd, text), "0::/");
    if (fd >= 0) {
        close(fd);
    }
    size_t n = line != NULL && (line == text || line[-1] == '\n') ? strcspn(line + 3, "\n") : 0;
    memcpy(path, line + 3, n);
    path[n] = '\0';
}

void resident_open(struct resident *r, const char *proc_self, const char *groups) {
    char group[TEXT_ROOM], folder[PATH_ROOM];
    proc_self = proc_self != NULL ? proc_self : "/proc/self";
    groups = groups != NULL ? groups : "/sys/fs/cgroup";
    *r = (struct resident){open_in(proc_self, "statm"), -1, -1, -1, 0};
    group_path(proc_self, group);
    int n = snprintf(folder, sizeof folder, "%s%s", groups, strcmp(group, "/") != 0 ? group : "");
    if (group[0] == '\0' || n < 0 || n >= PATH_ROOM) {
        return;
    }
    r->current_fd = open_in(folder, "memory.current");
    r->stat_fd = open_in(folder, "memory.stat");
    r->pressure_fd = open_in(folder, "memory.pressure");
    r->group_limit_bytes = least_limit(folder, strlen(groups));
}

static void close_one(int *fd) {
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

void resident_close(struct resident *r) {
    close_one(&r->statm_fd);
    close_one(&r->current_fd);
    close_one(&r->stat_fd);
    close_one(&r->pressure_fd);
}

/* The number behind a word at the beginning of a line. */
static uint64_t number_of(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, word, n) == 0 && at[n] == ' ') {
            return strtoull(at + n, NULL, 10);
        }
    }
    return 0;
}

void resident_look(const struct resident *r, struct resident_now *now) {
    char text[TEXT_ROOM];
    uint64_t pages = 0;
    if (sscanf(read_fd(r->statm_fd, text), "%*u %" SCNu64, &pages) != 1) {
        pages = 0;
    }
    now->bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t all = strtoull(read_fd(r->current_fd, text), NULL, 10),
             files = number_of(read_fd(r->stat_fd, text), "inactive_file");
    now->group_bytes = all > files ? all - files : 0;
    const char *some = strstr(read_fd(r->pressure_fd, text), "some avg10=");
    now->pressure_pct = some != NULL ? strtod(some + strlen("some avg10="), NULL) : 0;
}

uint64_t resident_group_limit(void) {
    struct resident r;
    resident_open(&r, NULL, NULL);
    resident_close(&r);
    return r.group_limit_bytes;
}
