/* Cache time: whole monotonic seconds since CLOCK_EPOCH_S before the process started; tests can set
 * the time. Seconds of cache time begin at the same moments as those of the system's clock, as this
 * clock was at the start.
 *
 * Items store these 32-bit seconds. They start at CLOCK_EPOCH_S, not 0, so that 0 can mean "never"
 * and an item can be a little older than the process. Threading: any; reads are one relaxed load
 * plus a vDSO call. */
#ifndef SLATE_BASE_CLOCK_H
#define SLATE_BASE_CLOCK_H
#include <stdint.h>
#include <time.h>

enum { CLOCK_EPOCH_S = 2 };
#define CLOCK_SECOND_US UINT64_C(1000000)
#define CLOCK_RELATIVE_MAX_S (60 * 60 * 24 * 30) /* larger expiry times are absolute unix times */

/* Marks the start of the process. Call this function before any other here and before any thread
 * starts; a second call does nothing. */
void     clock_start(void);
/* Continues the cache time of a process that has ended. That cache time was 0 at `unix_at_0` and
 * had reached `last_s`. The new cache time never falls below `last_s`, even if the system's time
 * was set back. Call this function before any thread reads cache time. The uptime still counts from
 * this process's start. */
void     clock_continue(int64_t unix_at_0, uint32_t last_s);
uint32_t clock_now_s(void);           /* cache time */
int64_t  clock_unix_at_0(void);       /* unix time at cache time 0, by the calendar of now */
uint64_t clock_mono_us(void);         /* monotonic microseconds, for durations; never shifted */
uint64_t clock_thread_us(void);       /* processor time that the calling thread has had */
uint32_t clock_uptime_s(void);        /* seconds since clock_start, shifted with the clock */
uint64_t clock_unix_us(void);         /* the system's time, for records; never shifted */
static inline uint64_t clock_unix_ms(void) { return clock_unix_us() / 1000; }
int64_t  clock_unix_s(uint32_t now_s); /* unix time of a cache time */

/* A client's expiry time as cache time: 0 = never; negative or past = CLOCK_EXPIRED. */
#define CLOCK_EXPIRED 1u
uint32_t clock_expiry_s(int64_t exptime, uint32_t now_s);

/* The time source of all functions above. A test that owns its time defines this function
 * (tests/unit/own_clock.h); the linker then leaves clock_system.c out, which reads the system's
 * clock. */
struct timespec clock_system(clockid_t);
/* When a thread gives up a wait that begins now, by CLOCK_MONOTONIC of the system, in tests too. */
struct timespec clock_deadline(uint32_t in_s);

/* Debug builds and tests: stop, resume and shift the clock. */
void clock_pause(void);
void clock_resume(void);
void clock_shift(int64_t by_s);
#endif
