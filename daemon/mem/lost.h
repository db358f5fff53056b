/* What is said when memory of a mapped file is gone: somebody cut the file, or its file system has
 * none for a page that nobody backed. The system ends the process then (SIGBUS), and without this
 * nobody would know why.
 *
 * One mapping at a time is watched, the last. Threading: the owner's, before other threads touch
 * the mapping. */
#ifndef SLATE_MEM_LOST_H
#define SLATE_MEM_LOST_H
#include <stddef.h>

void lost_watch(const char *path, const void *at, size_t bytes);
#endif
