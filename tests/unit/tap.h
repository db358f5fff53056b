/* Test Anything Protocol for C units: plan, ok, is, TEST. One program per file under test; the name of a test states its claim. */
#ifndef TAP_H
#define TAP_H
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <time.h>
#include <unistd.h>

static int tap_run, tap_failed;

__attribute__((format(printf, 4, 5), unused))
static bool tap_check(bool pass, const char *file, int line, const char *claim, ...) {
    va_list ap;
    printf("%sok %d - ", pass ? "" : "not ", ++tap_run);
    va_start(ap, claim);
    vprintf(claim, ap);
    va_end(ap);
    putchar('\n');
    if (!pass) {
        tap_failed++;
        printf("# failed at %s:%d\n", file, line);
    }
    fflush(stdout);
    return pass;
}
#define ok(cond, ...) tap_check((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is(got, want, ...) do { \
        long long tap_got = (long long)(got), tap_want = (long long)(want); \
        if (!tap_check(tap_got == tap_want, __FILE__, __LINE__, __VA_ARGS__)) \
            printf("# got %lld, want %lld\n", tap_got, tap_want); \
    } while (0)
#define is_str(got, want, ...) do { \
        const char *tap_got = (got), *tap_want = (want); \
        tap_got = tap_got != NULL ? tap_got : "(null)"; \
        if (!tap_check(strcmp(tap_got, tap_want) == 0, __FILE__, __LINE__, __VA_ARGS__)) \
            printf("# got  '%s'\n# want '%s'\n", tap_got, tap_want); \
    } while (0)

/* The divisor of a long test in a build that is many times slower. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { TAP_SLOWER = 8 };
#else
enum { TAP_SLOWER = 1 };
#endif

/* A skipped claim counts neither way and says why. */
#define tap_skip(reason) printf("ok %d # SKIP %s\n", ++tap_run, reason)

enum { TAP_HANG_MS = 300 * 1000 }; /* nothing but a hang takes so long */

/* Waits until there is a byte to read, or the other end is closed. False: neither comes. */
__attribute__((unused))
static bool tap_readable(int fd) { return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, TAP_HANG_MS) == 1; }

/* Waits until a condition holds, which is checked again after each write to the eventfd. False: no write comes any more. */
#define TAP_UNTIL(signals_fd, condition) ({ \
        bool     tap_met; \
        uint64_t tap_signals; \
        while (!(tap_met = (condition)) && tap_readable(signals_fd) && read(signals_fd, &tap_signals, sizeof tap_signals) > 0) { \
        } \
        tap_met; \
    })

__attribute__((unused))
static uint64_t tap_seed_or(uint64_t otherwise) {
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : otherwise;
    printf("# SEED=%" PRIu64 "\n", seed);
    return seed;
}

/* SEED= in the environment repeats a run; the seed is always printed. */
__attribute__((unused))
static uint64_t tap_seed(void) { return tap_seed_or((uint64_t)time(NULL) * 2654435761u); }

/* For claims about estimates, which may miss by chance: always the same sample, so that they hold always or never. SEED= takes another. */
__attribute__((unused))
static uint64_t tap_sample_seed(void) { return tap_seed_or(42); }

/* The next number of a sequence; *x is not 0, and its first value is the seed. */
__attribute__((unused))
static uint64_t tap_random(uint64_t *x) {
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

/* A function of claims. tap_run_tests runs those of a file in their order there. */
#define TEST(name) \
    static void name(void); \
    __attribute__((constructor(101 + __COUNTER__))) static void name##_is_listed(void) { tap_tests[tap_test_count++] = name; } \
    static void name(void)

static void   (*tap_tests[64])(void);
static unsigned tap_test_count;

__attribute__((unused))
static void tap_run_tests(void) {
    for (unsigned i = 0; i < tap_test_count; i++) {
        tap_tests[i]();
    }
}

__attribute__((unused))
static int tap_done(void) {
#ifdef TAP_ONE_THREAD /* for the Makefile: the thread sanitizer has nothing to find in this suite */
    ok(__libc_single_threaded, "no thread was ever started");
#endif
    printf("1..%d\n", tap_run);
    return tap_failed ? 1 : 0;
}

__attribute__((unused))
static int tap_main(void) { return tap_run_tests(), tap_done(); }
#endif
