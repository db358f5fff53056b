#include "link/watch.h"
#include "tap.h"

static struct watch_log log_;

static void take(const char *line) {
    watch_take(&log_, line, strlen(line));
}

TEST(test_lines_have_time_and_text) {
    memset(&log_, 0, sizeof log_);
    take("ts=1700000000.5 gid=7 type=eviction key=a%20b fetch=no ttl=-1 la=3 clsid=1 size=9\r\n");
    is_str(watch_line(&log_, 0)->text, "type=eviction key=a%20b fetch=no ttl=-1 la=3 clsid=1 size=9", "without time and number");
    ok(watch_line(&log_, 0)->at_s == 1700000000.5, "the time is kept");
    take("ts= gid=\n");
    take("no time at all\n");
    is_str(watch_line(&log_, 0)->text, "no time at all", "other lines are as they are");
    take("ts=1.2 gid=3 \033]0;owned\007\n");
    is_str(watch_line(&log_, 0)->text, "?]0;owned?", "nothing reaches the terminal as a control");
    is(log_.shown, 4, "all are counted");
    ok(watch_line(&log_, 4) == NULL, "and no more");
}

TEST(test_loss_is_counted_not_hidden) {
    memset(&log_, 0, sizeof log_);
    take("ts=1.0 gid=1 type=eviction\n");
    take("skipped=2\n");
    take("[skipped=1]\n");
    is(log_.lost, 3, "the events that the server skipped");
    is(log_.shown, 1, "is not a line");
    ok(watch_lost_share(&log_) == 0.75, "three of four");
    take("skipped=99999999999999999999999999999999\n");
    ok(watch_lost_share(&log_) > 0.99, "a number that can't be is no trouble");
}

TEST(test_the_ring_keeps_the_newest) {
    memset(&log_, 0, sizeof log_);
    char line[40];
    for (int i = 0; i < WATCH_LINES + 50; i++) {
        snprintf(line, sizeof line, "ts=%d.0 gid=1 n=%d\n", i, i);
        take(line);
    }
    is_str(watch_line(&log_, 0)->text, "n=305", "the newest is first");
    is_str(watch_line(&log_, WATCH_LINES - 1)->text, "n=50", "the oldest kept is last");
    ok(watch_line(&log_, WATCH_LINES) == NULL, "the rest is gone");
}

TEST(test_a_stream_without_a_request_shows_the_reason) {
    struct watch watch = {0};
    ok(watch_refuse(&watch, STREAM_MUTATIONS, "it would bring the server down"), "there is memory");
    is_str(watch.log->note, "it would bring the server down", "the reason stands where lines would");
    ok(watch.log->stream == STREAM_MUTATIONS && watch.client == NULL, "and no server gets a request");
    ok(!watch_step(&watch, 1000) && watch_due_ms(&watch) == UINT64_MAX, "nothing is waited for");
    watch_stop(&watch);
}

int main(void) { return tap_main(); }
