#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/lock.h"

/* defined also without asserts, so that code with asserts links with code without */
extern _Thread_local const struct lock *lock_owned;
_Thread_local const struct lock *lock_owned;

/* The kernel's struct sched_attr in its first version. The C library has this struct only since
 * 2.41. */
struct attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t  nice;
    uint32_t priority;
    uint64_t runtime_ns; /* of SCHED_OTHER: the slice */
    uint64_t deadline_ns;
    uint64_t period_ns;
};

static const unsigned long TIMER_SLACK_NS = 1000;

void thread_request_slice(uint32_t slice_us) {
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, 0); /* of this thread, in Linux; does not change */
    if (errno != 0 || sched_getscheduler(0) != SCHED_OTHER) {
        return; /* another policy was chosen on purpose */
    }
    (void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0UL, 0UL, 0UL);
    struct attributes a = {.size = sizeof a,
                           .policy = SCHED_OTHER,
                           .nice = nice,
                           .runtime_ns = (uint64_t)slice_us * 1000};
    (void)syscall(SYS_sched_setattr, 0, &a, 0); /* only a request: a refusal harms nothing */
}
