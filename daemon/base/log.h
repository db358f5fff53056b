/* The server's own log: one line an event to stderr. Lifecycle is info, a refusal by the
 * environment is warn, a client's mistake is debug. The hit path logs nothing.
 *
 * stderr may be a pipe without a reader, a stopped terminal, a socket, or a file on a disk that
 * hangs. Other processes may write there, too, so no check beforehand can promise that a write
 * returns. Between log_start and log_stop a thread of its own writes; log_line only copies the line
 * into a buffer of LOG_BUFFER_BYTES, and never waits for stderr. A line that finds no room, or that
 * stderr refuses, is lost and counted. `N lines of this log were lost` follows in place of the lost
 * lines. Before log_start, and in programs without that call, log_line itself writes and may wait.
 * Threading: any, also with a project lock held; a line is one write. */
#ifndef SLATE_BASE_LOG_H
#define SLATE_BASE_LOG_H
#include <stdbool.h>
#include <stdint.h>

/* longer lines are cut */
enum { LOG_LINE_BYTES = 1024, LOG_BUFFER_BYTES = 64 << 10 };

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level most); /* drops lines of higher levels; LOG_LEVEL_WARN at start */
void log_set_verbosity(int v);           /* 0, 1, 2: memcached's -v count */

/* If stderr is systemd's journal (JOURNAL_STREAM names it; systemd.exec(5)), each line from now on
 * begins with its priority, such as <4>. Call this before any other thread exists. */
void log_to_journal(void);

bool     log_start(void); /* false and errno: no thread */
/* Returns when all lines are written, or when stderr took none for a second. */
void     log_sync(void);
/* does log_sync, then ends the thread; lines not written by then are lost */
void     log_stop(void);
uint64_t log_lost(void);  /* lines lost so far */

/* named: the line begins with the program's name and the level. */
__attribute__((format(printf, 3, 4))) void log_write(enum log_level level, bool named,
                                                     const char *format, ...);
#define log_line(level, ...) log_write(level, true, __VA_ARGS__)
#define log_bare(level, ...) log_write(level, false, __VA_ARGS__) /* for memcached's lines */
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#endif
