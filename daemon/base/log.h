/* The server's own log: one line an event to stderr. Lifecycle is info, what the environment
 * refused is warn, what a client did wrong is debug. Never called in the hit path.
 *
 * stderr may be a pipe that nobody reads, a terminal that was stopped, a socket, or a file on a
 * disk that hangs, and others may write to it too; so no test beforehand can promise that a write
 * returns. Between log_start and log_stop a thread of its own writes, and log_line only copies the
 * line into a buffer of LOG_BUFFER_BYTES: it never waits for stderr. A line without room, and one
 * that stderr refuses, is lost and counted; `N lines of this log were lost` stands in their place
 * as soon as stderr takes lines again. Before log_start, and in programs that never call it,
 * log_line writes by itself and may wait. Threading: any, also with a project lock held; a line is
 * one write. */
#ifndef SLATE_BASE_LOG_H
#define SLATE_BASE_LOG_H
#include <stdbool.h>
#include <stdint.h>

/* the longest line; longer ones are cut */
enum { LOG_LINE_BYTES = 1024, LOG_BUFFER_BYTES = 64 << 10 };

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level most); /* lines above it are dropped; LOG_LEVEL_WARN at start */
int  log_verbosity(void);                /* 0, 1, 2: memcached's -v count */
void log_set_verbosity(int v);

/* From now on a line begins with its priority, as <4>, where stderr is the journal of systemd
 * (JOURNAL_STREAM names it; systemd.exec(5)). Before any other thread exists. */
void log_to_journal(void);

bool     log_start(void); /* false and errno: no thread */
/* returns when all lines are written, or when stderr took none for a second */
void     log_sync(void);
void     log_stop(void);  /* the same, and then the thread ends; what is not written is lost */
uint64_t log_lost(void);  /* lines lost so far */

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);
/* Without the program's name and the level before it: lines that scripts know from memcached. */
__attribute__((format(printf, 2, 3))) void log_bare(enum log_level level, const char *format, ...);
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#endif
