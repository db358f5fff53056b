/* The server's own log: one line an event to stderr. Lifecycle is info, what the environment refused is warn, what a
 * client did wrong is debug. Never called in the hit path. Threading: any; a line is one write. */
#ifndef SLATE_BASE_LOG_H
#define SLATE_BASE_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level most); /* lines above it are dropped; LOG_LEVEL_WARN at start */
int  log_verbosity(void);                /* 0, 1, 2: memcached's -v count */
void log_set_verbosity(int v);

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *format, ...);
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#endif
