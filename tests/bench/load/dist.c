#include "dist.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Value sizes of Facebook's ETC pool: Atikoglu et al., "Workload analysis of a large-scale
 * key-value store", SIGMETRICS 2012, section 5. Sizes 0 to 14 have a probability each (their sum
 * is 0.44155); from 15 bytes on the sizes follow a generalised Pareto distribution. */
static const double etc_small[15] = {0.00536, 0.00047, 0.17820, 0.09239, 0.00018,
                                     0.02740, 0.00065, 0.00606, 0.00023, 0.00837,
                                     0.00837, 0.08989, 0.00092, 0.00326, 0.01980};
static const double etc_scale = 214.476, etc_shape = 0.348238;

static const struct form {
    char letter;
    enum dist_kind kind;
    int numbers;
} forms[] = {
    {'d', DIST_FIXED, 1},     {'u', DIST_UNIFORM, 2}, {'o', DIST_EITHER, 2},
    {'l', DIST_LOGNORMAL, 2}, {'v', DIST_GEV, 3},
};

static bool in_range(const struct dist *d) {
    switch (d->kind) {
    case DIST_FIXED:
        return d->a >= 0;
    case DIST_UNIFORM:
        return d->a >= 0 && d->b >= d->a;
    case DIST_EITHER:
        return d->a >= 0 && d->b >= 0;
    case DIST_LOGNORMAL:
        return d->a > 0 && d->b >= 0;
    case DIST_GEV:
        return d->b > 0;
    case DIST_ETC:
        return true;
    }
    return false;
}

static bool read_numbers(const char *text, double *into, int count) {
    for (int i = 0; i < count; i++) {
        char *end;
        /* strtod would also take blanks, "inf" and hexadecimal. */
        if (!isdigit((unsigned char)*text) && *text != '-' && *text != '.') {
            return false;
        }
        if (text[strspn(text, "-.0123456789,")] != '\0') {
            return false;
        }
        into[i] = strtod(text, &end);
        if (end == text || fabs(into[i]) > 1e12 || *end != (i + 1 < count ? ',' : '\0')) {
            return false;
        }
        text = end + 1;
    }
    return true;
}

bool dist_parse(const char *text, struct dist *out) {
    struct dist d = {.kind = DIST_FIXED};
    double numbers[3] = {0, 0, 0};
    int count = 1;

    if (strlen(text) >= sizeof(d.text)) {
        return false;
    }
    memcpy(d.text, text, strlen(text) + 1);
    if (strcmp(text, "etc") == 0) {
        d.kind = DIST_ETC;
        *out = d;
        return true;
    }
    if (isalpha((unsigned char)*text)) {
        size_t i = 0;
        while (i < sizeof(forms) / sizeof(*forms) && forms[i].letter != *text) {
            i++;
        }
        if (i == sizeof(forms) / sizeof(*forms)) {
            return false;
        }
        d.kind = forms[i].kind;
        count = forms[i].numbers;
        text++;
    }
    if (!read_numbers(text, numbers, count)) {
        return false;
    }
    d.a = numbers[0];
    d.b = numbers[1];
    d.c = numbers[2];
    if (!in_range(&d)) {
        return false;
    }
    *out = d;
    return true;
}

static double gev(double location, double scale, double shape, double unit) {
    double minus_log = -log(unit);
    if (shape == 0) {
        return location - scale * log(minus_log);
    }
    return location + scale * (pow(minus_log, -shape) - 1.0) / shape;
}

/* The tail is drawn by inversion from the part of the Pareto distribution that lies above 14.5,
 * so that rounding gives 15 and more and the table's probabilities stay exact. */
static double etc_size(struct rng *r) {
    double unit = rng_unit(r);
    for (int size = 0; size < 15; size++) {
        if (unit < etc_small[size]) {
            return size;
        }
        unit -= etc_small[size];
    }
    double above = pow(1.0 + etc_shape * 14.5 / etc_scale, -1.0 / etc_shape);
    return etc_scale * (pow(above * rng_unit_open(r), -etc_shape) - 1.0) / etc_shape;
}

double dist_draw(const struct dist *d, struct rng *r) {
    switch (d->kind) {
    case DIST_FIXED:
        return d->a;
    case DIST_UNIFORM:
        return floor(d->a + rng_unit(r) * (d->b - d->a + 1.0));
    case DIST_EITHER:
        return rng_next(r) >> 63 ? d->a : d->b;
    case DIST_LOGNORMAL:
        return d->a * exp(d->b * rng_normal(r));
    case DIST_GEV: {
        /* Neither end of the unit interval has a finite quantile. */
        double unit = rng_unit(r);
        return gev(d->a, d->b, d->c, unit > 0 ? unit : 0x1p-54);
    }
    case DIST_ETC:
        return etc_size(r);
    }
    return 0;
}

uint64_t dist_draw_within(const struct dist *d, struct rng *r, uint64_t low, uint64_t high) {
    double drawn = rint(dist_draw(d, r));
    if (!(drawn > (double)low)) {
        return low;
    }
    return drawn < (double)high ? (uint64_t)drawn : high;
}
