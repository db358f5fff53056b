#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_OF(number) TEXT(number)
#define TEXT(number)    #number

static bool input_is_descriptor(const char *path) {
    return strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           strncmp(path, "/proc/self/fd/", 14) == 0;
}

static const char *input_problem(int fd, const char *path, bool may_be_descriptor) {
    struct stat   facts;
    struct pollfd one = {.fd = fd, .events = POLLIN};
    if (fstat(fd, &facts) != 0) {
        return strerror(errno);
    }
    if (S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode)) {
        return NULL;
    }
    if (!may_be_descriptor || !input_is_descriptor(path)) {
        return "it is not a regular file";
    }
    if (poll(&one, 1, INPUT_FIRST_BYTE_S * 1000) <= 0) {
        return "no byte came within " TEXT_OF(INPUT_FIRST_BYTE_S) " s";
    }
    /* After the first byte a read may wait. */
    return fcntl(fd, F_SETFL, O_RDONLY) == 0 ? NULL : strerror(errno);
}

int input_open(const char *path, bool may_be_descriptor, const char **why) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *why = fd < 0 ? strerror(errno) : input_problem(fd, path, may_be_descriptor);
    if (fd >= 0 && *why) {
        close(fd);
        fd = -1;
    }
    return fd;
}
