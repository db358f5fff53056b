/* The list of policies, and what a queue does in the same way under each of them: beginning,
 * ending, renewing, adopting, switching. */
#include "evict/evict.h"

#include <string.h>

#include "evict/evict_memory.h"

const struct evict_policy *const evict_policies[] = {
    &evict_slru,   &evict_lru,   &evict_bag,    &evict_fifo,    &evict_clock, &evict_clock2,
    &evict_clock3, &evict_sieve, &evict_s3fifo, &evict_tinylfu, &evict_none,
    &evict_s3skip, &evict_s3wide, NULL,
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
    return a == b || (a->insert == b->insert && a->victim == b->victim);
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
        struct node *n = evict_oldest_in(q, i);
        if (n != NULL && (oldest == NULL || node_used_s(n) < node_used_s(oldest))) {
            oldest = n;
        }
    }
    return oldest;
}

static bool evict_knob_copy(_Atomic uint32_t *to, const _Atomic uint32_t *from) {
    uint32_t value = evict_knob(from), was = evict_knob(to);
    atomic_store_explicit(to, value, memory_order_relaxed);
    return value == was;
}

bool evict_tuning_copy(struct evict_tuning *to, const struct evict_tuning *from) {
    bool same = evict_knob_copy(&to->hot_pct, &from->hot_pct);
    same = evict_knob_copy(&to->warm_pct, &from->warm_pct) && same;
    same = evict_knob_copy(&to->hot_factor_pct, &from->hot_factor_pct) && same;
    same = evict_knob_copy(&to->warm_factor_pct, &from->warm_factor_pct) && same;
    same = evict_knob_copy(&to->small_pct, &from->small_pct) && same;
    same = evict_knob_copy(&to->ghost_pct, &from->ghost_pct) && same;
    same = evict_knob_copy(&to->promote_hits, &from->promote_hits) && same;
    return evict_knob_copy(&to->skip_pct, &from->skip_pct) && same;
}

/* A hand has taken the marks off the nodes behind it, which were hit, and they are the oldest
 * still. So the next policy would begin with them. They become the newest, as if they had moved. */
static void evict_rotate_to_hand(struct evict_queue *q) {
    if (q->hand != 0) {
        evict_list_rotate(q, node_at(q->space, q->hand));
        q->hand = 0;
    }
}

void evict_switch(struct evict_queue *q, const struct evict_policy *to) {
    uint32_t tail = q->tail.want;
    bool same = evict_same_structure(q->policy, to);
    evict_tail_watch(q, 0);
    if (!same) {
        evict_memory_free(&q->memory);
        evict_rotate_to_hand(q);
    }
    /* One that is alike differs in what it asks of new nodes. */
    uint32_t left = same && q->policy != to ? q->list[EVICT_NEW].count : evict_count(q);
    q->unjudged = left > q->unjudged ? left : q->unjudged;
    q->policy = to;
    evict_tail_watch(q, tail);
}
