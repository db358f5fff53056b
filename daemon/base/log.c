#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

enum { SYNC_WAIT_S = 1 };

enum writer { WRITER_NONE, WRITER_RUNS, WRITER_ENDS, WRITER_ENDED };

/* The mutex is not a project lock (base/lock.h): no other function is called under the mutex, so a
 * line may be logged under any lock. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t  changed;
    enum writer     writer;
    pthread_t       thread;
    uint64_t        in, out;    /* bytes that were ever put into the buffer, and taken out */
    uint64_t        lines;      /* lines in the buffer */
    uint64_t        unreported;     /* lost lines that no line of the log reports yet */
    uint64_t        writes;     /* writes that were ever tried */
    bool            writing;    /* a line that left the buffer is being written */
    bool            refused;    /* stderr did not take the last write */
    char            buffer[LOG_BUFFER_BYTES];
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Atomic int      level_most = LOG_LEVEL_WARN;
static _Atomic uint64_t lost;
static bool             journal; /* stderr is systemd's journal; set before any thread starts */

/* A relaxed store is enough: no other data depends on the level. A thread that still reads the old
 * level writes or drops a few more lines. */
void log_set_level(enum log_level most) {
    atomic_store_explicit(&level_most, (int)most, memory_order_relaxed);
}

void log_set_verbosity(int v) {
    log_set_level((enum log_level)(LOG_LEVEL_WARN + (v > 2 ? 2 : v < 0 ? 0 : v)));
}

uint64_t log_lost(void) { return atomic_load_explicit(&lost, memory_order_relaxed); }

/* --- the buffer: lines, each behind its length; the caller holds the mutex --- */

static void log_put_bytes(const void *bytes, size_t n) {
    size_t at = queue.in % LOG_BUFFER_BYTES,
           first = LOG_BUFFER_BYTES - at < n ? LOG_BUFFER_BYTES - at : n;
    memcpy(queue.buffer + at, bytes, first);
    memcpy(queue.buffer, (const char *)bytes + first, n - first);
    queue.in += n;
}

static void log_take_bytes(void *to, size_t n) {
    size_t at = queue.out % LOG_BUFFER_BYTES,
           first = LOG_BUFFER_BYTES - at < n ? LOG_BUFFER_BYTES - at : n;
    memcpy(to, queue.buffer + at, first);
    memcpy((char *)to + first, queue.buffer, n - first);
    queue.out += n;
}

static void log_lose_lines(uint64_t n) {
    queue.unreported += n;
    atomic_fetch_add_explicit(&lost, n, memory_order_relaxed);
}

/* Drops a line that finds no room. From then on every line is dropped until the log has reported
 * the loss, so that the lines stay in order. */
static void log_put_line(const char *line, uint16_t bytes) {
    bool room = LOG_BUFFER_BYTES - (size_t)(queue.in - queue.out) >= sizeof bytes + bytes;
    if (queue.writer == WRITER_ENDED || !room || (queue.unreported > 0 && !queue.refused)) {
        log_lose_lines(1);
        return;
    }
    log_put_bytes(&bytes, sizeof bytes);
    log_put_bytes(line, bytes);
    queue.lines++;
    pthread_cond_broadcast(&queue.changed);
}

/* Takes the next line to write; 0: there is none. *reported: how many lost lines that line reports.
 * If stderr refused the last line, the report waits for a new line. */
static size_t log_next_line(char *line, uint64_t *reported) {
    *reported = 0;
    if (queue.unreported > 0 && (queue.refused ? queue.lines > 0 : queue.lines == 0)) {
        *reported = queue.unreported;
        queue.unreported = 0;
        return (size_t)snprintf(line, LOG_LINE_BYTES,
                                "slated: warn: %" PRIu64 " lines of this log were lost\n",
                                *reported);
    }
    if (queue.lines == 0) {
        return 0;
    }
    uint16_t bytes;
    log_take_bytes(&bytes, sizeof bytes);
    log_take_bytes(line, bytes);
    queue.lines--;
    return bytes;
}

/* Drops the lines behind a line that stderr refused: stderr would refuse them, too. */
static void log_drop_buffer(uint64_t reported) {
    uint64_t n = queue.lines + (reported == 0);
    queue.refused = true;
    queue.unreported += reported;
    queue.out = queue.in;
    queue.lines = 0;
    log_lose_lines(n);
}

/* --- writing --- */

