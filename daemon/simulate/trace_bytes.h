/* The bytes of a file, unpacked: of a plain or gzip'd one by zlib, of one packed by zstd by the
 * program of this name, through a pipe. Threading: one thread at a time. */
#ifndef SLATE_SIMULATE_TRACE_BYTES_H
#define SLATE_SIMULATE_TRACE_BYTES_H
#include <stdbool.h>
#include <stddef.h>

enum { TRACE_BYTES_WHY = 160 };

struct trace_bytes;
/* Takes the file also when it fails. NULL: `why` (TRACE_BYTES_WHY) holds half a sentence. */
struct trace_bytes *trace_bytes_open(int taken_fd, char *why);
void                trace_bytes_close(struct trace_bytes **);

/* How many bytes were read: 0 at the end. -1: no more can be read, and `why` says why. */
int trace_bytes_read(struct trace_bytes *, char *to, size_t room, char *why);
/* Whether they are packed by zstd and come as they are: only what lies in a file is unpacked. */
bool trace_bytes_are_zstd(const char *bytes, size_t n);
#endif
