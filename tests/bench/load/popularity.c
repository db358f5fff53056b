#include "popularity.h"

#include <stdlib.h>
#include <string.h>

bool popularity_parse(const char *text, struct popularity *out) {
    struct popularity p = {.kind = POPULARITY_ZIPF, .theta = 0.99};
    if (strlen(text) >= sizeof(p.text)) {
        return false;
    }
    memcpy(p.text, text, strlen(text) + 1);
    if (strcmp(text, "uniform") == 0) {
        p.kind = POPULARITY_UNIFORM;
    } else if (strcmp(text, "sequential") == 0) {
        p.kind = POPULARITY_SEQUENTIAL;
    } else if (strncmp(text, "zipf:", 5) == 0) {
        char *end;
        p.theta = strtod(text + 5, &end);
        if (text[5 + strspn(text + 5, ".0123456789")] != '\0' || *end != '\0' || p.theta <= 0 ||
            p.theta > 10) {
            return false;
        }
    } else if (strcmp(text, "zipf") != 0) {
        return false;
    }
    *out = p;
    return true;
}

/* Zipf by rejection-inversion: Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", ACM
 * TOMACS 6(3), 1996. `area` is the integral of x^-theta; a point under the curve is drawn by inversion, rounded to a rank, and accepted
 * unless it fell into the sliver that rounding adds. Works for every theta above 0, 1 included. */
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

static void zipf_prepare(struct chooser *c) {
    double theta = c->popularity.theta;
    c->area_one = area(1.5, theta) - 1.0;
    c->shortcut = 2.0 - area_inverse(area(2.5, theta) - pow(2.0, -theta), theta);
    c->area_n = area((double)c->n + 0.5, theta);
}

static uint64_t zipf_draw(const struct chooser *c, struct rng *r) {
    double theta = c->popularity.theta;
    for (;;) {
        double y = c->area_n + rng_unit(r) * (c->area_one - c->area_n);
        double x = area_inverse(y, theta);
        double rank = floor(x + 0.5);
        rank = rank < 1 ? 1 : rank > (double)c->n ? (double)c->n : rank;
        if (rank - x <= c->shortcut || y >= area(rank + 0.5, theta) - pow(rank, -theta)) {
            return (uint64_t)rank - 1;
        }
    }
}

void chooser_init(struct chooser *c, const struct popularity *p, uint64_t n) {
    *c = (struct chooser){.popularity = *p, .n = n};
    if (p->kind == POPULARITY_ZIPF) {
        zipf_prepare(c);
    }
}

uint64_t chooser_draw(struct chooser *c, struct rng *r) {
    switch (c->popularity.kind) {
    case POPULARITY_UNIFORM:
        break;
    case POPULARITY_ZIPF:
        return zipf_draw(c, r);
    case POPULARITY_SEQUENTIAL:
        return c->next++ % c->n;
    }
    return rng_below(r, c->n);
}
