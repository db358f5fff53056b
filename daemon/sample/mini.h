/* A miniature cache: one eviction policy over keys without values, to predict a policy's hits.
 *
 * A miniature holds nodes as the cache's items do, so the code of evict/ runs here unchanged: on a
 * sample of the cache's keys with the same share of its memory (what-if), or on a whole trace at
 * full size (the simulator). A request is a get and, after a miss, a set. A key that has expired is
 * not there; each insertion visits sixteen nodes and frees the expired ones, so that few dead keys
 * take room from live ones. Memory: 40 bytes a node and the policy's bytes_per_item, all taken at
 * the start. Threading: one thread at a time. Cost: the policy's, and two cache misses. Source of
 * the idea: Waldspurger and others, "Cache Modeling and Optimization using Miniature Simulations",
 * USENIX ATC 2017. */
#ifndef SLATE_SAMPLE_MINI_H
#define SLATE_SAMPLE_MINI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evict/evict.h"

struct mini;

/* Holds at most `nodes_max` keys and, unless bytes_max is 0, at most `bytes_max` bytes of items.
 * NULL: out of memory, or nodes_max is 0. The caller owns the tuning, which must outlive the
 * miniature. */
struct mini *mini_create(const struct evict_policy *, const struct evict_tuning *,
                         uint32_t nodes_max, uint64_t bytes_max);
void         mini_destroy(struct mini **);

/* A key's stored item; the hash stands for the key. */
struct mini_item {
    uint64_t hash;
    uint32_t bytes, expires_s; /* expires_s 0: never */
};
/* One request for the key. Returns whether the key was there. After a miss the key is stored,
 * unless its item is larger than bytes_max or the policy has no victim. A key that was there with
 * another size is stored anew and counts as a hit. */
bool mini_request(struct mini *, struct mini_item, uint32_t now_s);
/* The two parts of a request: a get, and the set that follows a get that missed. If the key is
 * there by then, the set has no effect. */
bool mini_read(struct mini *, uint64_t hash, uint32_t now_s);
void mini_fill(struct mini *, struct mini_item, uint32_t now_s);
/* A set that follows no miss. */
void mini_store(struct mini *, struct mini_item, uint32_t now_s);
/* Sets the time of expiry of a key that is there. */
void mini_touch(struct mini *, uint64_t hash, uint32_t expires_s, uint32_t now_s);
void mini_delete(struct mini *, uint64_t hash);

/* Prefetches for a request that comes soon: first call the one, and after some time the other. */
void mini_prefetch_bucket(const struct mini *, uint64_t hash);
void mini_prefetch_key(const struct mini *, uint64_t hash);

/* --- changes while the miniature runs --- */
void mini_switch(struct mini *, const struct evict_policy *);
/* bytes_max is not 0; if there is too much, the next insertion evicts it. */
void mini_set_bytes_max(struct mini *, uint64_t bytes_max);
/* Drops the keys that leave the sample when only hashes below this are in it (sample/stream.h). */
void mini_drop_above(struct mini *, uint32_t below);

uint32_t mini_nodes(const struct mini *);
uint32_t mini_nodes_max(const struct mini *);
uint64_t mini_bytes(const struct mini *);
uint64_t mini_bytes_max(const struct mini *);
/* The most bytes that such a miniature takes, with its policy's memory. */
size_t   mini_memory(const struct evict_policy *, uint32_t nodes_max);
#endif
