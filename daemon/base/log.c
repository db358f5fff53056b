#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic int level_most = LOG_LEVEL_WARN;

void log_set_level(enum log_level most) { atomic_store_explicit(&level_most, (int)most, memory_order_relaxed); }

int log_verbosity(void) {
    int v = atomic_load_explicit(&level_most, memory_order_relaxed) - LOG_LEVEL_WARN;
    return v < 0 ? 0 : v;
}

void log_set_verbosity(int v) { log_set_level((enum log_level)(LOG_LEVEL_WARN + (v > 2 ? 2 : v < 0 ? 0 : v))); }

void log_line(enum log_level level, const char *format, ...) {
    static const char *const names[] = {"error", "warn", "info", "debug"};
    if ((int)level > atomic_load_explicit(&level_most, memory_order_relaxed)) {
        return;
    }
    char line[1024];
    int n = snprintf(line, sizeof line, "slated: %s: ", names[level]);
    va_list ap;
    va_start(ap, format);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, ap);
    va_end(ap);
    size_t len = (size_t)n + (m < 0 ? 0 : (size_t)m);
    if (len > sizeof line - 2) {
        len = sizeof line - 2;
    }
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0) {
        return; /* nowhere left to say so */
    }
}
