#include "simulate/trace_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

struct trace_bytes {
    gzFile file;     /* of zlib, which reads plain bytes too; NULL: through a pipe */
    int    pipe_fd;  /* what zstd writes */
    pid_t  unpacker; /* 0: it has ended, */
    bool   failed;   /* with this */
};

bool trace_bytes_are_zstd(const char *bytes, size_t n) {
    static const char magic[] = {'\x28', '\xb5', '\x2f', '\xfd'};
    return n >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

/* Whether the file is one that can be looked at without being read, and zstd has packed it. */
static bool is_zstd(int fd) {
    char first[4];
    off_t at = lseek(fd, 0, SEEK_CUR);
    return at >= 0 && pread(fd, first, sizeof first, at) == sizeof first &&
           trace_bytes_are_zstd(first, sizeof first);
}

/* Starts zstd between the file and a pipe. Returns an error number, 0: none. */
static int start(struct trace_bytes *b, int fd) {
    static char *const words[] = {"zstd", "-dcq", NULL};
    extern char **environ;
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
    }
    int error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        error = posix_spawnp(&b->unpacker, words[0], &actions, NULL, words, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (error != 0) {
        close(ends[0]);
        b->unpacker = 0;
    } else {
        b->pipe_fd = ends[0];
    }
    return error;
}

struct trace_bytes *trace_bytes_open(int fd, char *why) {
    struct trace_bytes *b = calloc(1, sizeof *b);
    int error = ENOMEM;
    if (b != NULL && is_zstd(fd)) {
        error = start(b, fd);
        close(fd);
        fd = -1;
    } else if (b != NULL) {
        b->file = gzdopen(fd, "rb");
        error = b->file != NULL ? 0 : ENOMEM;
        fd = b->file != NULL ? -1 : fd;
    }
    if (error == 0) {
        return b;
    }
    snprintf(why, TRACE_BYTES_WHY, "%s",
             error == ENOENT   ? "the program zstd, which unpacks it, is not on this machine"
             : error == ENOMEM ? "out of memory"
                               : strerror(error));
    if (fd >= 0) {
        close(fd);
    }
    free(b);
    return NULL;
}

/* Waits for zstd. Whether it has unpacked all. */
static bool end(struct trace_bytes *b) {
    int status = 0;
    if (b->unpacker > 0) {
        while (waitpid(b->unpacker, &status, 0) < 0 && errno == EINTR) {
        }
        b->unpacker = 0;
        b->failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    return !b->failed;
}

void trace_bytes_close(struct trace_bytes **taken) {
    struct trace_bytes *b = *taken;
    *taken = NULL;
    if (b == NULL) {
        return;
    }
    if (b->file != NULL) {
        gzclose_r(b->file);
    } else {
        close(b->pipe_fd); /* which ends zstd, if it is not through */
        end(b);
    }
    free(b);
}

static int read_pipe(struct trace_bytes *b, char *to, size_t room, char *why) {
    ssize_t got;
    do {
        got = read(b->pipe_fd, to, room);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        snprintf(why, TRACE_BYTES_WHY, "%s", strerror(errno));
    } else if (got == 0 && !end(b)) {
        snprintf(why, TRACE_BYTES_WHY, "its compressed data is damaged or cut short");
        return -1;
    }
    return (int)got;
}

int trace_bytes_read(struct trace_bytes *b, char *to, size_t room, char *why) {
    if (b->file == NULL) {
        return read_pipe(b, to, room, why);
    }
    int got = gzread(b->file, to, (unsigned)room), code = Z_OK;
    const char *said = gzerror(b->file, &code);
    /* A file cut off within its compressed data gives all it has first, then nothing and
     * Z_BUF_ERROR. */
    if (got > 0 || (got == 0 && code != Z_BUF_ERROR)) {
        return got;
    }
    snprintf(why, TRACE_BYTES_WHY, "%.120s",
             code == Z_BUF_ERROR    ? "its compressed data is cut short"
             : code == Z_DATA_ERROR ? "its compressed data is damaged"
             : code == Z_ERRNO      ? strerror(errno)
                                    : said);
    return -1;
}
