/* Every policy as a queue: each node goes once, in an order that is the policy's. */
#include "tap.h"

#include "evict/evict.h"

enum { NODES = 1000 };
static struct node nodes[NODES + 1]; /* reference 0 is none */
static struct node_space space = {.base = (char *)nodes, .shift = 4};
static struct evict_tuning tuning = {20, 40, 20, 200};

static void fresh(struct evict_queue *q, const struct evict_policy *p) {
    memset(nodes, 0, sizeof nodes);
    evict_init(q, p, &tuning, &space);
}

static struct node *insert(struct evict_queue *q, unsigned n, uint32_t now_s) {
    node_set_mark(&nodes[n], 0);
    node_set_time_s(&nodes[n], now_s);
    evict_insert(q, &nodes[n], false, now_s);
    return &nodes[n];
}

/* A hit as the cache notes it. */
static void hit(struct evict_queue *q, unsigned n, uint32_t now_s) {
    struct node *node = &nodes[n];
    unsigned hits = node_hits(node) < q->policy->hit_max ? node_hits(node) + 1 : node_hits(node);
    node_set_mark(node, (uint8_t)(node_age_code(now_s - node_time_s(node)) << 3 | hits));
    if (q->policy->hit != NULL) {
        q->policy->hit(q, node, now_s);
    }
}

static unsigned take_victim(struct evict_queue *q, uint32_t now_s) {
    struct node *v = evict_victim(q, now_s);
    if (v == NULL) {
        return 0;
    }
    evict_remove(q, v);
    return (unsigned)(v - nodes);
}

static void test_every_node_goes_once(const struct evict_policy *p, uint64_t x) {
    struct evict_queue q;
    static unsigned gone[NODES + 1];
    memset(gone, 0, sizeof gone);
    fresh(&q, p);
    for (unsigned n = 1; n <= NODES; n++) {
        insert(&q, n, n / 10);
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        hit(&q, 1 + (unsigned)(x % n), n / 10);
    }
    is(evict_count(&q), NODES, "%s: counts what was inserted", p->name);
    unsigned victim, wrong = 0;
    while ((victim = take_victim(&q, 200)) != 0) {
        wrong += gone[victim]++ != 0;
    }
    for (unsigned n = 1; n <= NODES; n++) {
        wrong += gone[n] != 1;
    }
    is(wrong, 0, "%s: every node is a victim exactly once", p->name);
    is(evict_count(&q), 0, "%s: then nothing is left", p->name);
}

static void test_a_moved_node_keeps_its_place(const struct evict_policy *p) {
    struct evict_queue q;
    fresh(&q, p);
    for (unsigned n = 1; n <= 9; n++) {
        insert(&q, n, n);
    }
    struct node *v = evict_victim(&q, 20);
    struct node *to = &nodes[50];
    *to = *v;
    evict_moved(&q, v, to);
    ok(evict_victim(&q, 20) == to, "%s: the copy of the next victim is the next victim", p->name);
    evict_remove(&q, to);
    is(evict_count(&q), 8, "%s: and counts once", p->name);
}

static void test_a_switch_keeps_nodes_and_order(const struct evict_policy *from, const struct evict_policy *to) {
    struct evict_queue q;
    fresh(&q, from);
    for (unsigned n = 1; n <= 100; n++) {
        insert(&q, n, n);
    }
    evict_switch(&q, to, 101);
    is(evict_count(&q), 100, "%s to %s: every node stays", from->name, to->name);
    unsigned last = 0, inversions = 0;
    for (unsigned i = 0; i < 50; i++) {
        unsigned v = take_victim(&q, 102);
        inversions += v < last;
        last = v;
    }
    is(inversions, 0, "%s to %s: the oldest still go first", from->name, to->name);
}

static void test_lru_takes_the_least_recently_used(void) {
    struct evict_queue q;
    fresh(&q, &evict_lru);
    for (unsigned n = 1; n <= 5; n++) {
        insert(&q, n, n);
    }
    hit(&q, 1, 10);
    hit(&q, 3, 11);
    unsigned want[] = {2, 4, 5, 1, 3}, wrong = 0;
    for (unsigned i = 0; i < 5; i++) {
        wrong += take_victim(&q, 20) != want[i];
    }
    is(wrong, 0, "lru: victims come in order of last use");
}

static void test_slru_moves_as_memcached_does(void) {
    struct evict_queue q;
    fresh(&q, &evict_slru);
    for (unsigned n = 1; n <= 100; n++) {
        insert(&q, n, 5);
    }
    ok(q.list[0].count <= 21 && q.list[0].count >= 19, "slru: hot keeps its share (%u of 100)", q.list[0].count);
    is(q.list[0].count + q.list[2].count, 100, "slru: what was never hit goes from hot to cold");
    hit(&q, 1, 6);
    is(take_victim(&q, 7), 1, "slru: one hit does not save a cold item");
    hit(&q, 2, 6);
    hit(&q, 2, 6);
    is(take_victim(&q, 7), 3, "slru: two hits do");
    is(node_where(&nodes[2]), 1, "slru: it went to warm");
    evict_insert(&q, &nodes[200], true, 7);
    is(q.list[3].count, 1, "slru: a short-lived item goes to temp");
    for (unsigned i = 0; i < 98; i++) {
        take_victim(&q, 8);
    }
    is(take_victim(&q, 9), 200, "slru: temp is evicted last");
}

static void test_marks_tell_age_within_a_third(void) {
    unsigned wrong = 0;
    for (uint32_t age_s = 0; age_s < 40000; age_s++) {
        uint32_t told = node_age_s(node_age_code(age_s));
        wrong += told > age_s || (age_s < 40000 && told * 3 < age_s * 2);
    }
    is(wrong, 0, "an age up to 11 hours is told within a third, never too old");
    is(node_age_code(UINT32_MAX), 31, "and any age has a code of five bits");
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    for (unsigned i = 0; evict_policies[i] != NULL; i++) {
        test_every_node_goes_once(evict_policies[i], seed);
        test_a_moved_node_keeps_its_place(evict_policies[i]);
        for (unsigned j = 0; evict_policies[j] != NULL; j++) {
            if (i != j) {
                test_a_switch_keeps_nodes_and_order(evict_policies[i], evict_policies[j]);
            }
        }
    }
    test_lru_takes_the_least_recently_used();
    test_slru_moves_as_memcached_does();
    test_marks_tell_age_within_a_third();
    return tap_done();
}
