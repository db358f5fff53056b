/* Servers in this process. Each is the program as a shared object, loaded once more, so that no two share a
 * variable. Its main runs on a thread of its own. */
#ifndef SLATE_WORLD_SERVER_H
#define SLATE_WORLD_SERVER_H
#include <stdbool.h>
#include <stdint.h>

struct world_server;

/* Starts a server. The first word of its command line is the path of the object; its standard output and error are appended
 * to the file `log`. NULL: `why` has the error. */
struct world_server *world_server_start(char **taken_words, const char *log, const char **why);
/* Acts like a signal to the process. False: the server has no handler for it. */
bool world_server_signal(struct world_server *, int number);
/* Its threads do not go on, as those of a stopped process. */
void world_server_hold(struct world_server *, bool);
bool world_server_ended(const struct world_server *, int *status);
void world_server_free(struct world_server *); /* frees a server that has ended */

/* --- for actor.c and system.c --- */
bool world_server_is_held(const struct world_server *);
void world_server_handle(struct world_server *, int number, void (*handler)(int));
int  world_server_log(const struct world_server *);
uint64_t world_server_random(struct world_server *);
#endif
