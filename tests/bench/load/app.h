/* The whole program, as a function, so that tests can run it in their own process. */
#ifndef LOAD_APP_H
#define LOAD_APP_H
#include <stdio.h>

/* Returns the exit code (worker.h lists them). Reports go to `out`, messages and progress to
 * `err`. Not for two threads at once. */
int app_run(int argc, char **argv, FILE *out, FILE *err);
#endif