/* Writes a line; waits while stderr takes nothing. False: stderr refuses the line. */
static bool log_write_line(const char *line, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(STDERR_FILENO, line, bytes);
        if (n > 0) {
            line += n;
            bytes -= (size_t)n;
        } else if (n < 0 && errno == EAGAIN) { /* another process made stderr non-blocking */
            poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, -1);
        } else if (n == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static void *log_writer_main(void *arg) {
    char line[LOG_LINE_BYTES];
    uint64_t reported;
    (void)arg;
    thread_name("slated-log");
    pthread_mutex_lock(&queue.mutex);
    for (;;) {
        size_t bytes = log_next_line(line, &reported);
        if (bytes > 0) {
            queue.writing = true;
            pthread_mutex_unlock(&queue.mutex);
            bool written = log_write_line(line, bytes);
            pthread_mutex_lock(&queue.mutex);
            queue.writing = false;
            queue.writes++;
            if (written) {
                queue.refused = false;
            } else {
                log_drop_buffer(reported);
            }
            pthread_cond_broadcast(&queue.changed);
        } else if (queue.writer == WRITER_RUNS) {
            pthread_cond_wait(&queue.changed, &queue.mutex);
        } else {
            break;
        }
    }
    queue.writer = WRITER_ENDED;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.mutex);
    return NULL;
}

bool log_start(void) {
    pthread_mutex_lock(&queue.mutex);
    int error = thread_start(&queue.thread, log_writer_main, NULL);
    if (error == 0) {
        queue.writer = WRITER_RUNS;
    }
    pthread_mutex_unlock(&queue.mutex);
    errno = error;
    return error == 0;
}

/* Waits for the next write to end. False: the wait was too long. */
static bool log_await_write(void) {
    struct timespec until = clock_deadline(SYNC_WAIT_S);
    uint64_t before = queue.writes;
    while (queue.writes == before && queue.writer != WRITER_ENDED) {
        if (pthread_cond_clockwait(&queue.changed, &queue.mutex, CLOCK_MONOTONIC, &until) != 0) {
            return false;
        }
    }
    return true;
}

void log_sync(void) {
    pthread_mutex_lock(&queue.mutex);
    while (queue.writer == WRITER_RUNS && (queue.writing || queue.lines > 0) && log_await_write()) {
    }
    pthread_mutex_unlock(&queue.mutex);
}

void log_stop(void) {
    pthread_mutex_lock(&queue.mutex);
    if (queue.writer != WRITER_RUNS) {
        pthread_mutex_unlock(&queue.mutex);
        return;
    }
    queue.writer = WRITER_ENDS;
    pthread_cond_broadcast(&queue.changed);
    while (queue.writer != WRITER_ENDED && log_await_write()) {
    }
    bool ended = queue.writer == WRITER_ENDED;
    /* the writer still waits for stderr, and ends with the process or when stderr takes the line */
    if (!ended) {
        log_lose_lines(queue.lines);
        queue.lines = 0;
        queue.out = queue.in;
    }
    queue.writer = ended ? WRITER_NONE : WRITER_ENDED;
    pthread_mutex_unlock(&queue.mutex);
    if (ended) {
        pthread_join(queue.thread, NULL);
    } else {
        pthread_detach(queue.thread);
    }
}

void log_to_journal(void) {
    const char *stream = getenv("JOURNAL_STREAM");
    char        ours[64];
    struct stat facts;
    if (stream != NULL && fstat(STDERR_FILENO, &facts) == 0) {
        snprintf(ours, sizeof ours, "%" PRIuMAX ":%" PRIuMAX, (uintmax_t)facts.st_dev,
                 (uintmax_t)facts.st_ino);
        journal = strcmp(stream, ours) == 0;
    }
}

void log_write(enum log_level level, bool named, const char *format, ...) {
    static const char *const names[] = {"error", "warn", "info", "debug"};
    static const char *const priorities[] = {"<3>", "<4>", "<6>", "<7>"}; /* of syslog(3) */
    char line[LOG_LINE_BYTES];
    if ((int)level > atomic_load_explicit(&level_most, memory_order_relaxed)) {
        return;
    }
    int n = snprintf(line, sizeof line, "%s%s%s%s", journal ? priorities[level] : "",
                      named ? "slated: " : "", named ? names[level] : "", named ? ": " : "");
    va_list ap;
    va_start(ap, format);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, ap);
    va_end(ap);
    size_t bytes = (size_t)n + (m < 0 ? 0 : (size_t)m);
    if (bytes > sizeof line - 2) {
        bytes = sizeof line - 2;
    }
    line[bytes++] = '\n';
    pthread_mutex_lock(&queue.mutex);
    bool direct = queue.writer == WRITER_NONE;
    if (!direct) {
        log_put_line(line, (uint16_t)bytes);
    }
    pthread_mutex_unlock(&queue.mutex);
    if (direct && !log_write_line(line, bytes)) {
        atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
    }
}
