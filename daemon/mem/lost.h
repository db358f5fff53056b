/* Logs why the process ends when memory of a mapped file is gone: somebody cut the file, or its
 * file system has no memory for a page that nobody backed. The system ends the process then
 * (SIGBUS), and without this line nobody would know why.
 *
 * One mapping at a time is watched, the last one. Threading: the owner calls it before other
 * threads touch the mapping. */
#ifndef SLATE_MEM_LOST_H
#define SLATE_MEM_LOST_H
#include <stddef.h>

void lost_watch(const char *path, const void *at, size_t bytes);
#endif
