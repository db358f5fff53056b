/* Lines for watchers: their text, which watcher gets which, and the fate of watchers that do not read. Run under TSan too. */
#include "tap.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "own_clock.h"

#include "base/key.h"
#include "watch/event.h"
#include "watch/event_line.h"
#include "watch/watcher.h"

/* --- lines --- */

static void line_is(struct event_record e, const char *text, size_t text_bytes, const char *want) {
    char line[LINE_BYTES_MAX + 1];
    struct event_record *whole = malloc(sizeof e + text_bytes + 1);
    e.gid = 7;
    e.unix_us = 1700000000000042;
    e.text_bytes = (uint8_t)text_bytes;
    *whole = e;
    memcpy(whole->text, text, text_bytes);
    size_t n = line_write(whole, line);
    line[n] = '\0';
    const char *head = "ts=1700000000.42 gid=7 type=";
    if (ok(strncmp(line, head, strlen(head)) == 0 && line[n - 1] == '\n', "a line has a time and a number")) {
        line[n - 1] = '\0';
        is_str(line + strlen(head), want, "a line of %.*s", (int)strcspn(want, " "), want);
    }
    free(whole);
}

#define LINE_IS(want, text, ...) line_is((struct event_record){__VA_ARGS__}, text, strlen(text), want)

TEST(test_lines) {
    LINE_IS("item_get key=a%20b status=found clsid=3 cfd=12 size=5", "a b", .kind = EVENT_ITEM_GET, .status = EVENT_FOUND,
            .class_id = 3, .fd = 12, .value_bytes = 5);
    LINE_IS("item_get key=k status=flushed clsid=0 cfd=-1 size=0", "k", .kind = EVENT_ITEM_GET, .status = EVENT_FLUSHED,
            .fd = -1);
    LINE_IS("item_store key=k status=not_stored cmd=append ttl=4294967295 clsid=63 cfd=1 size=4294967295", "k",
            .kind = EVENT_ITEM_STORE, .status = EVENT_NOT_STORED, .command = EVENT_BY_APPEND, .ttl_s = UINT32_MAX,
            .class_id = 63, .fd = 1, .value_bytes = UINT32_MAX);
    LINE_IS("item_store key=k status=not_found cmd=cas ttl=0 clsid=1 cfd=1 size=1", "k", .kind = EVENT_ITEM_STORE,
            .status = EVENT_NO_ITEM, .command = EVENT_BY_CAS, .class_id = 1, .fd = 1, .value_bytes = 1);
    LINE_IS("eviction key=k fetch=yes ttl=-1 la=9 clsid=2 size=8", "k", .kind = EVENT_EVICTION, .fetched = true,
            .left_s = -1, .unused_s = 9, .class_id = 2, .value_bytes = 8);
    LINE_IS("deleted key=k cmd=delete clsid=2 size=8", "k", .kind = EVENT_DELETED, .command = EVENT_BY_DELETE,
            .class_id = 2, .value_bytes = 8);
    LINE_IS("deleted key=k cmd=md clsid=2 size=8", "k", .kind = EVENT_DELETED, .command = EVENT_BY_META_DELETE,
            .class_id = 2, .value_bytes = 8);
    LINE_IS("conn_new rip=127.0.0.1 rport=4711 transport=tcp cfd=9", "tcp:127.0.0.1:4711", .kind = EVENT_CONN_NEW, .fd = 9);
    LINE_IS("conn_new rip=::1 rport=4711 transport=tcp cfd=9", "tcp6:[::1]:4711", .kind = EVENT_CONN_NEW, .fd = 9);
    LINE_IS("conn_close rip=unix rport=0 transport=local reason=idle_timeout cfd=9", "unix:/a:b", .kind = EVENT_CONN_CLOSE,
            .status = EVENT_IDLE_TIMEOUT, .fd = 9);
    LINE_IS("conn_close rip=unix rport=0 transport=local reason=error cfd=9", "", .kind = EVENT_CONN_CLOSE, .fd = 9);
    LINE_IS("slab_move src=5 dst=0 state=given_up", "", .kind = EVENT_SLAB_MOVE, .class_id = 5,
            .status = EVENT_MOVE_GIVEN_UP);
    LINE_IS("lru_crawler crawler=0 lru=all low_mark=0 next_reclaims=0 since_run=3 next_run=60 elapsed=3 examined=5 "
            "reclaimed=4", "", .kind = EVENT_LRU_CRAWLER,
            .crawl = {.elapsed_s = 3, .next_run_s = 60, .examined = 5, .reclaimed = 4});
}

