/* Standard output of batch mode and of the options that print. */
#ifndef CONSOLE_APP_OUTPUT_H
#define CONSOLE_APP_OUTPUT_H
#include <stdbool.h>

/* Writes out what was printed. False when standard output takes no more, with the exit code: a
 * reader that has seen enough and gone is no error, anything else is said on stderr. Needs SIGPIPE
 * to be ignored. */
bool output_flush(int *exit_code);
#endif
