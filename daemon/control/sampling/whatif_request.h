/* How many requests with a key there were since sampling began. The past fades as the hot keys do:
 * what was counted is halved a minute after requests came, and in each further minute in which
 * requests come; what nothing came after is still the latest. Threading: the owner's lock.
 *
 * key_requests is the cache's own count (cache_key_requests). It only grows, but a thread may bring
 * one that is older than what another brought. */
#ifndef SLATE_CONTROL_SAMPLING_WHATIF_REQUEST_H
#define SLATE_CONTROL_SAMPLING_WHATIF_REQUEST_H
#include <stdbool.h>
#include <stdint.h>

struct asked {
    uint64_t requests; /* up to `before` … */
    /* … as the cache counts; to be set to begin with. ASKED_NEVER: none are counted */
    uint64_t before;
    uint64_t fade_us;
    bool     lately; /* requests came since the past faded */
};
#define ASKED_NEVER UINT64_MAX

void     asked_end(struct asked *, uint64_t key_requests);
uint64_t asked_requests(const struct asked *, uint64_t key_requests);
/* Once a second or so. True: the past has faded, and so must the hot keys. */
bool     asked_fade(struct asked *, uint64_t key_requests, uint64_t now_us);
#endif
