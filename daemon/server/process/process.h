/* Requests of the daemon to the operating system at its start: limits, locked memory, another
 * user, the background, a pidfile.
 *
 * Threading: main calls these functions, in the order of this file, before any other thread
 * exists (except for the pidfile). Errors: an exit status of sysexits.h after one line on
 * stderr; 0 is success. A refusal that does no harm is only a warning. */
#ifndef SLATE_SERVER_PROCESS_H
#define SLATE_SERVER_PROCESS_H
#include <stdbool.h>
#include <stddef.h>

#include "server/config/settings.h"

/* Opens /dev/null for each standard stream that is closed: otherwise a socket would get its number,
 * and the log would go to that socket. Prints nothing. */
int process_stdio(void);

/* Saves program and arguments for process_start_next. Called first of all. */
void process_save_argv(char **argv);
/* Starts the program that is now at this program's path, with the same options and --takeover.
 * Returns its process id, or 0 after a log line. */
int  process_start_next(void);

/* Descriptors that the server itself needs, for listeners, workers and the log. */
static inline unsigned process_descriptors_reserved(unsigned threads) { return 5 * threads; }

/* Raises the process's limit of open files where it is too low for these settings, and never lowers
 * it. False: the system refuses, and `why` (SETTING_WHY_BYTES) holds a sentence. */
bool process_descriptors_allow(const struct settings *, char *why);
/* The same at a start. If the system allows a file for each connection, but not the server's own
 * files as well, maxconns becomes smaller after a log line: memcached does not count own files. */
bool process_descriptors_fit(struct settings *, char *why);

/* Sets the limit of open files (process_descriptors_fit) and, with -r, that of core files. */
int process_limits(struct settings *);

/* As root: switches to the user of -u, which must be given. Otherwise does nothing. */
int process_drop_root(const struct settings *);

/* Returns the folder of policies in Lua: the option's, or the one installed with this program, or
 * the one in the source tree of this build. NULL: none. The result may be `to`. */
const char *process_policy_dir(const struct settings *, char *to, size_t room);

/* With -d goes into the background. Returns twice: in the child with 0 and *parent false; in the
 * parent, once the child is ready or has failed, with *parent true and the exit status. Under a
 * service manager that waits for a notification the process stays in the foreground. */
int process_background(const struct settings *, bool *parent);

/* Drops from memory the code that only the start needed, of program and libraries. The kernel reads
 * code from the file again when it is used. */
void process_drop_start_pages(void);

/* With -k locks the memory in use into RAM. Called once all is built, because a fork would unlock
 * it. The system may refuse. */
void process_lock_memory(const struct settings *);

/* Called when the child serves: ends the parent's wait and, unless -v is given, detaches from the
 * terminal. Does nothing without -d. */
void process_ready(const struct settings *);

/* Writes the process id. As in memcached, a file that names a running process, or cannot be
 * written, is a warning. process_pidfile_remove removes the file if it still holds our id. */
void process_pidfile_write(const char *path, int predecessor);
void process_pidfile_remove(const char *path);

/* Reports a state to the service manager by systemd's notification protocol (sd_notify(3)): a
 * datagram to the socket that NOTIFY_SOCKET names. Does nothing without that variable; a failure is
 * only logged. `state`: READY=1, STOPPING=1, MAINPID=number. Cost: one socket a call. */
void process_notify(const char *state);
#endif
