/* Reads a file, plain or unpacked by zlib or libzstd. Threading: one thread at a time. Memory: 64
 * KiB, and that of the library. */
#ifndef SLATE_SIMULATE_TRACE_BYTES_H
#define SLATE_SIMULATE_TRACE_BYTES_H
#include <stddef.h>

enum { TRACE_BYTES_WHY = 160 };

struct trace_bytes;
/* Takes the descriptor, even on failure. NULL: out of memory. */
struct trace_bytes *trace_bytes_open(int taken_fd);
void                trace_bytes_close(struct trace_bytes **);

/* Returns the number of bytes read: 0 at the end. -1: nothing more can be read, and `why`
 * (TRACE_BYTES_WHY) holds half a sentence. */
int trace_bytes_read(struct trace_bytes *, char *to, size_t room, char *why);
#endif
