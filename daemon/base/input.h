/* Files that an operator names, opened without a wait for ever: opening a FIFO waits for a writer,
 * and a device such as /dev/zero may have no end. */
#ifndef SLATE_BASE_INPUT_H
#define SLATE_BASE_INPUT_H
#include <stdbool.h>

#define INPUT_FIRST_BYTE_S 30 /* a literal, because messages contain the number */

/* Opens a regular file or a folder to read, close-on-exec. may_be_descriptor: also a pipe or
 * terminal that the program was started with, named /dev/stdin, /dev/fd/N (a shell's <(command)) or
 * /proc/self/fd/N; its first byte must come within INPUT_FIRST_BYTE_S. Returns -1 on failure, with
 * the reason in *why, a string that is valid until the thread's next call of strerror. */
int input_open(const char *path, bool may_be_descriptor, const char **why);
#endif
