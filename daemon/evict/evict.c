#include "evict/evict.h"

#include <string.h>

const struct evict_policy *const evict_policies[] = {&evict_slru, &evict_lru, NULL};

const struct evict_policy *evict_find(const char *name) {
    for (unsigned i = 0; evict_policies[i] != NULL; i++) {
        if (strcmp(evict_policies[i]->name, name) == 0) {
            return evict_policies[i];
        }
    }
    return NULL;
}

void evict_init(struct evict_queue *q, const struct evict_policy *policy, const struct evict_tuning *tuning,
                const struct node_space *space) {
    *q = (struct evict_queue){.policy = policy, .tuning = tuning, .space = space};
}

static struct node *at(const struct evict_queue *q, uint32_t ref) { return node_at(q->space, ref); }

void evict_list_push(struct evict_queue *q, unsigned list, struct node *n) {
    struct evict_list *l = &q->list[list];
    uint32_t ref = node_ref(q->space, n);
    node_set_where(n, list);
    node_set_next(n, 0);
    node_set_prev(n, l->newest);
    if (l->newest != 0) {
        node_set_next(at(q, l->newest), ref);
    } else {
        l->oldest = ref;
    }
    l->newest = ref;
    l->count++;
}

void evict_list_remove(struct evict_queue *q, struct node *n) {
    struct evict_list *l = &q->list[node_where(n)];
    if (node_next(n) != 0) {
        node_set_prev(at(q, node_next(n)), node_prev(n));
    } else {
        l->newest = node_prev(n);
    }
    if (node_prev(n) != 0) {
        node_set_next(at(q, node_prev(n)), node_next(n));
    } else {
        l->oldest = node_next(n);
    }
    l->count--;
}

void evict_moved(struct evict_queue *q, const struct node *from, struct node *to) {
    struct evict_list *l = &q->list[node_where(from)];
    uint32_t ref = node_ref(q->space, to);
    node_set_next(to, node_next(from));
    node_set_prev(to, node_prev(from));
    if (node_next(to) != 0) {
        node_set_prev(at(q, node_next(to)), ref);
    } else {
        l->newest = ref;
    }
    if (node_prev(to) != 0) {
        node_set_next(at(q, node_prev(to)), ref);
    } else {
        l->oldest = ref;
    }
}

struct node *evict_oldest_in(const struct evict_queue *q, unsigned list) {
    return q->list[list].oldest != 0 ? at(q, q->list[list].oldest) : NULL;
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

uint32_t evict_count(const struct evict_queue *q) {
    uint32_t n = 0;
    for (unsigned i = 0; i < EVICT_LISTS; i++) {
        n += q->list[i].count;
    }
    return n;
}

void evict_switch(struct evict_queue *q, const struct evict_policy *to, uint32_t now_s) {
    if (q->policy == to) {
        return;
    }
    struct evict_queue was = *q;
    memset(q->list, 0, sizeof q->list);
    q->policy = to;
    /* Victims first, so that the new order is the old one; each list is one the old policy kept by age. */
    for (;;) {
        struct node *n = evict_oldest(&was);
        if (n == NULL) {
            return;
        }
        evict_list_remove(&was, n);
        node_renew(n, node_hits(n) > to->hit_max ? to->hit_max : node_hits(n));
        to->insert(q, n, false, now_s);
    }
}
