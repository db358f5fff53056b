/* The last value stored under each key of a trace, and the number of keys. A read that hit in the
 * recorded server may miss in a smaller cache; then the cache stores this value.
 *
 * A key is its hash of 64 bits: two of 10^19 keys are taken for one. Memory: 21 to 43 bytes a key,
 * at most 2 GiB. Threading: one thread at a time. Cost: a cache miss a call. */
#ifndef SLATE_SIMULATE_TRACE_RECALL_H
#define SLATE_SIMULATE_TRACE_RECALL_H
#include <stdbool.h>
#include <stdint.h>

#define SIMULATE_RECALL_MAX (UINT64_C(3) << 25) /* keys: a hundred million */

struct simulate_value {
    uint32_t value_bytes, ttl_s;
};

struct simulate_recall;
struct simulate_recall *simulate_recall_create(void); /* NULL: out of memory */
void                    simulate_recall_destroy(struct simulate_recall **);
/* false: out of memory, or SIMULATE_RECALL_MAX */
bool simulate_recall_put(struct simulate_recall *, uint64_t hash, struct simulate_value);
uint64_t simulate_recall_count(const struct simulate_recall *);
bool simulate_recall_get(const struct simulate_recall *, uint64_t hash, struct simulate_value *);
#endif
