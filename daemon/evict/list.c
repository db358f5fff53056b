/* The lists of a queue, for the files of the policies. */
#include "evict/list.h"
#include "evict/tail.h"

static struct node *list_node(const struct evict_queue *q, uint32_t ref) {
    return node_at(q->space, ref);
}

/* Sets the links of a place's neighbours, or the list's ends where there is no neighbour. */
static inline void list_link_neighbours(const struct evict_queue *q, struct evict_list *l,
                                        uint32_t prev, uint32_t next, uint32_t after_prev,
                                        uint32_t before_next) {
    if (prev != 0) {
        node_set_next(list_node(q, prev), after_prev);
    } else {
        l->oldest = after_prev;
    }
    if (next != 0) {
        node_set_prev(list_node(q, next), before_next);
    } else {
        l->newest = before_next;
    }
}

void evict_list_push(struct evict_queue *q, unsigned list, struct node *n) {
    struct evict_list *l = &q->list[list];
    uint32_t ref = node_ref(q->space, n);
    node_set_where(n, list);
    node_set_next(n, 0);
    node_set_prev(n, l->newest);
    list_link_neighbours(q, l, l->newest, 0, ref, ref);
    l->count++;
    if (q->tail.want != 0 && list == q->policy->tail_list) {
        evict_tail_fill(q);
    }
}

void evict_list_insert(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    (void)temporary, (void)now_s;
    evict_list_push(q, EVICT_MAIN, n);
}

void evict_list_push_oldest(struct evict_queue *q, unsigned list, struct node *n) {
    struct evict_list *l = &q->list[list];
    uint32_t ref = node_ref(q->space, n);
    node_set_where(n, list);
    node_set_prev(n, 0);
    node_set_next(n, l->oldest);
    list_link_neighbours(q, l, 0, l->oldest, ref, ref);
    l->count++;
    if (q->tail.want != 0 && list == q->policy->tail_list) {
        evict_tail_join(q, n);
    }
}

void evict_list_remove(struct evict_queue *q, struct node *n) {
    struct evict_list *l = &q->list[evict_list_of(n)];
    bool in_tail = node_where(n) & EVICT_TAIL_BOTH;
    if (in_tail) {
        evict_tail_leave(q, n);
    }
    list_link_neighbours(q, l, node_prev(n), node_next(n), node_next(n), node_prev(n));
    l->count--;
    if (in_tail) {
        evict_tail_fill(q);
    }
}

void evict_list_move(struct evict_queue *q, struct node *n, unsigned list) {
    evict_list_remove(q, n);
    evict_list_push(q, list, n);
}

void evict_list_rotate(struct evict_queue *q, struct node *n) {
    struct evict_list *l = &q->list[evict_list_of(n)];
    if (node_prev(n) != 0) {
        node_set_next(list_node(q, l->newest), l->oldest);
        node_set_prev(list_node(q, l->oldest), l->newest);
        l->newest = node_prev(n);
        l->oldest = node_ref(q->space, n);
        node_set_next(list_node(q, l->newest), 0);
        node_set_prev(n, 0);
    }
}

void evict_list_replace(struct evict_queue *q, const struct node *from, struct node *to) {
    struct evict_list *l = &q->list[evict_list_of(from)];
    uint32_t ref = node_ref(q->space, to);
    if (q->hand == node_ref(q->space, from)) {
        q->hand = ref;
    }
    node_set_next(to, node_next(from));
    node_set_prev(to, node_prev(from));
    if (node_where(from) & EVICT_TAIL_BOTH) {
        evict_tail_replace(q, from, to);
    }
    list_link_neighbours(q, l, node_prev(to), node_next(to), ref, ref);
}

void evict_list_renew(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    (void)q, (void)temporary, (void)now_s;
    node_set_where(n, node_where(n) | EVICT_RENEWED);
}

struct node *evict_list_oldest(const struct evict_queue *q, unsigned list) {
    return q->list[list].oldest != 0 ? list_node(q, q->list[list].oldest) : NULL;
}

uint32_t evict_lists_count(const struct evict_queue *q) {
    uint32_t n = 0;
    for (unsigned i = 0; i < EVICT_LISTS; i++) {
        n += q->list[i].count;
    }
    return n;
}

struct node *evict_list_search_leftover(struct evict_queue *q, unsigned lists,
                                        const struct node *own, unsigned spare_hits,
                                        uint32_t now_s) {
    for (unsigned tries = 0; tries < EVICT_SEARCH_MOST; tries++) {
        struct node *oldest = NULL;
        for (unsigned i = 0; i < EVICT_LISTS; i++) {
            struct node *n = lists >> i & 1 ? evict_list_oldest(q, i) : NULL;
            if (n != NULL && (oldest == NULL || node_time_s(n) < node_time_s(oldest))) {
                oldest = n;
            }
        }
        if (oldest == NULL || (own != NULL && node_mark(own) == 0 &&
                               node_time_s(own) < node_time_s(oldest))) {
            return NULL;
        }
        if (!evict_list_spares(q, oldest, spare_hits)) {
            return oldest;
        }
        node_renew(oldest, 0, now_s, q->flushed_s);
        evict_list_move(q, oldest, EVICT_MAIN);
    }
    return NULL;
}

struct node *evict_list_next_round(struct evict_queue *q, unsigned spare_hits, uint32_t now_s) {
    enum { OTHERS = 1 << EVICT_NEW | 1 << EVICT_OLD | 1 << EVICT_TEMP };
    struct node *own = evict_list_oldest(q, EVICT_MAIN),
                *left = evict_list_leftover(q, OTHERS, own, spare_hits, now_s);
    if (left != NULL) {
        return left;
    }
    own = evict_list_oldest(q, EVICT_MAIN);
    for (unsigned i = 0;
         i < EVICT_SEARCH_MOST && own != NULL && evict_list_spares(q, own, spare_hits); i++) {
        if (node_hits(own) > 0) {
            node_renew(own, node_hits(own) - 1, now_s, q->flushed_s);
        }
        evict_list_move(q, own, EVICT_MAIN);
        q->moves.within++;
        own = evict_list_oldest(q, EVICT_MAIN);
    }
    return own;
}