TEST(test_escaping) {
    char bytes[256], got[3 * 256 + 1], want[3 * 256 + 1];
    size_t n = 0;
    for (int c = 0; c < 256; c++) {
        bool stays = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c && strchr("-._~", c));
        bytes[c] = (char)c;
        n += (size_t)sprintf(want + n, stays ? "%c" : "%%%02X", (unsigned char)c);
    }
    got[line_escape(got, bytes, sizeof bytes)] = '\0';
    is_str(got, want, "letters, digits and -._~ stay as they are, all other bytes are escaped");
    char line[LINE_BYTES_MAX];
    struct event_record *longest = malloc(sizeof *longest + EVENT_TEXT_MAX);
    *longest = (struct event_record){.kind = EVENT_ITEM_STORE, .status = EVENT_NOT_STORED, .command = EVENT_BY_REPLACE,
                                     .gid = UINT64_MAX, .unix_us = UINT64_MAX, .class_id = UINT8_MAX, .fd = INT32_MIN,
                                     .ttl_s = UINT32_MAX, .value_bytes = UINT32_MAX, .text_bytes = EVENT_TEXT_MAX};
    memset(longest->text, 0, EVENT_TEXT_MAX);
    size_t length = line_write(longest, line);
    ok(length < LINE_BYTES_MAX && line[length - 1] == '\n', "the longest line has room");
    free(longest);
}

/* --- events --- */

static void tell(const char *key) { event_item_get(key, strlen(key), EVENT_NOT_FOUND, 0, -1, 0); }

static void *tell_without_a_ring(void *arg) {
    (void)arg;
    tell("lost");
    return NULL;
}

static void *tell_many(void *arg) {
    char key[32];
    if (event_thread_begin()) {
        for (unsigned i = 0; i < 100; i++) {
            snprintf(key, sizeof key, "%s-%u", (const char *)arg, i);
            tell(key);
        }
        event_thread_end();
    }
    return NULL;
}

static void in_thread(void *(*run)(void *), void *arg) {
    pthread_t t;
    pthread_create(&t, NULL, run, arg);
    pthread_join(t, NULL);
}

TEST(test_events_of_threads) {
    char a[] = "a", b[] = "b";
    in_thread(tell_without_a_ring, NULL);
    ok(event_oldest() == NULL, "a thread without a ring logs nothing");
    pthread_t one, two;
    pthread_create(&one, NULL, tell_many, a);
    pthread_create(&two, NULL, tell_many, b);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    const struct event_record *e;
    uint64_t last = 0, count = 0;
    bool sorted = true, timed = true;
    for (; (e = event_oldest()) != NULL; count++) {
        sorted = sorted && e->gid > last;
        timed = timed && e->unix_us == clock_unix_us();
        last = e->gid;
        event_take();
    }
    is(count, 200, "events outlive their threads");
    ok(sorted, "events of several threads come in the order of their numbers");
    ok(timed, "and bear the time of day");
    in_thread(tell_many, a);
    ok(event_oldest() != NULL && event_oldest()->gid == last + 1, "a ring serves another thread after the first");
    while (event_oldest() != NULL) {
        event_take();
    }
    event_thread_begin(); /* for this thread, from here on */
}

/* --- watchers --- */

struct view {
    struct watcher *watcher;
    int             ours, theirs; /* the logger writes to theirs, the test reads ours */
};

