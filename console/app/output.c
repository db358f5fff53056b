#include "app/output.h"

#include "app/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool output_flush(int *exit_code) {
    *exit_code = EXIT_OK;
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return true;
    }
    if (errno != EPIPE) {
        fprintf(stderr, "slatetop: cannot write: %s\n", strerror(errno));
        *exit_code = EXIT_OUTPUT;
    }
    return false;
}
