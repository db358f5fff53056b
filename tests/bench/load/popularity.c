#include "popularity.h"

#include <stdlib.h>
#include <string.h>

static bool read_share(const char *text, char **end, double *out) {
    if (strspn(text, ".0123456789") == 0) {
        return false;
    }
    *out = strtod(text, end);
    return *end != text;
}

bool popularity_parse(const char *text, struct popularity *out) {
    static const struct {
        const char *name;
        enum popularity_kind kind;
    } names[] = {{"uniform", POPULARITY_UNIFORM},
                 {"zipf", POPULARITY_ZIPF},
                 {"latest", POPULARITY_LATEST},
                 {"hotspot", POPULARITY_HOTSPOT},
                 {"sequential", POPULARITY_SEQUENTIAL}};
    size_t name_bytes = strcspn(text, ":"), i = 0, count = sizeof(names) / sizeof(*names);
    struct popularity p = {.theta = 0.99, .hot_keys = 0.2, .hot_requests = 0.8};
    char *end;

    if (strlen(text) >= sizeof(p.text)) {
        return false;
    }
    memcpy(p.text, text, strlen(text) + 1);
    while (i < count &&
           (strlen(names[i].name) != name_bytes || memcmp(names[i].name, text, name_bytes) != 0)) {
        i++;
    }
    if (i == count) {
        return false;
    }
    p.kind = names[i].kind;
    if (text[name_bytes] == ':') {
        const char *numbers = text + name_bytes + 1;
        switch (p.kind) {
        case POPULARITY_ZIPF:
        case POPULARITY_LATEST:
            if (!read_share(numbers, &end, &p.theta) || *end != '\0' || p.theta <= 0 ||
                p.theta > 10) {
                return false;
            }
            break;
        case POPULARITY_HOTSPOT:
            if (!read_share(numbers, &end, &p.hot_keys) || *end != ',' ||
                !read_share(end + 1, &end, &p.hot_requests) || *end != '\0' || p.hot_keys > 1 ||
                p.hot_requests > 1) {
                return false;
            }
            break;
        case POPULARITY_UNIFORM:
        case POPULARITY_SEQUENTIAL:
            return false;
        }
    }
    *out = p;
    return true;
}

/* Zipf by rejection-inversion: Hörmann and Derflinger, "Rejection-inversion to generate variates
 * from monotone discrete distributions", ACM TOMACS 6(3), 1996. `area` is the integral of
 * x^-theta; a point under the curve is drawn by inversion, rounded to a rank, and kept unless it
 * fell into the sliver that rounding adds. Works for every theta above 0, 1 included. */
static double area(double x, double theta) {
    double log_x = log(x), t = (1.0 - theta) * log_x;
    return fabs(t) > 1e-8 ? expm1(t) / t * log_x : log_x * (1.0 + t / 2.0);
}

static double area_inverse(double y, double theta) {
    double t = y * (1.0 - theta);
    if (t < -1.0) {
        t = -1.0; /* rounding at the far end */
    }
    return exp(fabs(t) > 1e-8 ? log1p(t) / t * y : y * (1.0 - t / 2.0));
}

static void zipf_prepare(struct chooser *c, uint64_t n) {
    double theta = c->popularity.theta;
    if (c->n == 0) {
        c->area_one = area(1.5, theta) - 1.0;
        c->shortcut = 2.0 - area_inverse(area(2.5, theta) - pow(2.0, -theta), theta);
    }
    c->area_n = area((double)n + 0.5, theta);
    c->n = n;
}

static uint64_t zipf_draw(struct chooser *c, struct rng *r, uint64_t n) {
    double theta = c->popularity.theta;
    if (c->n != n) {
        zipf_prepare(c, n);
    }
    for (;;) {
        double y = c->area_n + rng_unit(r) * (c->area_one - c->area_n);
        double x = area_inverse(y, theta);
        double rank = floor(x + 0.5);
        rank = rank < 1 ? 1 : rank > (double)n ? (double)n : rank;
        if (rank - x <= c->shortcut || y >= area(rank + 0.5, theta) - pow(rank, -theta)) {
            return (uint64_t)rank - 1;
        }
    }
}

static uint64_t hotspot_draw(const struct chooser *c, struct rng *r, uint64_t n) {
    uint64_t hot = (uint64_t)((double)n * c->popularity.hot_keys);
    bool ask_hot = rng_unit(r) < c->popularity.hot_requests;
    if (hot == 0 || hot == n) {
        return rng_below(r, n);
    }
    return ask_hot ? rng_below(r, hot) : hot + rng_below(r, n - hot);
}

void chooser_init(struct chooser *c, const struct popularity *p) {
    *c = (struct chooser){.popularity = *p};
}

uint64_t chooser_draw(struct chooser *c, struct rng *r, uint64_t n) {
    switch (c->popularity.kind) {
    case POPULARITY_UNIFORM:
        break;
    case POPULARITY_ZIPF:
        return zipf_draw(c, r, n);
    case POPULARITY_LATEST:
        return n - 1 - zipf_draw(c, r, n);
    case POPULARITY_HOTSPOT:
        return hotspot_draw(c, r, n);
    case POPULARITY_SEQUENTIAL:
        return c->next++ % n;
    }
    return rng_below(r, n);
}
