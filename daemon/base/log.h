/* The server's own log: one line an event to stderr. Lifecycle is info, what the environment
 * refused is warn, what a client did wrong is debug. Never called in the hit path.
 *
 * stderr may be a pipe that nobody reads, a stopped terminal, a socket, or a file on a disk that
 * hangs. Other processes may write to it, too, so no check beforehand can promise that a write
 * returns. Between log_start and log_stop a thread of its own writes; log_line only copies the line
 * into a buffer of LOG_BUFFER_BYTES, and never waits for stderr. A line that finds no room, or that
 * stderr refuses, is lost and counted. `N lines of this log were lost` stands in place of the lost
 * lines as soon as stderr takes lines again. Before log_start, and in programs that never call it,
 * log_line writes by itself and may wait. Threading: any, also with a project lock held; a line is
 * one write. */
#ifndef SLATE_BASE_LOG_H
#define SLATE_BASE_LOG_H
#include <stdbool.h>
#include <stdint.h>

/* longer lines are cut */
enum { LOG_LINE_BYTES = 1024, LOG_BUFFER_BYTES = 64 << 10 };

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level most); /* lines above it are dropped; LOG_LEVEL_WARN at start */
void log_set_verbosity(int v);           /* 0, 1, 2: memcached's -v count */

/* If stderr is systemd's journal (JOURNAL_STREAM names it; systemd.exec(5)), each line from now on
 * begins with its priority, such as <4>. Call it before any other thread exists. */
void log_to_journal(void);

bool     log_start(void); /* false and errno: no thread */
/* Returns when all lines are written, or when stderr took none for a second. */
void     log_sync(void);
/* does log_sync, then ends the thread; what is not written by then is lost */
void     log_stop(void);
uint64_t log_lost(void);  /* lines lost so far */

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);
/* Logs a line without the program's name and the level: lines that scripts know from memcached. */
__attribute__((format(printf, 2, 3))) void log_bare(enum log_level level, const char *format, ...);
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#endif
