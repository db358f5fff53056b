/* Miss-ratio curves: for each slab class, which share of its reads would hit at any size, under the
 * LRU. A key whose copy has expired misses (sample/curve_copies.h); its bytes no longer count.
 *
 * The time of the last use of every sampled key stands in a treap, whose nodes have the sum of the
 * bytes below them. So the reuse distance, the bytes of other keys that were used since then, costs
 * O(log keys). Distances are divided by the sampling rate and counted in a histogram of four steps
 * an octave. At most keys_max keys stay: beyond that the rate is halved and the keys above the new
 * rate are forgotten (fixed-size SHARDS). The rate rises again, and the curve begins anew, when the
 * stream's rate is at least four times as high and the keys will have room. The curve of the whole
 * cache assumes that all classes grow by one factor. At most classes_max classes have a curve:
 * those that were read first. Later a class with more than twice the reads takes the place of the
 * one with the fewest.
 *
 * Source: Waldspurger and others, "Efficient MRC Construction with SHARDS", FAST 2015. Memory: 60
 * bytes a key and 0.5 KiB a class, all of it taken at the start. Threading: one owner. */
#ifndef SLATE_SAMPLE_CURVE_H
#define SLATE_SAMPLE_CURVE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CURVE_CLASSES = 256, CURVE_ALL = 0 };
#define CURVE_UNBOUNDED 1e18 /* bytes: as much memory as keys can use */

struct curve;
/* NULL: out of memory, or not 1 to 2^31 - 1 keys and 1 to 255 classes. */
struct curve *curve_create(uint32_t keys_max, unsigned classes_max);
void          curve_destroy(struct curve **);
/* bytes that such a curve takes */
size_t        curve_memory(uint32_t keys_max, unsigned classes_max);

/* The stream holds keys below this from now on (sample/stream.h). */
void curve_set_below(struct curve *, uint32_t below);

struct curve_use {
    uint64_t hash;
    unsigned class_id;  /* not CURVE_ALL */
    uint32_t bytes;     /* size of the key's stored item */
    uint32_t expires_s; /* of a copy that is stored now; 0: never */
};
/* Notes a read, and the set after it where the read misses. hit: the cache itself had the key. */
void curve_read(struct curve *, struct curve_use, bool hit, uint32_t now_s);
/* Notes a set that follows no miss. */
void curve_store(struct curve *, struct curve_use, uint32_t now_s);
void curve_set_expiry(struct curve *, uint64_t hash, uint32_t expires_s);
void curve_gone(struct curve *, uint64_t hash); /* the key's next read misses at any size */
/* Prefetch for a key that comes soon, as mini_prefetch_bucket and mini_prefetch_key do. */
void curve_prefetch_bucket(const struct curve *, uint64_t hash);
void curve_prefetch_key(const struct curve *, uint64_t hash);
void curve_fade(struct curve *, double factor);   /* multiplies past counts by `factor` */
/* Forgets all counts, but no key: the classes have other sizes of chunks from now on. */
void curve_restart(struct curve *);
/* Takes the cache's hits by class since the last call, of sampled and other keys. One hot key makes
 * the sample's hits too many if it is sampled, and too few if not. So the difference from all hits,
 * scaled to the sample, is added to the shortest distances (SHARDS_adj, by class). */
void curve_expect(struct curve *, const double class_hits[CURVE_CLASSES]);

/* The place of a class among classes_max, from 0, for other code that counts by class; -1: none,
 * for lack of reads. */
int    curve_place(const struct curve *, unsigned class_id);
/* Sampled reads; older ones count less. */
double curve_reads(const struct curve *, unsigned class_id);
/* The sampled reads of keys that were never used before, as far as known: no memory makes them
 * hits. A key whose copies have expired, or that was deleted, stays known while there is room. -1:
 * not known, since many such keys had to be forgotten. */
double curve_first_reads(const struct curve *, unsigned class_id);
/* The predicted hit ratio of a class with `bytes` of memory, from 0 to 1; 0 without reads. */
double curve_hit_ratio(const struct curve *, unsigned class_id, double bytes);
/* The predicted hit ratio of all classes together, each in `factor` times its bytes; and the
 * sampled hits behind it. */
double curve_all_hits(const struct curve *, const double bytes[CURVE_CLASSES], double factor);
double curve_all_hit_ratio(const struct curve *, const double bytes[CURVE_CLASSES], double factor);
/* The share of the reads that missed in the cache itself, as the sample has it. */
double curve_miss_ratio(const struct curve *);
/* The share of the cache's misses of late that are compulsory: any memory would have missed, since
 * the key was new or had expired. error: the standard error, from the number of misses and from how
 * fast the share changes. */
double curve_compulsory_ratio(const struct curve *, double *error);
/* The sampled requests by which a class with so many bytes takes memory: for new keys, and reads
 * that miss and would hit with more. */
double curve_taking(const struct curve *, unsigned class_id, double bytes);
/* How many sampled misses count as one, since those of a key are not independent: at least 1. */
double curve_reads_a_key(const struct curve *, unsigned class_id);
/* The standard error of reuse distances of about so many bytes, as a ratio. */
double curve_distance_error(const struct curve *, const double bytes[CURVE_CLASSES]);
/* The standard errors of these ratios in `factor` times the bytes of today, as other samples of the
 * keys would differ. The number of hits is known, so one part comes from the misses: those of
 * today, and those that the other size has more or fewer. The other part comes from the distances,
 * which a few keys make. */
double curve_error(const struct curve *, unsigned class_id, double bytes, double factor);
double curve_all_error(const struct curve *, const double bytes[CURVE_CLASSES], double factor);
#endif
