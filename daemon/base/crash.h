/* Points at which a debug build can be made to end as by kill -9, so that a test can look at what
 * is left: SLATED_CRASH_AT in its environment names one, NAME or NAME:N, the N-th time that it is
 * come to. In other builds they are nothing. Any thread. */
#ifndef SLATE_BASE_CRASH_H
#define SLATE_BASE_CRASH_H
#ifdef SLATE_DEBUG
void crash_point(const char *name);
#else
static inline void crash_point(const char *name) { (void)name; }
#endif
#endif
