/* Answers that are made once for all who ask at once: who makes them, who waits, for how long they serve, and who takes over. */
#include "tap.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "server/coalesced_reply.h"

static void count_wake(void *arg) { ++*(unsigned *)arg; }

static struct shared_seat seat_of(unsigned *woken) { return (struct shared_seat){.wake = count_wake, .wake_arg = woken}; }

static _Atomic uint64_t now_us = 1000; /* the test's */

static void make(struct shared_answer *a, struct shared_seat *seat, const char *text, uint64_t age_us) {
    struct text_out out;
    text_out_init(&out);
    text_out_str(&out, text);
    if (!shared_made(a, seat, &out, age_us, now_us)) {
        abort();
    }
    text_out_fini(&out);
}

static bool reads(const struct shared_seat *seat, const char *text) {
    return seat->text != NULL && seat->text->out.used == strlen(text) && memcmp(seat->text->out.bytes, text, strlen(text)) == 0;
}

TEST(test_one_makes_it) {
    struct shared_answer a;
    unsigned woken = 0;
    struct shared_seat one = seat_of(&woken), two = seat_of(&woken), three = seat_of(&woken);
    shared_answer_init(&a);
    is(shared_sit(&a, &one, now_us), SHARED_MAKES, "the first to ask makes the answer");
    is(shared_sit(&a, &two, now_us), SHARED_WAITS, "the second waits");
    is(shared_sit(&a, &two, now_us), SHARED_WAITS, "also when it was woken too early");
    is(shared_sit(&a, &three, now_us), SHARED_WAITS, "and so does the third");
    shared_leave(&a, &three);
    make(&a, &one, "text", 0);
    is(woken, 1, "who still waits is woken, once");
    is(shared_sit(&a, &two, now_us), SHARED_HAS, "and has the answer, even one that serves nobody who asks later");
    ok(reads(&one, "text") && reads(&two, "text"), "which is the same for both");
    is(shared_sit(&a, &three, now_us), SHARED_MAKES, "who asks later makes another");
    make(&a, &three, "later", 500);
    ok(reads(&one, "text") && reads(&three, "later"), "those before keep theirs");
    shared_leave(&a, &one);
    now_us += 499;
    is(shared_sit(&a, &one, now_us), SHARED_HAS, "who asks within the time that it serves has it");
    ok(reads(&one, "later"), "without being made again");
    shared_leave(&a, &one);
    now_us++;
    is(shared_sit(&a, &one, now_us), SHARED_MAKES, "who asks later makes another");
    shared_leave(&a, &one);
    shared_leave(&a, &two);
    shared_leave(&a, &three);
    shared_answer_fini(&a);
}

TEST(test_the_age_is_bounded) {
    struct shared_answer a;
    unsigned woken = 0;
    struct shared_seat one = seat_of(&woken);
    shared_answer_init(&a);
    shared_sit(&a, &one, now_us);
    make(&a, &one, "dear", UINT64_MAX);
    is(one.text->until_us, now_us + SHARED_AGE_MAX_US, "no answer serves for longer than a second");
    shared_leave(&a, &one);
    shared_answer_fini(&a);
}

TEST(test_another_takes_over) {
    struct shared_answer a;
    unsigned woken = 0;
    struct shared_seat one = seat_of(&woken), two = seat_of(&woken), three = seat_of(&woken);
    shared_answer_init(&a);
    shared_sit(&a, &one, now_us);
    shared_sit(&a, &two, now_us);
    shared_sit(&a, &three, now_us);
    shared_leave(&a, &one);
    is(woken, 2, "when who makes the answer leaves, all who wait are woken");
    is(shared_sit(&a, &two, now_us), SHARED_MAKES, "the first of them makes it");
    is(shared_sit(&a, &three, now_us), SHARED_WAITS, "the others go on waiting");
    make(&a, &two, "text", 0);
    ok(shared_sit(&a, &three, now_us) == SHARED_HAS && reads(&three, "text"), "and have it");
    shared_leave(&a, &two);
    shared_leave(&a, &three);
    shared_answer_fini(&a);
}

/* --- many threads --- */

enum { ASKERS = 4, ROUNDS = 20000 };

struct asker {
    struct shared_answer *answer;
    sem_t                 woken;
    uint64_t              random;
    unsigned              had, made, wrong;
};

static void wake_asker(void *arg) { sem_post(&((struct asker *)arg)->woken); }

static bool ask_once(struct asker *k) {
    struct shared_seat seat = {.wake = wake_asker, .wake_arg = k};
    enum shared_part part;
    now_us++;
    while ((part = shared_sit(k->answer, &seat, now_us)) == SHARED_WAITS) {
        sem_wait(&k->woken);
    }
    k->random = k->random * 6364136223846793005u + 1442695040888963407u;
    bool leaves = part == SHARED_MAKES && k->random >> 62 == 0;
    if (part == SHARED_MAKES && !leaves) {
        make(k->answer, &seat, "text", (k->random >> 60) * 20);
        k->made++;
    }
    k->wrong += !leaves && !reads(&seat, "text");
    shared_leave(k->answer, &seat);
    return !leaves;
}

static void *asker_main(void *arg) {
    struct asker *k = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        k->had += ask_once(k);
    }
    return NULL;
}

TEST(test_many_ask) {
    struct shared_answer a;
    static struct asker askers[ASKERS];
    pthread_t threads[ASKERS];
    unsigned had = 0, made = 0, wrong = 0;
    uint64_t seed = tap_seed();
    shared_answer_init(&a);
    for (unsigned i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){.answer = &a, .random = seed + i};
        sem_init(&askers[i].woken, 0, 0);
        if (pthread_create(&threads[i], NULL, asker_main, &askers[i]) != 0) {
            abort();
        }
    }
    for (unsigned i = 0; i < ASKERS; i++) {
        pthread_join(threads[i], NULL);
        had += askers[i].had;
        made += askers[i].made;
        wrong += askers[i].wrong;
    }
    is(wrong, 0, "%d threads: each that asked has an answer, %u of %u made by who asked", ASKERS, made, had);
    ok(made > 0 && made < had, "and some have another's");
    ok(a.waiting == NULL && !a.making, "nobody waits in the end");
    shared_answer_fini(&a);
}

int main(void) { return tap_main(); }
