/* Runs a function on the control thread, as orders do; the caller waits until the function has returned. */
#ifndef CONTROL_FIXTURE_H
#define CONTROL_FIXTURE_H
#include <errno.h>
#include <semaphore.h>

#include "control/tuner_state.h"

struct control_call {
    struct control_order  order; /* first */
    struct tuner *t;
    void        (*run)(struct tuner *, void *);
    void         *arg;
};

static inline void control_call_run(struct control_order *o, uint64_t now_us) {
    struct control_call *call = (struct control_call *)o;
    (void)now_us;
    call->run(call->t, call->arg);
    control_order_answer(o);
}

static inline void control_call_end(struct control_order *o) { (void)o; }
static inline void control_call_wake(void *done) { sem_post(done); }

static inline void on_control(struct tuner *t, void (*run)(struct tuner *, void *), void *arg) {
    struct control_call call = {.t = t, .run = run, .arg = arg};
    sem_t done;
    if (!t->started) {
        run(t, arg);
        return;
    }
    sem_init(&done, 0, 0);
    control_order_init(&call.order, control_call_run, control_call_end);
    future_wake(&call.order.future, control_call_wake, &done);
    control_post(&t->control, &call.order);
    while (sem_wait(&done) != 0 && errno == EINTR) {
    }
    future_wake(&call.order.future, NULL, NULL); /* wait until the control thread has left the order */
    while (!future_is_cancelled(&call.order.future)) {
        sched_yield();
    }
    control_order_release(&call.order);
    sem_destroy(&done);
}

struct reassigning {
    int      from, to;
    unsigned pages;
    enum tuner_status status;
};
static inline void reassigning_run(struct tuner *t, void *arg) {
    struct reassigning *r = arg;
    r->status = tuner_reassign(t, r->from, r->to, r->pages);
}
static inline enum tuner_status reassign(struct tuner *t, int from, int to, unsigned pages) {
    struct reassigning r = {from, to, pages, TUNER_OK};
    on_control(t, reassigning_run, &r);
    return r.status;
}

static inline void set_automove_run(struct tuner *t, void *name) { tuner_set_automove(t, name); }
static inline void set_automove(struct tuner *t, const char *name) {
    on_control(t, set_automove_run, (void *)(uintptr_t)name);
}

#endif
