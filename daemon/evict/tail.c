/* The tail of a queue: the nodes that would go next, exact while nodes come and go.
 *
 * The list that victims come from is a queue, so its tail is the run from its oldest node to a
 * boundary. For each node that leaves the run, the boundary moves by one towards newer nodes, and
 * marks the nodes that it passes. */
#include "evict/tail.h"

/* the most steps of a boundary in one call: a tail that is too short grows faster than it
 * shrinks */
enum { STEPS = 2 };
static const uint8_t bits[EVICT_TAILS] = {EVICT_TAIL_FIRST, EVICT_TAIL_BOTH};

static struct node *tail_node(const struct evict_queue *q, uint32_t ref) {
    return node_at(q->space, ref);
}

static void tail_fill_part(struct evict_queue *q, unsigned part, uint32_t steps) {
    struct evict_tail *t = &q->tail;
    for (; steps > 0 && t->count[part] < t->want * (part + 1); steps--) {
        uint32_t ref = t->newest[part] != 0 ? node_next(tail_node(q, t->newest[part]))
                                            : q->list[q->policy->tail_list].oldest;
        if (ref == 0) {
            return; /* the tail is the whole list */
        }
        struct node *n = tail_node(q, ref);
        node_set_where(n, node_where(n) | bits[part]);
        t->newest[part] = ref;
        t->count[part]++;
        __builtin_prefetch(tail_node(q, node_next(n)), 1); /* the next step begins there */
    }
}

/* Fills the longer run first: its mark, EVICT_TAIL_BOTH, is in every node of the tail. */
void evict_tail_fill(struct evict_queue *q) {
    for (unsigned part = EVICT_TAILS; part-- > 0;) {
        tail_fill_part(q, part, STEPS);
    }
}

void evict_tail_leave(struct evict_queue *q, const struct node *n) {
    uint32_t ref = node_ref(q->space, n);
    for (unsigned part = 0; part < EVICT_TAILS; part++) {
        if (!(node_where(n) & bits[part])) {
            continue;
        }
        q->tail.count[part]--;
        if (q->tail.newest[part] == ref) {
            q->tail.newest[part] = node_prev(n);
        }
    }
}

void evict_tail_join(struct evict_queue *q, struct node *n) {
    struct evict_tail *t = &q->tail;
    for (unsigned part = 0; part < EVICT_TAILS; part++) {
        node_set_where(n, node_where(n) | bits[part]);
        t->count[part]++;
        if (t->newest[part] == 0) {
            t->newest[part] = node_ref(q->space, n);
        }
        if (t->count[part] > t->want * (part + 1)) {
            struct node *last = tail_node(q, t->newest[part]);
            node_set_where(last, node_where(last) & (unsigned)~bits[part]);
            t->newest[part] = node_prev(last);
            t->count[part]--;
        }
    }
}

void evict_tail_replace(struct evict_queue *q, const struct node *from, const struct node *to) {
    uint32_t ref = node_ref(q->space, from);
    for (unsigned part = 0; part < EVICT_TAILS; part++) {
        if (q->tail.newest[part] == ref) {
            q->tail.newest[part] = node_ref(q->space, to);
        }
    }
}

void evict_tail_watch(struct evict_queue *q, uint32_t want) {
    if (q->tail.want == want) {
        return;
    }
    struct node *n = q->tail.count[EVICT_TAILS - 1] > 0
                         ? tail_node(q, q->list[q->policy->tail_list].oldest)
                         : NULL;
    for (uint32_t i = q->tail.count[EVICT_TAILS - 1]; i > 0; i--) {
        node_set_where(n, node_where(n) & (unsigned)~(EVICT_TAIL_FIRST | EVICT_TAIL_BOTH));
        n = i > 1 ? tail_node(q, node_next(n)) : NULL;
    }
    q->tail = (struct evict_tail){.want = want};
    for (unsigned part = EVICT_TAILS; part-- > 0;) {
        tail_fill_part(q, part, want * (part + 1));
    }
}
