/* The control thread's steps: an order at a time, then the tasks that are due. Run under TSan too. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "control/control.h"
#include "tap.h"

enum { LETTERS = 64, POSTERS = 4, POSTS = 200 };

static char     done[LETTERS]; /* one letter for each order that ran */
static unsigned done_count;

static void note(char letter) {
    done[done_count++] = letter;
    done[done_count] = '\0';
}

static const char *taken(void) {
    static char copy[LETTERS];
    memcpy(copy, done, sizeof copy);
    done_count = 0;
    done[0] = '\0';
    return copy;
}

/* --- orders --- */

struct letter_order {
    struct control_order order; /* first */
    char letter;
    bool later; /* another caller ends the order */
};
static unsigned destroyed;

static void letter_run(struct control_order *o, uint64_t now_us) {
    (void)now_us;
    note(((struct letter_order *)o)->letter);
    if (!((struct letter_order *)o)->later) {
        control_order_answer(o);
    }
}

static void letter_destroy(struct control_order *o) {
    destroyed++;
    free(o);
}

static struct control_order *post(struct control *c, char letter, bool later) {
    struct letter_order *o = malloc(sizeof *o);
    o->letter = letter;
    o->later = later;
    control_order_init(&o->order, letter_run, letter_destroy);
    control_post(c, &o->order);
    return &o->order;
}

/* --- tasks --- */

struct letter_task {
    struct control_task task;
    char     letter;
    uint64_t every_us;
};

static uint64_t task_run(void *arg, uint64_t now_us) {
    const struct letter_task *t = arg;
    note(t->letter);
    return t->every_us == CONTROL_NEVER ? CONTROL_NEVER : now_us + t->every_us;
}

static void add(struct control *c, struct letter_task *t, char letter, uint64_t every_us, bool timed) {
    *t = (struct letter_task){.task = {.run = task_run, .arg = t, .timed = timed}, .letter = letter, .every_us = every_us};
    control_add(c, &t->task);
}

/* --- claims --- */

TEST(test_a_step_runs_one_order) {
    struct control c;
    ok(control_init(&c), "a control without a thread");
    struct control_order *a = post(&c, 'a', false), *b = post(&c, 'b', false);
    ok(!future_is_answered(&a->future), "a posted order waits for a step");
    is(control_step(&c, 7), 7, "a step is due at once while an order waits");
    ok(future_is_answered(&a->future) && !future_is_answered(&b->future), "a step runs one order");
    control_step(&c, 8);
    is_str(taken(), "ab", "the first that was posted is the first that is run");
    control_order_release(a);
    control_order_release(b);
    is(destroyed, 2, "an order that is answered and released is destroyed");
    control_order_release(post(&c, 'c', false));
    is(destroyed, 2, "one that is given up before its answer is run all the same");
    control_step(&c, 9);
    is_str(taken(), "c", "and answered to nobody");
    is(destroyed, 3, "and then destroyed");
    control_fini(&c);
}

TEST(test_an_order_may_be_answered_later) {
    struct control c;
    control_init(&c);
    struct control_order *a = post(&c, 'a', true), *b = post(&c, 'b', false);
    control_step(&c, 1);
    control_step(&c, 2);
    ok(!future_is_answered(&a->future) && future_is_answered(&b->future), "an order that takes long lets the next one be answered");
    ok(!future_is_cancelled(&a->future), "and its requester still waits");
    control_order_answer(a);
    ok(future_is_answered(&a->future), "and answers it when its work is done");
    control_order_release(a);
    control_order_release(b);
    taken();
    control_fini(&c);
}

/* Steps until no task is due any more. Returns the next due time. */
static uint64_t step_all(struct control *c, uint64_t now_us) {
    uint64_t due_us;
    do {
        due_us = control_step(c, now_us);
    } while (due_us <= now_us);
    return due_us;
}

TEST(test_tasks_run_when_they_are_due) {
    struct control c;
    struct letter_task often, never, timed;
    control_init(&c);
    add(&c, &often, 'o', 10, false);
    add(&c, &never, 'n', CONTROL_NEVER, false);
    add(&c, &timed, 't', 100, true);
    is(step_all(&c, 1000), 1010, "a step returns the time of the next task");
    is_str(taken(), "ont", "all tasks are due at first, in the order in which they were added");
    step_all(&c, 1009);
    is_str(taken(), "", "then none before its time");
    step_all(&c, 1010);
    is_str(taken(), "o", "and each at its time");
    control_wake(&c);
    step_all(&c, 1011);
    is_str(taken(), "no", "a wake-up makes all due but those that go by time alone; the last one has its turn last");
    control_order_release(post(&c, 'x', false));
    step_all(&c, 1012);
    is_str(taken(), "xno", "so does an order, which comes first");
    step_all(&c, 1100);
    is_str(taken(), "to", "these come at their time");
    step_all(&c, 1012 + CLOCK_SECOND_US);
    is_str(taken(), "nto", "a second after the last wake-up all are due");
    control_fini(&c);
}

TEST(test_an_order_waits_for_one_slice) {
    struct control c;
    struct letter_task pages, sizes;
    control_init(&c);
    add(&c, &pages, 'p', 0, false); /* both always have work */
    add(&c, &sizes, 's', 0, false);
    is(control_step(&c, 1), 1, "a step is due at once while a task has more to do");
    is_str(taken(), "p", "a step does one slice, of one task");
    control_order_release(post(&c, 'x', false));
    control_order_release(post(&c, 'y', false));
    control_step(&c, 2);
    control_step(&c, 3);
    control_step(&c, 4);
    is_str(taken(), "xsyps", "an order comes before the next slice, and slices go on by turns beside orders");
    control_fini(&c);
}

TEST(test_orders_that_are_left_at_the_end_are_run) {
    struct control c;
    control_init(&c);
    control_order_release(post(&c, 'a', false));
    control_order_release(post(&c, 'b', false));
    control_run_orders(&c);
    is_str(taken(), "ab", "the end runs orders posted before it");
    control_fini(&c);
}

/* --- with a thread --- */

static unsigned counted; /* by the control thread only */

static void count_run(struct control_order *o, uint64_t now_us) {
    (void)now_us;
    counted++;
    control_order_answer(o);
}

static void count_destroy(struct control_order *o) { free(o); }

static void *post_many(void *arg) {
    for (int i = 0; i < POSTS; i++) {
        struct control_order *o = malloc(sizeof *o);
        control_order_init(o, count_run, count_destroy);
        control_post(arg, o);
        control_order_release(o);
    }
    return NULL;
}

static void *loop(void *arg) {
    control_loop(arg);
    return NULL;
}

TEST(test_orders_of_many_threads_are_run_one_at_a_time) {
    struct control c;
    pthread_t thread, posters[POSTERS];
    control_init(&c);
    thread_start(&thread, loop, &c);
    for (int i = 0; i < POSTERS; i++) {
        thread_start(&posters[i], post_many, &c);
    }
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(posters[i], NULL);
    }
    control_stop(&c);
    pthread_join(thread, NULL);
    control_run_orders(&c);
    is(counted, POSTERS * POSTS, "each order of %d threads is run once", POSTERS);
    control_fini(&c);
}

int main(void) { return tap_main(); }
