/* Points at which a debug build can be made to end as by kill -9, or to stand still as by SIGSTOP,
 * so that a test can look at what is left: SLATED_CRASH_AT and SLATED_STOP_AT in its environment
 * name one each, NAME or NAME:N, the N-th time that it is come to. In other builds they are
 * nothing. Any thread. */
#ifndef SLATE_BASE_CRASH_H
#define SLATE_BASE_CRASH_H
#ifdef SLATE_DEBUG
void crash_point(const char *name);
#else
static inline void crash_point(const char *name) { (void)name; }
#endif
#endif
