/* Runs a few actors, one at a time, in every order that differs in the places where one yields to another.
 *
 * Each actor is a thread, but only the one that holds the baton runs. An actor may yield at its points: before the project takes a lock,
 * before and after the calls that the link wraps (explore.c lists them), and whenever the product sleeps. An actor that holds a lock yields
 * nowhere, so no other ever blocks. Time stands still (clock_mono_us too) but for sleeps: a sleeper goes on after another actor has run,
 * or, when all sleep, at the earliest time that one of them waits for.
 *
 * explore() runs the same scene again and again. Each run takes another path through the choices, depth first, until all paths with at most
 * `preemptions` switches away from an actor that could go on have been taken. A run is repeatable: the same choices give the same run. The
 * method is that of CHESS (Musuvathi and Qadeer, "Iterative Context Bounding for Systematic Testing of Multithreaded Programs", PLDI 2007).
 * Not covered: orders within one hold of a lock, and those that only weak memory allows. Threading: one exploration at a time, from one
 * thread. */
#ifndef ISOLATION_EXPLORE_H
#define ISOLATION_EXPLORE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACTORS_MAX = 4 };

struct scene {
    void *arg;
    unsigned actor_count;
    bool (*open)(void *arg);                   /* before each run: sets up everything anew. False: that failed */
    void (*act)(void *arg, unsigned actor);    /* the actor's whole part, on its own thread */
    void (*close)(void *arg, const char *path); /* after each run, when all actors are done; `path` names the switches of the run */
    const char *names[ACTORS_MAX];
};

struct explored {
    unsigned long runs, points, switches; /* all runs together */
    bool complete; /* every path was taken; false: `runs_most` was reached, or a run could not be opened */
};

/* An actor's, in the time of the run. */
void explore_sleep_until(uint64_t wake_us);
struct explored explore(const struct scene *, unsigned preemptions, unsigned long runs_most);
#endif
