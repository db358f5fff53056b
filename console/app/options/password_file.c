#include "app/options/password_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Cuts the role off "user:password:role". */
static void password_cut_role(char *line) {
    static const char *const roles[] = {"read", "write", "admin"};
    char *last = strrchr(line, ':');
    for (size_t i = 0; last != strchr(line, ':') && i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(last + 1, roles[i]) == 0) {
            *last = '\0';
            return;
        }
    }
}

/* The longest wait for a FIFO or a terminal; <(command) is a FIFO. */
enum { FIRST_BYTE_MS = 30000 };

/* On failure NULL and errno. */
static FILE *open_file(const char *path) {
    struct stat facts;
    struct pollfd one = {.events = POLLIN};
    int fd = one.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return NULL;
    }
    bool may_wait = fstat(fd, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
    if (may_wait && poll(&one, 1, FIRST_BYTE_MS) == 0) {
        close(fd);
        errno = ETIMEDOUT;
        return NULL;
    }
    fcntl(fd, F_SETFL, O_RDONLY);
    return fdopen(fd, "r");
}

bool password_file_read(const char *path, char out[CREDENTIALS_MOST + 1], char *why,
                        size_t why_bytes) {
    char line[CREDENTIALS_MOST + 2] = "";
    errno = 0;
    FILE *file = open_file(path);
    bool is_read = file != NULL && fgets(line, sizeof line, file) != NULL;
    int error = errno;
    if (file != NULL) {
        fclose(file);
    }
    size_t bytes = strcspn(line, "\r\n");
    bool is_complete = bytes < CREDENTIALS_MOST;
    line[bytes] = '\0';
    password_cut_role(line);
    char *colon = strchr(line, ':');
    if (!is_read || !is_complete || colon == NULL || colon == line || colon[1] == '\0' ||
        strchr(line, ' ') != NULL) {
        if (is_read) {
            snprintf(why, why_bytes,
                     "the first line of %.80s is not user:password of at most 249 bytes", path);
        } else {
            snprintf(why, why_bytes, "cannot read the password in %.80s: %s", path,
                     error != 0 ? strerror(error) : "it is empty");
        }
        return false;
    }
    *colon = ' ';
    memcpy(out, line, strlen(line) + 1);
    memset(line, 0, sizeof line);
    return true;
}
