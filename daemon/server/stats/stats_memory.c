/* stats memory: how the process uses its memory. */
#include <inttypes.h>

#include "server/stats/stats.h"

/* clang-format off */
#define MEMORY_STATS(X) \
    X(process_limit, gauge, bytes, U64, m->limit_bytes, \
      "memory for the whole process (process_memory); 0: no limit") \
    X(resident, gauge, bytes, U64, m->resident_bytes, "memory of the process that is in RAM") \
    X(resident_most, gauge, bytes, U64, m->resident_most_bytes, \
      "most memory of the process that was seen in RAM, read ten times a second; of the " \
      "control group where that is more") \
    X(items_requested, gauge, bytes, U64, m->requested_bytes, \
      "memory for items that was requested (-m, cache_memlimit)") \
    X(items_limit, gauge, bytes, U64, m->items_limit_bytes, "memory that items may take now") \
    X(items, gauge, bytes, U64, m->items_bytes, "memory of the pages that items have") \
    X(index, gauge, bytes, U64, m->index_bytes, "memory of the index") \
    X(samples, gauge, bytes, U64, m->sample_bytes, \
      "memory of sampled keys, curves and miniature caches") \
    X(buffers, gauge, bytes, U64, m->buffer_bytes, \
      "memory of requests that have not come whole, and of replies that clients have not taken " \
      "(read_buf_mem_limit)") \
    X(connections, gauge, bytes, U64, m->connection_bytes, \
      "memory of connections: their number times the memory of one") \
    X(at_start, gauge, bytes, U64, m->start_bytes, "memory in RAM when the server began to serve") \
    X(other, gauge, bytes, U64, m->other_bytes, \
      "memory in RAM beyond all other parts: the program, threads, the allocator, libraries") \
    X(reserved, gauge, bytes, U64, m->reserved_bytes, \
      "memory that buffers and connections may still take") \
    X(limit_lowered, counter, operations, U64, m->lowered, \
      "times that the memory for items was lowered because other parts of the process took more") \
    X(limit_raised, counter, operations, U64, m->raised, \
      "times that the memory for items was raised again") \
    X(allocator_trims, counter, operations, U64, m->trims, \
      "times that the allocator gave memory back because the limit was near") \
    X(group_limit, gauge, bytes, U64, m->group_limit_bytes, \
      "memory that the control group allows; 0: no limit, or no group") \
    X(group, gauge, bytes, U64, m->group_bytes, \
      "memory that the control group takes, without cached files that can be dropped") \
    X(group_pressure, gauge, percent, RATIO, m->pressure_pct, \
      "share of the last ten seconds in which a process of the control group waited for memory")
/* clang-format on */

const struct counter_info stats_memory_info[] = {MEMORY_STATS(STATS_INFO){NULL, NULL, NULL, NULL}};

void stats_memory(struct command_context *ctx) {
    struct text_out *out = ctx->out;
    struct memory_facts facts, *const m = &facts;
    server_memory_facts(ctx->server, m);
    MEMORY_STATS(STATS_PUT)
}
