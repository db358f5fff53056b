/* Points at which a debug build can be made to end as by kill -9, or to stop as by SIGSTOP, so that
 * a test can look at the state it leaves. SLATED_CRASH_AT and SLATED_STOP_AT in the environment
 * name one point each: NAME, or NAME:N for the N-th time that a thread reaches it. In other builds
 * these points do nothing. Any thread. */
#ifndef SLATE_BASE_FAILPOINT_H
#define SLATE_BASE_FAILPOINT_H
#ifdef SLATE_DEBUG
void failpoint_reach(const char *name);
#else
static inline void failpoint_reach(const char *name) { (void)name; }
#endif
#endif
