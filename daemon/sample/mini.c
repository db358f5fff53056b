#include "sample/mini.h"

#include <stdlib.h>
#include <string.h>

#include "base/prefetch.h"
#include "evict/evict_memory.h"
#include "sample/stream.h"

enum { NODE_SHIFT = 5, SWEPT_AN_INSERT = 16 };

struct entry {
    struct node node;
    uint64_t    hash;
    uint32_t    bytes;
    uint32_t    next; /* next in its bucket, or of the free entries */
};
_Static_assert(sizeof(struct entry) == 1 << NODE_SHIFT, "references count entries");

struct mini {
    struct evict_queue queue;
    struct node_space  space;
    struct entry      *entries; /* entries 1 to nodes_max; 0 is none */
    uint32_t          *buckets; /* references of the first entries; as many buckets as nodes */
    uint32_t          *expires_s; /* time of expiry by entry; 0: never */
    uint32_t           nodes_max, nodes, free;
    uint32_t           expiring;  /* nodes that expire */
    uint32_t           swept;   /* the entry that the sweep visited last */
    uint64_t           bytes, bytes_max;
};

static uint64_t mini_hash(const struct node *n) {
    return ((const struct entry *)(const void *)n)->hash;
}

struct mini *mini_create(const struct evict_policy *policy, const struct evict_tuning *tuning,
                         uint32_t nodes_max, uint64_t bytes_max) {
    struct mini *m = nodes_max > 0 && nodes_max < 1u << 31 ? calloc(1, sizeof *m) : NULL;
    if (m == NULL) {
        return NULL;
    }
    m->entries = calloc((size_t)nodes_max + 1, sizeof *m->entries);
    m->buckets = calloc(nodes_max, sizeof *m->buckets);
    m->expires_s = calloc((size_t)nodes_max + 1, sizeof *m->expires_s);
    if (m->entries == NULL || m->buckets == NULL || m->expires_s == NULL) {
        mini_destroy(&m);
        return NULL;
    }
    m->nodes_max = nodes_max;
    m->bytes_max = bytes_max != 0 ? bytes_max : UINT64_MAX;
    m->space = (struct node_space){
        .base = (char *)m->entries, .shift = NODE_SHIFT, .first = 1, .hash_of = mini_hash};
    evict_init(&m->queue, policy, tuning, &m->space);
    for (uint32_t i = nodes_max; i > 0; i--) {
        m->entries[i].next = m->free;
        m->free = i;
    }
    return m;
}

void mini_destroy(struct mini **taken) {
    if (*taken != NULL) {
        evict_fini(&(*taken)->queue);
        free((*taken)->entries);
        free((*taken)->buckets);
        free((*taken)->expires_s);
        free(*taken);
        *taken = NULL;
    }
}

/* The link that leads to the key's entry; a link of 0 if there is none. */
static uint32_t *mini_link(const struct mini *m, uint64_t hash) {
    uint32_t *link = &m->buckets[sample_slot(hash, m->nodes_max)];
    while (*link != 0 && m->entries[*link].hash != hash) {
        link = &m->entries[*link].next;
    }
    return link;
}

static void mini_set_expiry(struct mini *m, uint32_t ref, uint32_t expires_s) {
    m->expiring += (expires_s != 0) - (uint32_t)(m->expires_s[ref] != 0);
    m->expires_s[ref] = expires_s;
}

static void mini_drop(struct mini *m, uint32_t *link) {
    uint32_t ref = *link;
    struct entry *e = &m->entries[ref];
    evict_remove(&m->queue, &e->node);
    mini_set_expiry(m, ref, 0);
    m->bytes -= e->bytes;
    m->nodes--;
    *link = e->next;
    e->next = m->free;
    m->free = ref;
}

static bool mini_is_expired(const struct mini *m, uint32_t ref, uint32_t now_s) {
    return m->expires_s[ref] != 0 && m->expires_s[ref] <= now_s;
}

/* As mini_link, but drops the key first if its time has passed. */
static uint32_t *mini_find(struct mini *m, uint64_t hash, uint32_t now_s) {
    uint32_t *link = mini_link(m, hash);
    if (m->expiring > 0 && *link != 0 && mini_is_expired(m, *link, now_s)) {
        mini_drop(m, link);
        return mini_link(m, hash);
    }
    return link;
}

/* Visits the next entries and drops the expired ones, so that dead keys take no room from live
 * ones. */
static void mini_sweep(struct mini *m, uint32_t now_s) {
    for (unsigned i = 0; i < SWEPT_AN_INSERT && m->expiring > 0; i++) {
        m->swept = m->swept < m->nodes_max ? m->swept + 1 : 1;
        if (mini_is_expired(m, m->swept, now_s)) {
            mini_drop(m, mini_link(m, m->entries[m->swept].hash));
        }
    }
}

