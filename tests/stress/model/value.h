/* Values that name their key and show whether they are complete.
 *
 * A value is a sequence of segments, since append and prepend join values. A generated segment begins with a head that has its key's
 * number, its version and its length, and every byte behind the head follows from these three. Segments shorter than the head are bytes of
 * a range of their own; numbers are digits, padded with spaces. */
#ifndef MODEL_VALUE_H
#define MODEL_VALUE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEGMENT_HEAD_BYTES = 16, SEGMENTS_MAX = 16, VALUE_BYTES_MAX = 3500 * 1000 };

enum segment_kind { SEGMENT_GENERATED, SEGMENT_NUMBER };

struct segment {
    enum segment_kind kind;
    uint32_t version; /* generated: of the request that stored the value */
    uint32_t bytes;
    uint64_t number;
};

/* Writes segment->bytes bytes. */
void segment_write(const struct segment *, uint32_t key_id, char *to);
bool segment_matches(const struct segment *, uint32_t key_id, const char *bytes);

/* The facts in a value. `version` is the highest of its segments with a head; 0: none has one. */
struct value_tale {
    bool     sound;   /* every segment belongs to the key and is complete */
    uint32_t version;
};
struct value_tale value_read(uint32_t key_id, const char *bytes, size_t n);
#endif
