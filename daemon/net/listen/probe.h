/* slated --probe ADDRESS [--tls-cert FILE] [--tls-key FILE]: does a server answer there? For health
 * checks, also in containers without other programs.
 *
 * ADDRESS: HOST, HOST:PORT, [V6]:PORT, or one of these behind tls://; or the path of a UNIX socket,
 * which has a slash. The default port is 11211. The probe requests the version. A server that wants
 * a password, or has too many connections, counts as alive: a restart would help no client. The
 * server's certificate is not checked. Our certificate is the file of --tls-cert or SLATE_TLS_CERT;
 * its key is in the file of --tls-key or SLATE_TLS_KEY, else in the same file.
 *
 * Threading: main, before all else. Cost: one connection, and at most PROBE_TIMEOUT_S for each of
 * its steps. */
#ifndef SLATE_NET_LISTEN_PROBE_H
#define SLATE_NET_LISTEN_PROBE_H
#include <stdbool.h>
#include <stdio.h>

enum { PROBE_TIMEOUT_S = 2, PROBE_DEFAULT_PORT = 11211 };

/* True: the command line begins with --probe. */
bool probe_is_wanted(int argc, char **argv);
/* Returns the exit status. 0: the server answers, and `out` has the answer. 1: no answer, and
 * stderr has the reason. EX_USAGE: bad arguments. */
int  probe_run(int argc, char **argv, FILE *out);
#endif
