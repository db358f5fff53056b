/* slated --probe ADDRESS [--tls-cert FILE] [--tls-key FILE]: does a server answer there? For health
 * checks, in a container as well, where nothing else may be installed.
 *
 * ADDRESS: HOST, HOST:PORT, [V6]:PORT, the path of a UNIX socket, which holds a slash, or tls://
 * before one of the first three; port 11211 where none is given. It asks for the version. A server
 * that wants a password, or has too many connections, lives, too: restarting it would help nobody.
 * The server's certificate is not looked at. Ours is shown where --tls-cert, or SLATE_TLS_CERT in
 * the environment, names one; its key is in --tls-key or SLATE_TLS_KEY, else in the same file.
 *
 * Threading: main, before anything else. Cost: one connection; PROBE_TIMEOUT_S at most for each of
 * its steps. */
#ifndef SLATE_NET_LISTEN_PROBE_H
#define SLATE_NET_LISTEN_PROBE_H
#include <stdbool.h>
#include <stdio.h>

enum { PROBE_TIMEOUT_S = 2, PROBE_DEFAULT_PORT = 11211 };

/* Whether the command line begins with --probe. */
bool probe_is_wanted(int argc, char **argv);
/* Returns the exit status: 0, it answers, and a line to `out` says what; 1, it does not, and a line
 * on stderr says why; EX_USAGE. */
int  probe_run(int argc, char **argv, FILE *out);
#endif