/* Makes room for so many bytes and a node. False: the policy evicts no more. */
static bool mini_make_room(struct mini *m, uint32_t bytes, uint32_t now_s) {
    while (m->free == 0 || m->bytes + bytes > m->bytes_max) {
        struct node *victim = evict_victim(&m->queue, now_s);
        if (victim == NULL) {
            return false;
        }
        evict_note_evicted(&m->queue, victim);
        mini_drop(m, mini_link(m, mini_hash(victim)));
    }
    return true;
}

static void mini_note_hit(struct mini *m, struct node *n, uint32_t now_s) {
    node_note_hit(n, m->queue.policy->hit_max, now_s);
    if (m->queue.policy->hit != NULL) {
        m->queue.policy->hit(&m->queue, n, now_s);
    }
}

static void mini_insert(struct mini *m, struct mini_item item, uint32_t now_s) {
    mini_sweep(m, now_s);
    if (item.bytes > m->bytes_max || !mini_make_room(m, item.bytes, now_s)) {
        return;
    }
    uint32_t *link = mini_link(m, item.hash), ref = m->free;
    struct entry *e = &m->entries[ref];
    m->free = e->next;
    *e = (struct entry){.hash = item.hash, .bytes = item.bytes};
    mini_set_expiry(m, ref, item.expires_s);
    node_set_time_s(&e->node, now_s);
    *link = ref;
    m->bytes += item.bytes;
    m->nodes++;
    evict_insert(&m->queue, &e->node, false, now_s);
}

bool mini_request(struct mini *m, struct mini_item item, uint32_t now_s) {
    uint32_t *link = mini_find(m, item.hash, now_s);
    struct entry *e = &m->entries[*link];
    bool hit = *link != 0;
    if (hit && e->bytes == item.bytes) {
        mini_note_hit(m, &e->node, now_s);
        return true;
    }
    if (hit) {
        mini_drop(m, link);
    }
    mini_insert(m, item, now_s);
    return hit;
}

bool mini_read(struct mini *m, uint64_t hash, uint32_t now_s) {
    uint32_t ref = *mini_find(m, hash, now_s);
    if (ref != 0) {
        mini_note_hit(m, &m->entries[ref].node, now_s);
    }
    return ref != 0;
}

void mini_fill(struct mini *m, struct mini_item item, uint32_t now_s) {
    if (*mini_find(m, item.hash, now_s) == 0) {
        mini_insert(m, item, now_s);
    }
}

void mini_store(struct mini *m, struct mini_item item, uint32_t now_s) {
    uint32_t *link = mini_find(m, item.hash, now_s);
    if (*link != 0 && m->entries[*link].bytes == item.bytes) {
        mini_set_expiry(m, *link, item.expires_s);
        evict_renew(&m->queue, &m->entries[*link].node, false, now_s);
        return;
    }
    if (*link != 0) {
        mini_drop(m, link);
    }
    mini_insert(m, item, now_s);
}

void mini_touch(struct mini *m, uint64_t hash, uint32_t expires_s, uint32_t now_s) {
    uint32_t ref = *mini_find(m, hash, now_s);
    if (ref != 0) {
        mini_set_expiry(m, ref, expires_s);
        mini_note_hit(m, &m->entries[ref].node, now_s);
    }
}

void mini_delete(struct mini *m, uint64_t hash) {
    uint32_t *link = mini_link(m, hash);
    if (*link != 0) {
        mini_drop(m, link);
    }
}

void mini_prefetch_bucket(const struct mini *m, uint64_t hash) {
    prefetch(&m->buckets[sample_slot(hash, m->nodes_max)]);
}
void mini_prefetch_key(const struct mini *m, uint64_t hash) {
    prefetch_to_write(&m->entries[m->buckets[sample_slot(hash, m->nodes_max)]]);
}

void mini_switch(struct mini *m, const struct evict_policy *policy) {
    evict_switch(&m->queue, policy);
}
void mini_set_bytes_max(struct mini *m, uint64_t bytes_max) { m->bytes_max = bytes_max; }

void mini_drop_above(struct mini *m, uint32_t below) {
    for (uint32_t b = 0; b < m->nodes_max; b++) {
        uint32_t *link = &m->buckets[b];
        while (*link != 0) {
            if (sample_takes(m->entries[*link].hash, below)) {
                link = &m->entries[*link].next;
            } else {
                mini_drop(m, link);
            }
        }
    }
}

uint32_t mini_nodes(const struct mini *m) { return m->nodes; }
uint32_t mini_nodes_max(const struct mini *m) { return m->nodes_max; }
uint64_t mini_bytes(const struct mini *m) { return m->bytes; }
uint64_t mini_bytes_max(const struct mini *m) { return m->bytes_max; }

size_t mini_memory(const struct evict_policy *policy, uint32_t nodes_max) {
    return sizeof(struct mini) + sizeof(struct entry) +
           (size_t)nodes_max *
               (sizeof(struct entry) + 2 * sizeof(uint32_t) + policy->bytes_per_item);
}
