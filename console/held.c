#include "held.h"

#include <math.h>

#define PAGE_BYTES 1048576.0

static double over_bytes(const struct snapshot *snapshot) {
    double over = stat_number(snapshot->general[GENERAL_total_malloced]) -
                  stat_number(snapshot->general[GENERAL_limit_maxbytes]);
    return over < 0 ? 0 : over; /* NAN stays */
}

struct held held_measure(const struct snapshot *now, const struct snapshot *before) {
    struct held held = {.bytes = stat_number(now->general[GENERAL_total_malloced]),
                        .limit_bytes = stat_number(now->general[GENERAL_limit_maxbytes])};
    double over = over_bytes(now), was = before != NULL ? over_bytes(before) : NAN;
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        held.classes += stat_number(now->classes[id].value[CLASS_total_pages]) > 0;
    }
    held.over_bytes = isnan(over) ? NAN : fmin(over, was);
    held.is_by_classes = held.classes * PAGE_BYTES > held.limit_bytes;
    held.is_falling = over < was;
    held.is_much = held.limit_bytes > 0 && held.over_bytes > HELD_OVER_BYTES &&
                   held.over_bytes * 100 > held.limit_bytes * HELD_OVER_PCT;
    return held;
}
