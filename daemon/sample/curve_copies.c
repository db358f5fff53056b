#include "sample/curve_copies.h"

#include <stddef.h>

/* A read divides at most one range, and has one more before the first. */
struct ranges {
    uint32_t expires_s[CURVE_COPIES + 2];
    uint8_t to[CURVE_COPIES + 2];
    unsigned count;
};

static bool copies_are_expired(uint32_t expires_s, uint32_t now_s) {
    return expires_s != 0 && expires_s <= now_s;
}

static void copies_add_range(struct ranges *r, unsigned to, uint32_t expires_s) {
    if (r->count == 0 || r->expires_s[r->count - 1] != expires_s) {
        r->count++;
    }
    r->expires_s[r->count - 1] = expires_s;
    r->to[r->count - 1] = (uint8_t)to;
}

/* Seconds between the expiries of ranges i and i + 1; one that never expires is farthest. */
static uint32_t copies_distance_s(const struct ranges *r, unsigned i) {
    uint32_t a = r->expires_s[i] - 1, b = r->expires_s[i + 1] - 1;
    return a > b ? a - b : b - a;
}

/* Gives the sizes of one range to the next one. */
static void copies_join_nearest(struct ranges *r) {
    unsigned nearest = 0;
    for (unsigned i = 1; i + 1 < r->count; i++) {
        nearest = copies_distance_s(r, i) < copies_distance_s(r, nearest) ? i : nearest;
    }
    r->count--;
    for (unsigned i = nearest; i < r->count; i++) {
        r->expires_s[i] = r->expires_s[i + 1];
        r->to[i] = r->to[i + 1];
    }
}

struct curve_copies curve_copies_stored(uint32_t expires_s) {
    return (struct curve_copies){.expires_s = {expires_s}, .to = {CURVE_STEPS}};
}

bool curve_copies_read(struct curve_copies *c, unsigned step, uint32_t expires_s, uint32_t now_s,
                       float *hits) {
    struct ranges r = {.count = 0};
    if (step > 0) {
        copies_add_range(&r, step, expires_s);
    }
    unsigned from = step;
    bool hit = false;
    for (unsigned i = 0; from < CURVE_STEPS; i++) {
        if (c->to[i] > from) {
            hit = !copies_are_expired(c->expires_s[i], now_s);
            copies_add_range(&r, c->to[i], hit ? c->expires_s[i] : expires_s);
            if (hit && hits != NULL) {
                hits[from] += 1;
                if (c->to[i] < CURVE_STEPS) {
                    hits[c->to[i]] -= 1;
                }
            }
            from = c->to[i];
        }
    }
    while (r.count > CURVE_COPIES) {
        copies_join_nearest(&r);
    }
    for (unsigned i = 0; i < r.count; i++) {
        c->expires_s[i] = r.expires_s[i];
        c->to[i] = r.to[i];
    }
    return hit;
}

bool curve_copies_expired(const struct curve_copies *c, uint32_t now_s) {
    unsigned i = 0;
    while (copies_are_expired(c->expires_s[i], now_s) && c->to[i] < CURVE_STEPS) {
        i++;
    }
    return copies_are_expired(c->expires_s[i], now_s);
}
