/* Where requests come from: a random mix, the loading of every key, or a trace. A source yields
 * one key at a time and knows nothing of connections, batches or replies. One thread each. */
#ifndef LOAD_SOURCE_H
#define LOAD_SOURCE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

struct request {
    enum verb verb;
    unsigned key_bytes;
    uint64_t key_hash;
    uint64_t value_bytes; /* to be written, now or after a miss */
    uint64_t ttl_s;       /* of a value written, now or after a miss */
    uint64_t time_ms;     /* of a trace with times, since its own zero */
    bool     is_filled;   /* after a miss; false if a trace with stores of its own has no size */
    char key[KEY_MAX_BYTES + 1];
};

enum source_step { SOURCE_REQUEST, SOURCE_END, SOURCE_FAILED };

enum source_kind { SOURCE_MIX, SOURCE_INSERT, SOURCE_TRACE };

struct source;

/* The options are borrowed. NULL with one sentence in `why` on failure. */
struct source *source_create(enum source_kind kind, const struct options *o, unsigned thread,
                             char *why, size_t why_bytes);
enum source_step source_next(struct source *s, struct request *out);

/* Gives the source the time since the run began, for a shift by time; and the phase of the shift of the next request (0 without a shift).
 * */
void source_set_time(struct source *s, double elapsed_s);
unsigned source_phase(const struct source *s);

/* After SOURCE_FAILED. */
const char *source_error(const struct source *s);
void source_destroy(struct source **s);

/* Writes the text of key number `id`: prefix, then the number in decimal, zeros in front, to a
 * length drawn from --key-bytes but never too short to keep keys apart. Returns its length. */
unsigned source_key_text(const struct options *o, uint64_t id, uint64_t id_max, char *into);
#endif
