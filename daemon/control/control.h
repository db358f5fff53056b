/* The control thread. Every change to the server is an order: the thread takes one order at a time,
 * checks it against the settings of that moment, carries it out and answers it. Between two orders
 * the thread does a slice of a task that is due (page moves, decisions, sweeps, …), the tasks by
 * turns.
 *
 * A step is an order, then one slice. So an order waits for one slice and for the orders before it.
 * A slice takes some milliseconds at most: it obtains or hands over one page. An order or a wake-up
 * may make any task due. So after an order, after a wake-up and once a second all tasks are due,
 * and a task without work ends at once. Without a thread the owner calls control_step, on one
 * thread, with a clock of its own.
 *
 * Threading: control_post and control_wake on any thread; the others on the control thread, or
 * before that thread starts. Cost: a lock and a write to a descriptor an order. */
#ifndef SLATE_CONTROL_CONTROL_H
#define SLATE_CONTROL_CONTROL_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/future.h"
#include "base/lock.h"

#define CONTROL_NEVER UINT64_MAX

/* The first member of a struct with the order's arguments and its answer. */
struct control_order {
    struct future future;
    /* Carries the order out: on the control thread, outside a turn of the cache, no lock held. This
     * thread calls control_order_answer in this call, or later. */
    void (*run)(struct control_order *, uint64_t now_us);
    void (*destroy)(struct control_order *); /* the last holder calls it */
    struct control_order *next;
};
/* The caller holds the order until control_order_release. */
void control_order_init(struct control_order *, void (*run)(struct control_order *, uint64_t),
                        void (*destroy)(struct control_order *));
/* Wakes the threads that wait for the order, and ends the control thread's hold. */
void control_order_answer(struct control_order *);
void control_order_release(struct control_order *);

struct control_task {
    /* Does a slice of the task's work. Returns when the task is due again; a time in the past: at
     * the task's next turn. */
    uint64_t (*run)(void *arg, uint64_t now_us);
    void      *arg;
    bool       timed; /* an order or a wake-up does not make it due */
    uint64_t   due_us;
    struct control_task *next;
};

struct control {
    struct lock          lock; /* over the queue */
    struct control_order *first, **last;
    int                  wake_fd;
    _Atomic bool         woken, stop;
    struct control_task *tasks, **tasks_end, *ran; /* ran: the last one that did a slice */
    uint64_t             all_due_us; /* when all tasks are due without a wake-up */
    uint64_t             now_us;     /* of the step */
};

bool control_init(struct control *); /* false: errno */
/* Runs the waiting orders, and no task. No thread steps, or the thread has ended. */
void control_run_orders(struct control *);
void control_fini(struct control *);
void control_add(struct control *, struct control_task *); /* the task is due at once */

/* Hands the order over, and takes a hold for the control thread. */
void control_post(struct control *, struct control_order *);
void control_make_due(struct control *); /* all tasks are due in the next step */
void control_wake(struct control *);     /* the same, and the next step comes at once */
bool control_has_order(struct control *);

/* Runs the next order, then a task that is due. Returns when the next step is due. */
uint64_t control_step(struct control *, uint64_t now_us);
void control_loop(struct control *); /* steps and sleeps until control_stop */
void control_stop(struct control *); /* any thread */
#endif
