#include "simulate/trace_bytes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

struct trace_bytes {
    gzFile        file;    /* reads plain bytes too */
    ZSTD_DStream *zstd;    /* NULL: the file is not packed by zstd */
    bool          begun;   /* the first bytes were checked */
    bool          in_frame; /* zstd waits for more of the file */
    ZSTD_inBuffer in;      /* bytes read from the file and not used yet */
    char          window[1 << 16];
};

struct trace_bytes *trace_bytes_open(int fd) {
    struct trace_bytes *b = calloc(1, sizeof *b);
    if (b != NULL && (b->file = gzdopen(fd, "rb")) != NULL) {
        b->in.src = b->window;
        return b;
    }
    close(fd);
    free(b);
    return NULL;
}

void trace_bytes_close(struct trace_bytes **taken) {
    if (*taken != NULL) {
        gzclose_r((*taken)->file);
        ZSTD_freeDStream((*taken)->zstd);
        free(*taken);
        *taken = NULL;
    }
}

/* Reads more of the file. Returns as trace_bytes_read. */
static int bytes_read_file(struct trace_bytes *b, char *why) {
    int got = gzread(b->file, b->window, sizeof b->window), code = Z_OK;
    const char *message = gzerror(b->file, &code);
    b->in.pos = 0;
    b->in.size = got > 0 ? (size_t)got : 0;
    /* zlib returns all data of a truncated file first, then nothing and Z_BUF_ERROR */
    if (got > 0 || (got == 0 && code != Z_BUF_ERROR && !b->in_frame)) {
        return got;
    }
    snprintf(why, TRACE_BYTES_WHY, "%.120s",
             got == 0               ? "its compressed data is cut short"
             : code == Z_DATA_ERROR ? "its compressed data is damaged"
             : code == Z_ERRNO      ? strerror(errno)
                                    : message);
    return -1;
}

static int bytes_unpack(struct trace_bytes *b, char *to, size_t room, char *why) {
    ZSTD_outBuffer out = {to, room, 0};
    size_t before = b->in.pos, left = ZSTD_decompressStream(b->zstd, &out, &b->in);
    if (ZSTD_isError(left)) {
        snprintf(why, TRACE_BYTES_WHY, "its compressed data is damaged: %.100s",
                 ZSTD_getErrorName(left));
        return -1;
    }
    if (out.pos > 0 || b->in.pos > before) {
        b->in_frame = left != 0;
    }
    return (int)out.pos;
}

int trace_bytes_read(struct trace_bytes *b, char *to, size_t room, char *why) {
    for (;;) {
        if (b->zstd != NULL) { /* zstd may have more output without input */
            int got = bytes_unpack(b, to, room, why);
            if (got != 0) {
                return got;
            }
        } else if (b->in.pos < b->in.size) {
            size_t left = b->in.size - b->in.pos, n = left < room ? left : room;
            memcpy(to, b->window + b->in.pos, n);
            b->in.pos += n;
            return (int)n;
        }
        if (b->in.pos == b->in.size) {
            int got = bytes_read_file(b, why);
            if (got <= 0) {
                return got;
            }
        }
        static const char magic[] = {'\x28', '\xb5', '\x2f', '\xfd'};
        bool is_zstd = !b->begun && b->in.size >= sizeof magic &&
                       memcmp(b->window, magic, sizeof magic) == 0;
        b->begun = true;
        if (is_zstd && (b->zstd = ZSTD_createDStream()) == NULL) {
            snprintf(why, TRACE_BYTES_WHY, "out of memory");
            return -1;
        }
    }
}