static void view_open_sampled(struct view *v, unsigned classes, uint32_t one_in) {
    int pair[2], small = 4096;
    struct timeval patience = {.tv_sec = TAP_HANG_MS / 1000};
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair);
    *v = (struct view){watcher_open(classes, one_in), pair[0], pair[1]};
    setsockopt(v->theirs, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    setsockopt(v->ours, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (v->watcher != NULL) {
        watcher_attach(v->watcher, v->theirs);
    }
}

static void view_open(struct view *v, unsigned classes) { view_open_sampled(v, classes, 1); }

static void view_close(struct view *v) {
    watcher_close(&v->watcher);
    close(v->ours);
    close(v->theirs);
}

/* The next line without its head, or "" for none. */
static const char *next_line(struct view *v) {
    static char line[LINE_BYTES_MAX + 1];
    size_t n = 0;
    while (n < LINE_BYTES_MAX && recv(v->ours, line + n, 1, 0) == 1 && line[n] != '\n') {
        n++;
    }
    line[n] = '\0';
    const char *what = strstr(line, "type=");
    return what != NULL ? what : line;
}

TEST(test_the_lines_of_each_watcher) {
    struct view fetchers, all, deletions;
    tell("before");
    is(event_watched(~0u), 0, "nobody watches at first");
    view_open(&fetchers, EVENT_FETCHERS);
    is(event_watched(~0u), EVENT_FETCHERS, "his classes are watched");
    view_open(&all, EVENT_FETCHERS | EVENT_DELETIONS);
    view_open(&deletions, EVENT_DELETIONS);
    is(event_watched(~0u), EVENT_FETCHERS | EVENT_DELETIONS, "several watch the union of theirs");
    tell("x");
    event_deleted("x", 1, EVENT_BY_DELETE, 1, 2);
    tell("y");
    const char *x = "type=item_get key=x status=not_found clsid=0 cfd=-1 size=0";
    const char *y = "type=item_get key=y status=not_found clsid=0 cfd=-1 size=0";
    const char *gone = "type=deleted key=x cmd=delete clsid=1 size=2";
    is_str(next_line(&fetchers), x, "earlier events are not for him");
    is_str(next_line(&fetchers), y, "nor is another class");
    is_str(next_line(&all), x, "a watcher of two classes");
    is_str(next_line(&all), gone, "has the events of both");
    is_str(next_line(&all), y, "in their order");
    is_str(next_line(&deletions), gone, "and each has those of his");
    view_close(&all);
    view_close(&fetchers);
    is(event_watched(~0u), EVENT_DELETIONS, "a watcher that has gone gets nothing");
    view_close(&deletions);
    is(event_watched(~0u), 0, "at last nobody does");
}

/* How many of a thousand keys are watched. */
static unsigned count_watched(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < 1000; i++) {
        char key[16];
        int  n = snprintf(key, sizeof key, "key%u", i);
        count += event_classes_for(EVENT_FETCHERS | EVENT_EVICTIONS, key, (size_t)n) == (EVENT_FETCHERS | EVENT_EVICTIONS);
    }
    return count;
}

TEST(test_samples) {
    struct view eighth, twelfth, evictions;
    is(count_watched(), 1000, "without a sample all keys are watched");
    view_open_sampled(&eighth, EVENT_FETCHERS, 8);
    unsigned in_eighth = count_watched();
    ok(in_eighth > 80 && in_eighth < 170, "with one of an eighth about so many (%u)", in_eighth);
    is(event_classes_for(EVENT_EVICTIONS, "any", 3), EVENT_EVICTIONS, "events without a request are watched for every key");
    view_open_sampled(&twelfth, EVENT_FETCHERS, 12);
    unsigned in_both = count_watched();
    ok(in_both > 190 && in_both < 310, "an eighth and a twelfth need a quarter (%u)", in_both);
    view_open(&evictions, EVENT_EVICTIONS);
    is(count_watched(), in_both, "a watcher without request classes needs none of them");
    unsigned told = 0;
    for (unsigned i = 0; i < 400; i++) { /* as requests do that another watcher wants */
        char key[16];
        int  n = snprintf(key, sizeof key, "key%u", i);
        tell(key);
        told += event_key_sampled(key, (size_t)n, 12);
    }
    tell("end"); /* at any place */
    unsigned got = 0;
    for (unsigned i = 0; i < told; i++) {
        char key[16] = "";
        sscanf(next_line(&twelfth), "type=item_get key=%15s", key);
        got += event_key_sampled(key, strlen(key), 12);
    }
    is(got, told, "each gets the keys of his sample and no others");
    view_close(&twelfth);
    is(count_watched(), in_eighth, "a watcher that has gone needs none");
    view_close(&eighth);
    view_close(&evictions);
    is(count_watched(), 1000, "and at last it is as it was");
}

