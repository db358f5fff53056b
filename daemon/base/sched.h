#ifndef SLATE_BASE_SCHED_H
#define SLATE_BASE_SCHED_H

#include <stdint.h>

/* Asks the scheduler for time slices of this length for the calling thread. With short slices the
 * thread gets no more of a processor, but gets it sooner when it wakes up beside a thread with long
 * slices, such as the one that copies memory. Linux's EEVDF scheduler lets a waking thread pass one
 * that asked for a longer slice, and otherwise lets that one finish its slice of some milliseconds
 * (Documentation/scheduler/sched-eevdf.rst). Before Linux 6.12 the request changes nothing; there
 * waking threads pass anyway. The call also asks that the thread's naps end on time, not up to 50
 * us later. Cost: four system calls. */
void thread_request_slice(uint32_t slice_us);

#endif
