#include "cache/counters.h"

const struct counter_info cache_counter_info[] = {CACHE_COUNTERS(COUNTER_INFO){0}};
const struct counter_info cache_class_counter_info[] = {CACHE_CLASS_COUNTERS(COUNTER_INFO){0}};
