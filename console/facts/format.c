#include "facts/format.h"

#include "facts/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *special(char out[FORMAT_BYTES], const char *text) {
    snprintf(out, FORMAT_BYTES, "%s", text);
    return out;
}

/* Three significant digits and a unit letter; the value is at least 1 in the unit chosen. */
static const char *scaled(char out[FORMAT_BYTES], double value, double step, const char *units) {
    unsigned unit = 0;
    while (units[unit + 1] != '\0' && value >= (step == 1024.0 ? 1000.0 : 999.5)) {
        value /= step;
        unit++;
    }
    int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(out, FORMAT_BYTES, "%.*f%.1s", digits, value, units + unit);
    return out;
}

const char *format_count(char out[FORMAT_BYTES], double value) {
    if (isnan(value)) {
        return special(out, "-");
    }
    if (value < 0) {
        return special(out, "reset");
    }
    if (value == 0) {
        return special(out, "0");
    }
    if (value < 0.05) {
        return special(out, "<0.1");
    }
    if (value < 9.95 && fabs(value - round(value)) > 0.04) {
        snprintf(out, FORMAT_BYTES, "%.1f", value);
        return out;
    }
    if (value < 9999.5) {
        snprintf(out, FORMAT_BYTES, "%.0f", value);
        return out;
    }
    return value >= 999.5e15 ? special(out, ">999P") : scaled(out, value / 1000, 1000.0, "kMGTP");
}

const char *format_bytes(char out[FORMAT_BYTES], double bytes) {
    if (isnan(bytes)) {
        return special(out, "-");
    }
    if (bytes < 0) {
        return special(out, "reset");
    }
    if (bytes < 9999.5) {
        snprintf(out, FORMAT_BYTES, "%.0f", bytes);
        return out;
    }
    return bytes >= 999.0 * 0x1p60 ? special(out, ">999E")
                                   : scaled(out, bytes / 1024, 1024.0, "KMGTPE");
}

const char *format_percent(char out[FORMAT_BYTES], double ratio) {
    if (isnan(ratio)) {
        return special(out, "-");
    }
    if (ratio < 0) {
        return special(out, "reset");
    }
    /* 99.96 is not 100: a cache that misses must not look perfect. */
    double pct = ratio * 100;
    if (pct > 99.9 && pct < 100) {
        pct = 99.9;
    }
    if (pct > 0 && pct < 0.05) {
        return special(out, "<0.1");
    }
    snprintf(out, FORMAT_BYTES, "%.*f", pct >= 100 || pct == 0 ? 0 : 1, pct);
    return out;
}

const char *format_age(char out[FORMAT_BYTES], double age_s) {
    if (isnan(age_s) || age_s < 0) {
        return special(out, "-");
    }
    if (age_s > 1e9) {
        return special(out, ">30y");
    }
    unsigned s = (unsigned)age_s;
    if (s == 0 && age_s > 0) {
        return special(out, "<1s");
    }
    if (s < 1000) {
        snprintf(out, FORMAT_BYTES, "%us", s);
    } else if (s < 100u * 60) {
        snprintf(out, FORMAT_BYTES, "%um%02u", s / 60, s % 60);
    } else if (s < 100u * 3600) {
        snprintf(out, FORMAT_BYTES, "%uh%02um", s / 3600, s / 60 % 60);
    } else if (s < 100u * 86400) {
        snprintf(out, FORMAT_BYTES, "%ud%02uh", s / 86400, s / 3600 % 24);
    } else {
        snprintf(out, FORMAT_BYTES, "%ud", s / 86400);
    }
    return out;
}

const char *format_delta(char out[FORMAT_BYTES], double change) {
    if (isnan(change)) {
        return special(out, "-");
    }
    if (change == 0) {
        return special(out, "·");
    }
    if (fabs(change) < 9999.5) {
        snprintf(out, FORMAT_BYTES, "%+.0f", change);
        return out;
    }
    char magnitude[FORMAT_BYTES];
    format_count(magnitude, fabs(change));
    snprintf(out, FORMAT_BYTES, "%c%.8s", change < 0 ? '-' : '+', magnitude);
    return out;
}

const char *format_exact(char out[FORMAT_BYTES], uint64_t value) {
    if (value == STAT_ABSENT) {
        return special(out, "-");
    }
    if (value > 99999999) {
        return format_count(out, (double)value);
    }
    snprintf(out, FORMAT_BYTES, "%lu", (unsigned long)value);
    return out;
}

void format_plain(char *text) {
    for (char *at = text; *at != '\0'; at++) {
        bool is_wide = (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] >= 0x80 &&
                       (unsigned char)at[1] < 0xa0; /* a control beyond ASCII, in UTF-8 */
        if ((unsigned char)*at < ' ' || *at == 0x7f || is_wide) {
            *at = '?';
        }
        if (is_wide) {
            *++at = '?';
        }
    }
}
