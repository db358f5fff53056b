/* What the daemon asks of the operating system at its start: limits, locked memory, another user,
 * the background, a pidfile.
 *
 * Called by main alone, in the order of this file, before any thread but the first exists (pidfile
 * apart). Errors: an exit status of sysexits.h after one line on stderr; 0 is success. What the
 * system may refuse without harm is only warned of. */
#ifndef SLATE_SERVER_PROCESS_H
#define SLATE_SERVER_PROCESS_H
#include <stdbool.h>
#include <stddef.h>

#include "server/config/settings.h"

/* A standard stream that is closed becomes /dev/null: else the log would go to whatever socket gets
 * its number. Says nothing. */
int process_stdio(void);

/* Before anything else: what process_start_next starts, and with which words. */
void process_save_argv(char **argv);
/* Starts the program that is at this one's path now, with the same options and --takeover. Returns
 * its number, or 0 after a line in the log. */
int  process_start_next(void);

/* How many files the process may have open: its connections, and what the server needs beside
 * them. */
/* For itself: the listeners', the workers' and the log's. */
static inline unsigned process_descriptors_reserved(unsigned threads) { return 5 * threads; }

/* Raises the process's limit where it is too low for these settings; it is never lowered. False:
 * the system does not allow it, and `why` (SETTING_WHY_BYTES) holds a sentence. */
bool process_descriptors_allow(const struct settings *, char *why);
/* The same, for a start. Where the system allows a file for each connection, which is all that
 * memcached asks for, but not the server's own files, maxconns becomes smaller, after a log
 * line. */
bool process_descriptors_fit(struct settings *, char *why);

/* Room for all connections, or for fewer (process_descriptors_fit), and core files with -r. */
int process_limits(struct settings *);

/* As root: needs -u, and becomes that user. Otherwise nothing happens. */
int process_drop_root(const struct settings *);

/* The folder of policies in Lua: the one given, else the one that was installed with this program,
 * or that lies in the source tree it was built in; NULL: none. `to` may be what is returned. */
const char *process_policy_dir(const struct settings *, char *to, size_t room);

/* Into the background with -d. Returns twice: in the child with 0 and *parent false; in the parent,
 * once the child is ready or has failed, with *parent true and the status to exit with. A service
 * manager that waits to be notified watches the process that it started, which then stays. */
int process_background(const struct settings *, bool *parent);

/* Drops from memory the parts of the program and of libraries that only the start needed. They are
 * read from the file again when they are used. */
void process_drop_start_pages(void);

/* What memory is used stays in RAM with -k. Once all is built: a fork would undo it, and the system
 * may refuse. */
void process_lock_memory(const struct settings *);

/* The child serves: lets the parent go and, unless it is to talk, gives up the terminal. Nothing
 * without -d. */
void process_ready(const struct settings *);

/* Writes the process id, warning when the file names a process that runs, or cannot be written, as
 * memcached does; removes the file if it is still ours. */
void process_pidfile_write(const char *path, int predecessor);
void process_pidfile_remove(const char *path);

/* Tells the service manager that started us how we are: systemd's notification protocol
 * (sd_notify(3)), a datagram to the socket that NOTIFY_SOCKET names. Without that name nothing
 * happens, and a manager that is gone is passed over: a cache serves all the same. `state`:
 * READY=1, STOPPING=1, MAINPID=number. Cost: one socket a call. */
void process_notify(const char *state);
#endif
