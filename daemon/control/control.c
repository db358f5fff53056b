#include "control/control.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

/* --- orders --- */

void control_order_init(struct control_order *o, void (*run)(struct control_order *, uint64_t),
                        void (*destroy)(struct control_order *)) {
    *o = (struct control_order){.run = run, .destroy = destroy};
    future_init(&o->future);
}

void control_order_release(struct control_order *o) {
    if (future_release(&o->future)) {
        o->destroy(o);
    }
}

void control_order_answer(struct control_order *o) {
    future_answer(&o->future);
    control_order_release(o);
}

void control_post(struct control *c, struct control_order *o) {
    future_hold(&o->future);
    o->next = NULL;
    lock_take(&c->lock);
    *c->last = o;
    c->last = &o->next;
    lock_release(&c->lock);
    control_wake(c);
}

static struct control_order *control_take_order(struct control *c) {
    lock_take(&c->lock);
    struct control_order *o = c->first;
    if (o != NULL) {
        c->first = o->next;
        c->last = c->first != NULL ? c->last : &c->first;
    }
    lock_release(&c->lock);
    return o;
}

bool control_has_order(struct control *c) {
    lock_take(&c->lock);
    bool has = c->first != NULL;
    lock_release(&c->lock);
    return has;
}

/* --- steps --- */

void control_make_due(struct control *c) {
    atomic_store_explicit(&c->woken, true, memory_order_release);
}

void control_wake(struct control *c) {
    uint64_t one = 1;
    control_make_due(c);
    /* The write fails only when the counter is full: then a wake-up is already due. */
    ssize_t written = write(c->wake_fd, &one, sizeof one);
    (void)written;
}

/* The next task that is due, those behind the one that ran last first; NULL: none is. */
static struct control_task *control_next_due(const struct control *c, uint64_t now_us) {
    struct control_task *from = c->ran != NULL && c->ran->next != NULL ? c->ran->next : c->tasks,
                        *task = from;
    while (task != NULL && task->due_us > now_us) {
        task = task->next != NULL ? task->next : c->tasks;
        task = task != from ? task : NULL;
    }
    return task;
}

/* When the next step is due. */
static uint64_t control_due_us(struct control *c, uint64_t now_us) {
    uint64_t due_us = c->all_due_us;
    if (control_has_order(c) || atomic_load_explicit(&c->woken, memory_order_relaxed)) {
        return now_us;
    }
    for (const struct control_task *task = c->tasks; task != NULL; task = task->next) {
        due_us = task->due_us < due_us ? task->due_us : due_us;
    }
    return due_us > now_us ? due_us : now_us;
}

uint64_t control_step(struct control *c, uint64_t now_us) {
    c->now_us = now_us;
    struct control_order *o = control_take_order(c);
    if (o != NULL) {
        o->run(o, now_us);
    }
    if (atomic_exchange_explicit(&c->woken, false, memory_order_acquire) || o != NULL ||
        now_us >= c->all_due_us) {
        c->all_due_us = now_us + CLOCK_SECOND_US;
        for (struct control_task *task = c->tasks; task != NULL; task = task->next) {
            task->due_us = task->timed ? task->due_us : 0;
        }
    }
    struct control_task *task = control_next_due(c, now_us);
    if (task != NULL) {
        c->ran = task;
        task->due_us = task->run(task->arg, now_us);
    }
    return control_due_us(c, now_us);
}

/* Sleeps until a step is due or another thread calls control_wake. */
static void control_sleep(struct control *c, uint64_t due_us) {
    uint64_t now_us = clock_mono_us(), us = due_us > now_us ? due_us - now_us : 0, n;
    struct pollfd p = {.fd = c->wake_fd, .events = POLLIN};
    struct timespec timeout = {.tv_sec = (time_t)(us / CLOCK_SECOND_US),
                               .tv_nsec = (long)(us % CLOCK_SECOND_US) * 1000};
    if (us > 0 && ppoll(&p, 1, &timeout, NULL) > 0 && read(c->wake_fd, &n, sizeof n) < 0 &&
        errno != EAGAIN) {
        log_warn("control: cannot read a wake-up");
    }
}

void control_loop(struct control *c) {
    while (!atomic_load_explicit(&c->stop, memory_order_acquire)) {
        control_sleep(c, control_step(c, clock_mono_us()));
    }
}

void control_stop(struct control *c) {
    atomic_store_explicit(&c->stop, true, memory_order_release);
    control_wake(c);
}

/* --- its life --- */

bool control_init(struct control *c) {
    *c = (struct control){.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    c->last = &c->first;
    c->tasks_end = &c->tasks;
    lock_init(&c->lock);
    return c->wake_fd >= 0;
}

void control_run_orders(struct control *c) {
    for (struct control_order *o; (o = control_take_order(c)) != NULL;) {
        o->run(o, clock_mono_us());
    }
}

void control_fini(struct control *c) {
    if (c->wake_fd >= 0) {
        close(c->wake_fd);
    }
    lock_fini(&c->lock);
}

void control_add(struct control *c, struct control_task *task) {
    task->next = NULL;
    task->due_us = 0;
    *c->tasks_end = task;
    c->tasks_end = &task->next;
}
