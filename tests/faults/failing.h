/* Failing one call after the other: the first of a kind, the second, …, until one is not reached. ALL=1 fails each. Otherwise the seed
 * chooses: of the kinds of calls one in two, of a call's other errors than the first one in three, and of the calls behind the second one
 * in STRIDE, and ever fewer. */
#ifndef FAULTS_FAILING_H
#define FAULTS_FAILING_H
#include "client.h"

enum { STRIDE = 32, ENDLESS = 100000, TOLD_MOST = 5 };

static struct {
    struct server server;
    struct client client;
    const char   *of; /* the failing call */
    bool          all;
    uint64_t      random;
    unsigned      violations, failed[FAULT_CALL_COUNT];
} run;

static inline uint32_t pick(uint32_t below) {
    run.random = run.random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(run.random >> 33) % below;
}

static inline void failing_begin(void) {
    run.all = getenv("ALL") != NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    run.random = tap_seed();
    server_prepare(&run.server);
    client_init(&run.client, &run.server);
}

static inline int failing_end(void) {
    client_fini(&run.client);
    server_finish(&run.server);
    return tap_done();
}

static inline void blame(int call, int error, int64_t n, const char *why) {
    if (run.violations++ < TOLD_MOST) {
        printf("# %s: %s number %lld fails with %s: %s\n", run.of, call_names[call], (long long)n, strerrorname_np(error), why);
        fault_show(&run.server);
        printf("#   stderr: %.600s\n", server_said(&run.server));
    }
}

/* Fails calls from the `first` on; `one` makes one call fail and returns whether that call was reached. */
static inline void fail_calls(int call, int64_t first, bool (*fail_one)(int call, int error, int64_t n)) {
    bool is_chosen = run.all || getenv("FAULTS_ONLY") != NULL || pick(2) == 0;
    for (int e = 0; is_chosen && e < FAULT_ERRORS && call_errors[call][e] != 0; e++) {
        int64_t n = first;
        if (!run.all && e > 0 && pick(FAULT_ERRORS) != 0) {
            continue;
        }
        for (; n < ENDLESS && fail_one(call, call_errors[call][e], n); run.failed[call]++) {
            n += run.all || n == first ? 1 : 1 + pick(2 * STRIDE) + n / 2;
        }
        if (n >= ENDLESS) {
            blame(call, call_errors[call][e], n, "there is no end of such calls");
        }
    }
}

/* Prints the number and names of the failed calls; claims that none cost more than it may. */
static inline void failing_report(const char *claim) {
    ok(run.violations == 0, "%s: %s", run.of, claim);
    printf("# failed:");
    for (int call = 0; call < FAULT_CALL_COUNT; call++) {
        if (run.failed[call] > 0) {
            printf(" %s %u", call_names[call], run.failed[call]);
        }
    }
    printf("\n");
    run.violations = 0;
    memset(run.failed, 0, sizeof run.failed);
}
#endif
