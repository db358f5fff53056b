/* The server under test: a process of its own on a free port of 127.0.0.1. */
#ifndef MODEL_SERVER_H
#define MODEL_SERVER_H
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct server {
    pid_t pid;
    int   port;
    FILE *log; /* its output, in a file without a name */
};

/* Options after the program's name, ended by NULL. False: the server did not start; the reason was printed. */
bool     server_start(struct server *, const char *program, char *const options[]);
unsigned server_descriptors(const struct server *);
/* Ends the server with SIGTERM. Returns its exit status, or 128 and the signal that ended it; unless that is 0 its output was printed. */
int      server_stop(struct server *);
#endif
