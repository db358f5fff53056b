#ifndef SLATE_BASE_SLICE_H
#define SLATE_BASE_SLICE_H

#include <stdint.h>

/* * Asks the scheduler for time slices of this length for the calling thread: with short ones it
 * gets no more of a processor, but gets it sooner when it wakes up beside a thread that asked for
 * long ones, as the one that copies memory does. Linux's EEVDF scheduler lets a waking thread pass
 * one that nominated a longer slice, and else lets that one finish its slice of some milliseconds
 * (Documentation/scheduler/sched-eevdf.rst). Before Linux 6.12 the request changes nothing; there
 * waking threads pass anyway. And asks that its naps end when they should, not up to 50 us later.
 * Costs four system calls.
 */
void slice_ask(uint32_t slice_us);

#endif
