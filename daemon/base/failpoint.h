/* Points at which a test can make a debug build end as by kill -9, or stop as by SIGSTOP, and then
 * inspect the state that the process left. SLATED_CRASH_AT and SLATED_STOP_AT in the environment
 * name one point each: NAME, or NAME:N for the N-th visit of the point. In other builds these
 * points do nothing. Any thread. */
#ifndef SLATE_BASE_FAILPOINT_H
#define SLATE_BASE_FAILPOINT_H
#ifdef SLATE_DEBUG
void failpoint_reach(const char *name);
#else
static inline void failpoint_reach(const char *name) { (void)name; }
#endif
#endif
