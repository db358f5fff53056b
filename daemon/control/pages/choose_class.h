/* Which class gives pages when any class may: a job of the pace that inspects a class a step.
 * Threading: the pace's owner. Cost: up to 64 pages are inspected of each class that has two. */
#ifndef SLATE_CONTROL_PAGES_CHOOSE_CLASS_H
#define SLATE_CONTROL_PAGES_CHOOSE_CLASS_H
#include <stdbool.h>

#include "cache/cache.h"
#include "control/decision.h"
#include "control/pages/pace.h"

struct class_choice {
    struct pace_job   job;
    struct cache     *cache;
    struct slab      *slab;
    struct page_move *move;
    struct class_set  except;
    unsigned          wanted, donors;
    /* classes with free chunks whose pages are all in use now; no_room: all were inspected */
    struct class_set  held;
    bool              no_room;
    /* the choice by value: the next class, and the cheapest so far */
    unsigned          at, cheapest;
    uint32_t          most_pages;
    /* the inspected pages of the cheapest class, the cheapest first */
    unsigned          count;
    uint64_t          value[MOVE_PAGES_MAX];
    uint64_t          next_least; /* the least value of a page of any other class */
};

/* Begins to choose the class that gives the pages of this move. Classes with free chunks for the
 * items of their pages come first, then the class with the pages of least value. False: no class
 * but those of `except` has two pages (one, if the move takes last pages too). */
bool class_choice_begin(struct class_choice *, struct pace *, struct cache *, struct cache_thread *,
                        const struct class_set *except, struct page_move *, uint64_t now_us);
/* Once the job is done: the move has the class, and how many pages it gives before the next choice.
 * False: no class can give a page. */
bool class_choice_found(struct class_choice *);
#endif