TEST(test_limit) {
    struct view v[WATCHERS_MAX];
    struct watch_facts facts;
    for (int i = 0; i < WATCHERS_MAX; i++) {
        view_open(&v[i], EVENT_FETCHERS);
    }
    watch_facts(&facts);
    is(facts.watchers, WATCHERS_MAX, "%d may watch", WATCHERS_MAX);
    errno = 0;
    ok(watcher_open(EVENT_FETCHERS, 1) == NULL && errno == EUSERS, "one more may not");
    view_close(&v[3]);
    view_open(&v[3], EVENT_FETCHERS);
    ok(v[3].watcher != NULL, "a place that is left is free at once");
    tell("k");
    is_str(next_line(&v[3]), "type=item_get key=k status=not_found clsid=0 cfd=-1 size=0", "and serves the next");
    for (int i = 0; i < WATCHERS_MAX; i++) {
        view_close(&v[i]);
    }
}

TEST(test_watchers_that_do_not_read) {
    enum { AT_ONCE = 100, TOLD_MOST = 10000000 };
    struct view slow, reader;
    struct watch_facts before, now;
    uint64_t lines = 0, skipped = 0, told = 0, marks = 0, gaps = 0;
    watch_init(64 * 1024, 2048);
    watch_facts(&before);
    view_open(&slow, EVENT_FETCHERS);
    view_open(&reader, EVENT_DELETIONS);
    do { /* until his socket and his buffer are full; the other watcher's lines show that all events were processed */
        for (unsigned i = 0; i < AT_ONCE; i++, told++) {
            tell("k");
        }
        event_deleted("mark", 4, EVENT_BY_DELETE, 1, 2);
        next_line(&reader);
        marks++;
        watch_facts(&now);
    } while (now.watcher_skipped == before.watcher_skipped && told < TOLD_MOST);
    while (lines + skipped < told) {
        const char *line = next_line(&slow);
        unsigned long long n = 0;
        if (sscanf(line, "skipped=%llu", &n) == 1) {
            skipped += n;
            gaps++;
        } else if (*line != '\0') {
            lines++;
        } else {
            break;
        }
    }
    watch_facts(&now);
    ok(gaps > 0 && skipped > 0, "a watcher that does not read loses lines and gets their number");
    is(lines + skipped, told, "lines and lost lines are all events");
    is(now.watcher_sent - before.watcher_sent, lines + marks, "lines are counted");
    is(now.watcher_skipped - before.watcher_skipped, skipped, "and so are lost ones");
    is(now.worker_written - before.worker_written, told + marks, "and the thread's events");
    view_close(&reader);
    view_close(&slow);
    watch_init(64 * 1024, 256 * 1024);
}

TEST(test_watchers_that_are_gone) {
    struct view dead, alive;
    view_open(&dead, EVENT_FETCHERS);
    view_open(&alive, EVENT_FETCHERS);
    shutdown(dead.ours, SHUT_RDWR);
    close(dead.ours);
    for (int i = 0; i < 100; i++) {
        tell("k");
        if (*next_line(&alive) == '\0') {
            break;
        }
    }
    tell("last");
    is_str(next_line(&alive), "type=item_get key=last status=not_found clsid=0 cfd=-1 size=0",
           "a watcher that has died is in nobody's way");
    watcher_close(&dead.watcher);
    close(dead.theirs);
    view_close(&alive);
}

static _Atomic bool enough;

static void *tell_until_enough(void *arg) {
    (void)arg;
    event_thread_begin();
    while (!enough) {
        tell("k");
    }
    event_thread_end();
    return NULL;
}

TEST(test_coming_and_going) {
    enum { ROUNDS = 300 };
    pthread_t busy;
    int heard = 0;
    pthread_create(&busy, NULL, tell_until_enough, NULL);
    for (int i = 0; i < ROUNDS; i++) { /* each the only one, so that the logger ends and starts */
        struct view v;
        view_open(&v, EVENT_FETCHERS);
        heard += i % 3 == 0 || *next_line(&v) != '\0';
        view_close(&v);
    }
    enough = true;
    pthread_join(busy, NULL);
    is(heard, ROUNDS, "watchers come and go while events are logged");
    struct watcher *never_attached = watcher_open(EVENT_RAWCMDS, 1);
    ok(never_attached != NULL, "one may watch before he can be written to");
    watcher_close(&never_attached);
    ok(never_attached == NULL, "and go again");
}

int main(void) {
    tap_run_tests();
    event_thread_end();
    watch_fini();
    return tap_done();
}
