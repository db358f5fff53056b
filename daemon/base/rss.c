#include "base/rss.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

enum { PATH_ROOM = 4096, TEXT_ROOM = 8192 };

/* The file's first bytes as a string; empty: there is no such file. */
static const char *rss_read_fd(int fd, char text[TEXT_ROOM]) {
    ssize_t n = fd >= 0 ? pread(fd, text, TEXT_ROOM - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static int rss_open_in(const char *folder, const char *name) {
    char path[PATH_ROOM];
    int  n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && n < PATH_ROOM ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

static const char *rss_read_file(const char *folder, const char *name, char text[TEXT_ROOM]) {
    int fd = rss_open_in(folder, name);
    rss_read_fd(fd, text);
    if (fd >= 0) {
        close(fd);
    }
    return text;
}

/* The names that each version of control groups uses. In version 1 each controller has a tree of
 * its own, and "no limit" is a number that no machine reaches. */
struct group_version {
    const char *root;  /* folder of the tree, below the folder of groups */
    /* beyond the first the kernel kills the group, beyond the second it slows the group down */
    const char *limits[2];
    const char *current, *droppable_word;
};
static const struct group_version versions[] = {
    {"", {"memory.max", "memory.high"}, "memory.current", "inactive_file"},
    {"/memory", {"memory.limit_in_bytes", NULL}, "memory.usage_in_bytes", "total_inactive_file"},
};
enum { GROUP_LIMIT_BITS = 62 }; /* a limit of more bits is none */

/* A group's limit. "max" is no limit, and neither is a file that is not there. */
static uint64_t rss_limit_in(const char *folder, const char *name) {
    char text[TEXT_ROOM];
    uint64_t bytes;
    number_digits(rss_read_file(folder, name, text), 10, &bytes);
    return bytes >> GROUP_LIMIT_BITS == 0 ? bytes : 0;
}

/* The lowest limit of a group and all groups above it. Cuts `folder` down to `root`. */
static uint64_t rss_least_limit(char *folder, size_t root_bytes, const char *const names[2]) {
    uint64_t least = 0;
    for (;;) {
        for (unsigned i = 0; i < 2 && names[i] != NULL; i++) {
            uint64_t bytes = rss_limit_in(folder, names[i]);
            least = bytes > 0 && (least == 0 || bytes < least) ? bytes : least;
        }
        char *slash = strrchr(folder, '/');
        if (slash == NULL || slash < folder + root_bytes) {
            return least;
        }
        *slash = '\0';
    }
}

/* Whether "memory" is one of the words of a list with commas. */
static bool rss_has_memory(const char *list, size_t bytes) {
    static const char word[] = "memory";
    for (const char *at = list; at + sizeof word - 1 <= list + bytes; at++) {
        const char *end = at + sizeof word - 1;
        if ((at == list || at[-1] == ',') && (end == list + bytes || *end == ',') &&
            memcmp(at, word, sizeof word - 1) == 0) {
            return true;
        }
    }
    return false;
}

/* Finds the path of our group for memory. A line "5:memory:/path" is of version 1, "0::/path" of
 * version 2; if both are there, version 1 has memory. NULL: there is no group. */
static const struct group_version *rss_group_path(const char *proc_self, char path[TEXT_ROOM]) {
    char text[TEXT_ROOM];
    const struct group_version *found = NULL;
    for (const char *line = rss_read_file(proc_self, "cgroup", text); *line != '\0';) {
        size_t bytes = strcspn(line, "\n");
        const char *first = memchr(line, ':', bytes),
                   *second = first != NULL
                                 ? memchr(first + 1, ':', (size_t)(line + bytes - first - 1))
                                 : NULL;
        bool second_version = second != NULL && second == first + 1,
             first_version =
                 second != NULL && rss_has_memory(first + 1, (size_t)(second - first - 1));
        if (second != NULL && (first_version || (second_version && found == NULL))) {
            size_t n = (size_t)(line + bytes - second - 1);
            memcpy(path, second + 1, n);
            path[n] = '\0';
            found = &versions[first_version];
        }
        line += bytes + (line[bytes] == '\n');
    }
    return found;
}

/* Finds our group's folder. Within a container the path may be the machine's, and the folder the
 * root. False: there is none. */
static bool rss_group_folder(const struct group_version *v, const char *groups, const char *path,
                             char folder[PATH_ROOM]) {
    int n = snprintf(folder, PATH_ROOM, "%s%s%s", groups, v->root,
                     strcmp(path, "/") != 0 ? path : "");
    if (n > 0 && n < PATH_ROOM && access(folder, F_OK) != 0) {
        n = snprintf(folder, PATH_ROOM, "%s%s", groups, v->root);
    }
    return n > 0 && n < PATH_ROOM;
}

void rss_open(struct rss *r, const char *proc_self, const char *groups) {
    char path[TEXT_ROOM], folder[PATH_ROOM];
    proc_self = proc_self != NULL ? proc_self : "/proc/self";
    groups = groups != NULL ? groups : "/sys/fs/cgroup";
    *r = (struct rss){rss_open_in(proc_self, "statm"), -1, -1, -1, NULL, 0};
    const struct group_version *v = rss_group_path(proc_self, path);
    if (v == NULL || !rss_group_folder(v, groups, path, folder)) {
        return;
    }
    r->droppable_word = v->droppable_word;
    r->current_fd = rss_open_in(folder, v->current);
    r->stat_fd = rss_open_in(folder, "memory.stat");
    r->pressure_fd = rss_open_in(folder, "memory.pressure");
    r->group_limit_bytes = rss_least_limit(folder, strlen(groups) + strlen(v->root), v->limits);
}

void rss_close(struct rss *r) {
    int *const fds[] = {&r->statm_fd, &r->current_fd, &r->stat_fd, &r->pressure_fd};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
        }
        *fds[i] = -1;
    }
}

/* The number behind a word that begins a line. */
static uint64_t rss_number_after(const char *text, const char *word) {
    size_t n = strlen(word);
    uint64_t number;
    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, word, n) == 0 && at[n] == ' ') {
            number_digits(at + n + 1, 10, &number);
            return number;
        }
    }
    return 0;
}

void rss_read(const struct rss *r, struct rss_reading *now) {
    char text[TEXT_ROOM];
    uint64_t pages = 0, all;
    if (sscanf(rss_read_fd(r->statm_fd, text), "%*u %" SCNu64, &pages) != 1) {
        pages = 0;
    }
    now->bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    number_digits(rss_read_fd(r->current_fd, text), 10, &all);
    uint64_t files = r->droppable_word != NULL
                         ? rss_number_after(rss_read_fd(r->stat_fd, text), r->droppable_word)
                         : 0;
    now->group_bytes = all > files ? all - files : 0;
    const char *some = strstr(rss_read_fd(r->pressure_fd, text), "some avg10=");
    now->pressure_pct = some != NULL ? strtod(some + strlen("some avg10="), NULL) : 0;
}

uint64_t rss_group_limit_bytes(void) {
    struct rss r;
    rss_open(&r, NULL, NULL);
    rss_close(&r);
    return r.group_limit_bytes;
}

uint64_t rss_machine_bytes(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}
