/* The log: whatever stderr is, no logging thread waits for stderr, and lost lines are counted and reported. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/log.h"

enum { LINES = 5000, TEXT_BYTES = 1 << 20 };

static _Atomic bool impatient;

/* Replaces the system's function: the patience of a thread that waits for another's write is over at once. */
int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *until) {
    (void)clock, (void)until;
    return impatient ? ETIMEDOUT : pthread_cond_wait(c, m);
}

static char text[TEXT_BYTES];
static int  kept_stderr;

/* Makes stderr a pipe and returns the pipe's other end. */
static int pipe_as_stderr(void) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0 || dup2(fds[1], STDERR_FILENO) < 0) {
        abort();
    }
    close(fds[1]);
    return fds[0];
}

static void usual_stderr(void) { dup2(kept_stderr, STDERR_FILENO); }

/* Reads lines until one contains these words or the pipe ends; `text` has all of them. Returns the number of lines. */
static unsigned read_until(int fd, const char *words) {
    size_t n = 0;
    unsigned lines = 0, seen = 0;
    text[0] = '\0';
    while (n < TEXT_BYTES - 1 && read(fd, text + n, 1) == 1) {
        text[++n] = '\0';
        if (text[n - 1] == '\n') {
            lines++;
            if (words != NULL && strstr(text + seen, words) != NULL) {
                return lines;
            }
            seen = (unsigned)n;
        }
    }
    return lines;
}

static bool has(const char *words) { return strstr(text, words) != NULL; }

TEST(test_before_the_thread_lines_are_written_at_once) {
    int fd = pipe_as_stderr();
    log_warn("plain %d", 1);
    log_info("not at this level");
    usual_stderr();
    is(read_until(fd, NULL), 1, "without a thread a line is written at once, and none above the level");
    is_str(text, "slated: warn: plain 1\n", "it names its program and level");
    close(fd);
}

/* The test's principle: if the caller itself wrote, the first call that finds the pipe full would never return. */
TEST(test_a_pipe_that_nobody_reads_holds_up_nobody) {
    char line[64];
    uint64_t before = log_lost();
    int fd = pipe_as_stderr();
    ok(log_start(), "the log gets a thread");
    for (unsigned i = 0; i < LINES; i++) {
        log_warn("line %u of those that nobody reads: %0100d", i, 0);
    }
    uint64_t lost = log_lost() - before;
    ok(lost > 0 && lost < LINES, "all calls return: of %d lines %" PRIu64 " are counted as lost", LINES, lost);

    unsigned lines = read_until(fd, "lines of this log were lost");
    is(lines, LINES - lost + 1, "a later reader finds all the others, and a line with the number lost");
    snprintf(line, sizeof line, "slated: warn: %" PRIu64 " lines of this log were lost\n", lost);
    ok(has(line), "which has their number: %" PRIu64, lost);
    unsigned in_order = 0;
    for (const char *at = text; at != NULL && (at = strstr(at, "slated: warn: line ")) != NULL; at++) {
        in_order += strtoul(at + strlen("slated: warn: line "), NULL, 10) == in_order;
    }
    is(in_order, LINES - lost, "they are the first ones, in order");

    log_warn("after that");
    is(read_until(fd, "after that"), 1, "later lines come as ever");
    log_warn("at once");
    log_sync();
    fcntl(fd, F_SETFL, O_NONBLOCK);
    is(read_until(fd, "at once"), 1, "and are written when log_sync returns");
    log_stop();
    usual_stderr();
    close(fd);
}

TEST(test_lines_refused_by_stderr_are_counted) {
    uint64_t before = log_lost();
    int fd = pipe_as_stderr();
    close(fd);
    log_start();
    log_warn("to nobody");
    log_sync();
    log_warn("to nobody either");
    log_sync();
    is(log_lost() - before, 2, "lines that stderr refuses are counted");
    fd = pipe_as_stderr();
    log_warn("to somebody");
    is(read_until(fd, "to somebody"), 2, "once stderr takes lines again, the next one comes");
    ok(has("slated: warn: 2 lines of this log were lost\nslated: warn: to somebody\n"), "behind the number of those it refused");
    log_stop();
    usual_stderr();
    close(fd);
}

TEST(test_the_end_writes_waiting_lines) {
    int fd = pipe_as_stderr();
    log_start();
    for (unsigned i = 0; i < 100; i++) {
        log_warn("last words %u", i);
    }
    log_stop();
    usual_stderr();
    is(read_until(fd, NULL), 100, "all lines that wait are written before the log ends");
    close(fd);
}

/* The log's thread stays blocked in its write, so this test is the last. */
TEST(test_the_end_comes_though_nobody_reads) {
    uint64_t before = log_lost();
    int fd = pipe_as_stderr();
    log_start();
    for (unsigned i = 0; i < LINES; i++) {
        log_warn("line %u of those that nobody reads: %0100d", i, 0);
    }
    impatient = true;
    log_stop();
    uint64_t lost = log_lost() - before;
    ok(lost > 0, "a log that nobody reads ends as well: %" PRIu64 " lines are lost", lost);
    log_warn("too late");
    is(log_lost() - before, lost + 1, "and later lines are lost, too");
    usual_stderr();
    read_until(fd, NULL); /* the thread's line goes out, and the pipe ends: no thread writes any more */
    ok(!has("too late"), "and never written");
    close(fd);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    kept_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    tap_run_tests();
    return tap_done();
}
