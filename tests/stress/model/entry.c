#include "entry.h"

#include <string.h>

/* The most by which the server's whole seconds, with one clock reading a turn, may differ from ours. */
static const double EARLY_S = 1.6, LATE_S = 4;
enum { NUMBER_VALUE_MOST = 2048 }; /* memcached and slated increment only values that are no chains */

struct lifetime lifetime_of(int32_t exptime, double sent_s, double heard_s) {
    return (struct lifetime){.never = exptime == 0, .least_s = sent_s + exptime - EARLY_S, .most_s = heard_s + exptime + LATE_S};
}

static unsigned digits_of(uint64_t n) {
    unsigned digits = 1;
    for (; n >= 10; n /= 10) {
        digits++;
    }
    return digits;
}

bool entry_may_count(const struct entry *e) { return e->value_bytes > 0 && e->value_bytes <= NUMBER_VALUE_MOST; }

bool entry_number(const struct entry *e, uint64_t *number) {
    const struct segment *first = &e->segments[0];
    if (!entry_may_count(e) || first->kind != SEGMENT_NUMBER) {
        return false;
    }
    *number = first->number;
    return e->segment_count == 1 || digits_of(first->number) < first->bytes; /* a blank ends the key */
}

bool entry_value_is(const struct entry *e, const char *bytes, size_t n) {
    if (n != e->value_bytes) {
        return false;
    }
    for (unsigned i = 0; i < e->segment_count; i++) {
        if (!segment_matches(&e->segments[i], e->key_id, bytes)) {
            return false;
        }
        bytes += e->segments[i].bytes;
    }
    return true;
}

void entry_put(struct entry *e, const struct segment *only) {
    e->segment_count = only != NULL && only->bytes > 0;
    e->value_bytes = only != NULL ? only->bytes : 0;
    if (e->segment_count != 0) {
        e->segments[0] = *only;
    }
}

void entry_join(struct entry *e, const struct segment *s, bool in_front) {
    if (s->bytes == 0) {
        return;
    }
    if (in_front) {
        memmove(e->segments + 1, e->segments, e->segment_count * sizeof *e->segments);
    }
    e->segments[in_front ? 0 : e->segment_count] = *s;
    e->segment_count++;
    e->value_bytes += s->bytes;
}

void entry_broken(struct entry *e) {
    e->broken = true;
    e->held = false;
}
