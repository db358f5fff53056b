/* The past of one server: every snapshot of about an hour, packed, for each server.
 *
 * A block is TAPE_BLOCK_SAMPLES snapshots, one after the other. zlib packs all blocks but the last,
 * which is still filled. Forty classes that all change take about 6 MB an hour. Beyond the limits
 * of samples or bytes the tape drops the oldest block. Samples have indexes that never change:
 * tape_first(), the oldest, up to but without tape_end(). One thread. */
#ifndef CONSOLE_FACTS_TAPE_H
#define CONSOLE_FACTS_TAPE_H
#include "facts/stats_snapshot.h"

enum { TAPE_BLOCK_SAMPLES = 16, TAPE_HOUR_SAMPLES = 3600 };

struct tape;

/* NULL when out of memory. The last block stays even beyond the limits. */
struct tape *tape_create(unsigned samples_limit, size_t bytes_limit);
void tape_destroy(struct tape **tape);

/* Appends a snapshot taken at a time of day. False when out of memory: the past is then shorter,
 * and slatetop goes on. Cost: O(size of a snapshot), and every TAPE_BLOCK_SAMPLES half a
 * millisecond to pack the block. */
bool tape_add(struct tape *tape, const struct snapshot *snapshot, int64_t wall_ms);

uint64_t tape_first(const struct tape *tape);
uint64_t tape_end(const struct tape *tape);

/* Reads one sample, or only its time when snapshot is NULL; false when it is dropped already. The
 * snapshot is valid until the next call for the same tape. Cost: 0.2 ms to unpack a block, when the
 * sample is in another block than the last one read. */
bool tape_read(struct tape *tape, uint64_t index, const struct snapshot **snapshot,
               int64_t *wall_ms);

/* The last sample at or before a time of day, or the first one. Cost: one block. */
uint64_t tape_find(struct tape *tape, int64_t wall_ms);

/* Bytes held by the samples. */
size_t tape_bytes(const struct tape *tape);
#endif
