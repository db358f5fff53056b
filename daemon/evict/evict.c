/* The list of policies, and the functions that are the same under each policy: begin, end, renew,
 * adopt and switch. */
#include "evict/evict.h"

#include <string.h>

#include "evict/evict_memory.h"

const struct evict_policy *const evict_policies[] = {
    &evict_slru,   &evict_lru,    &evict_bag,    &evict_fifo,   &evict_clock,
    &evict_clock2, &evict_clock3, &evict_sieve,  &evict_s3fifo, &evict_tinylfu,
    &evict_none,   &evict_s3skip, &evict_s3wide, &evict_s3loop, NULL,
};

const struct evict_policy *evict_find(const char *name) {
    for (unsigned i = 0; evict_policies[i] != NULL; i++) {
        if (strcmp(evict_policies[i]->name, name) == 0) {
            return evict_policies[i];
        }
    }
    return NULL;
}

bool evict_same_structure(const struct evict_policy *a, const struct evict_policy *b) {
    return a == b || (a->insert == b->insert && a->victim == b->victim && a->hit == b->hit);
}

void evict_init(struct evict_queue *q, const struct evict_policy *policy,
                const struct evict_tuning *tuning, const struct node_space *space) {
    *q = (struct evict_queue){.policy = policy,
                              .tuning = tuning,
                              .space = space,
                              .flushed_s = UINT32_MAX}; /* one before the first time */
}

void evict_fini(struct evict_queue *q) { evict_memory_free(&q->memory); }

void evict_renew(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    if (q->policy->renew != NULL) {
        q->policy->renew(q, n, temporary, now_s);
    } else {
        q->policy->remove(q, n);
        q->policy->insert(q, n, temporary, now_s);
    }
}

/* Takes in a node that was of another policy. */
static void evict_insert_unjudged(struct evict_queue *q, struct node *n, uint32_t now_s) {
    q->unjudged++;
    q->policy->insert(q, n, false, now_s);
}

void evict_adopt(struct evict_queue *q, struct node *n, const struct evict_policy *from,
                 uint32_t now_s) {
    if (!evict_same_structure(q->policy, from)) {
        evict_insert_unjudged(q, n, now_s);
        return;
    }
    unsigned list = evict_list_of(n);
    const struct evict_list *l = &q->list[list];
    if (l->count > 0) {
        uint64_t middle_s = ((uint64_t)node_used_s(node_at(q->space, l->oldest)) +
                             node_used_s(node_at(q->space, l->newest))) /
                            2;
        if (node_used_s(n) < middle_s) {
            evict_list_push_oldest(q, list, n);
            return;
        }
    }
    evict_list_push(q, list, n);
}

void evict_restore(struct evict_queue *q, struct node *n, const struct evict_policy *from,
                   uint32_t now_s) {
    unsigned where = node_where(n);
    if (from == NULL || !evict_same_structure(q->policy, from)) {
        evict_insert_unjudged(q, n, now_s);
        return;
    }
    evict_list_push(q, where & EVICT_WHERE_LIST, n);
    node_set_where(n, where & ~(unsigned)EVICT_TAIL_BOTH & ~(unsigned)EVICT_TAIL_FIRST);
}

struct node *evict_oldest(const struct evict_queue *q) {
    struct node *oldest = NULL;
    for (unsigned i = 0; i < EVICT_LISTS; i++) {
        struct node *n = evict_list_oldest(q, i);
        if (n != NULL && (oldest == NULL || node_used_s(n) < node_used_s(oldest))) {
            oldest = n;
        }
    }
    return oldest;
}

bool evict_tuning_copy(struct evict_tuning *to, const struct evict_tuning *from) {
    _Atomic uint32_t *knobs = (void *)to;
    const _Atomic uint32_t *values = (const void *)from;
    bool same = true;
    for (size_t i = 0; i < sizeof *to / sizeof *knobs; i++) {
        uint32_t value = evict_knob(&values[i]);
        same = evict_knob(&knobs[i]) == value && same;
        atomic_store_explicit(&knobs[i], value, memory_order_relaxed);
    }
    return same;
}

void evict_switch(struct evict_queue *q, const struct evict_policy *to) {
    uint32_t tail = q->tail.want;
    bool same = evict_same_structure(q->policy, to);
    evict_tail_watch(q, 0);
    if (!same) {
        evict_memory_free(&q->memory);
    }
    if (!same && q->hand != 0) {
        /* Nodes behind a hand were hit and have lost their marks, but are still the oldest: the
         * next policy would evict them first. So they become the newest, as if they had moved. */
        evict_list_rotate(q, node_at(q->space, q->hand));
        q->hand = 0;
    }
    /* A policy of the same structure has other conditions for new nodes only. */
    uint32_t kept = same && q->policy != to ? q->list[EVICT_MAIN].count : 0,
             left = evict_lists_count(q) - kept;
    q->unjudged = left > q->unjudged ? left : q->unjudged;
    q->policy = to;
    evict_tail_watch(q, tail);
}
