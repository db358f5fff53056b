#include "act/audit.h"

#include "facts/poll_clock.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCK_TRIES = 20, LOCK_PAUSE_MS = 5 };

const char *audit_who(void) {
    static char who[AUDIT_WHO_BYTES];
    char host[AUDIT_WHO_BYTES / 2] = "";
    const char *user = getenv("USER"), *name = getenv("LOGNAME");
    const struct passwd *account = user == NULL && name == NULL ? getpwuid(getuid()) : NULL;
    gethostname(host, sizeof host - 1);
    snprintf(who, sizeof who, "%.60s@%s",
             user != NULL      ? user
             : name != NULL    ? name
             : account != NULL ? account->pw_name
                               : "",
             host);
    return who;
}

int audit_open(const char *path) {
    return path[0] != '\0' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
}

void audit_make_folders(const char *path) {
    char folder[AUDIT_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = folder; (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        mkdir(folder, 0700); /* it may exist; the file's open reports errors */
        *slash = '/';
    }
}

int audit_open_locked(const char *path) {
    audit_make_folders(path);
    int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
    /* slatectl holds the lock for some milliseconds; the screen waits no longer than that. */
    int tries = 0;
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && tries++ < LOCK_TRIES) {
        clock_wait(NULL, 0, clock_ms() + LOCK_PAUSE_MS);
    }
    return fd;
}

char *audit_tail(int fd, size_t *bytes) {
    struct stat info;
    char *text =
        fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? malloc(AUDIT_TAIL_BYTES) : NULL;
    if (text == NULL) {
        return NULL;
    }
    off_t from = info.st_size > AUDIT_TAIL_BYTES ? info.st_size - AUDIT_TAIL_BYTES : 0;
    ssize_t got = pread(fd, text, AUDIT_TAIL_BYTES, from);
    *bytes = got > 0 ? (size_t)got : 0;
    char *newline = from > 0 ? memchr(text, '\n', *bytes) : NULL;
    if (newline != NULL) { /* the text begins within a line */
        *bytes -= (size_t)(newline + 1 - text);
        memmove(text, newline + 1, *bytes);
    }
    return text;
}
