/* slatetop: parses the command line and runs the console or batch mode. */
#include "app/batch_mode.h"
#include "app/loop.h"
#include "brain/own_rules.h"
#include "facts/words.h"

#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>

/* Large short-lived buffers, of packing and reading, go back to the system. The C library would
 * keep more and more of their memory, between lasting blocks and at the heap's end. */
enum { SCRATCH_BYTES = 128 << 10, SPARE_BYTES = 16 << 10 };

/* Obeys options that print and end; false when the program goes on. */
static bool main_print_and_leave(const struct options *options) {
    if (options->wants_help) {
        options_help(stdout);
    } else if (options->wants_tables) {
        options_describe(stdout);
    } else if (options->wants_version) {
        printf("slatetop %s\n", SLATE_VERSION);
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv) {
    setlocale(LC_ALL, "");
    mallopt(M_MMAP_THRESHOLD, SCRATCH_BYTES);
    mallopt(M_TRIM_THRESHOLD, 2 * SPARE_BYTES);
    mallopt(M_TOP_PAD, SPARE_BYTES);
    static struct options options; /* 70 kB */
    char why[300] = "";
    bool is_right = options_parse(&options, argc, argv, why, sizeof why);
    words_make_plain(why); /* it may quote words of a file */
    if (!is_right) {
        fprintf(stderr, "slatetop: %s; --help lists the options\n", why);
        return EXIT_USAGE;
    }
    signal(SIGPIPE, SIG_IGN); /* a failed write shows that the reader has gone */
    if (main_print_and_leave(&options)) {
        int exit_code;
        batch_flush_output(&exit_code);
        return exit_code;
    }
    if (!options_open(&options, why, sizeof why)) {
        words_make_plain(why);
        fprintf(stderr, "slatetop: %s\n", why);
        return EXIT_USAGE;
    }
    if (options.unread[0] != '\0') {
        fprintf(stderr, "slatetop: %s\n", options.unread);
    }
    own_rules_open();
    int exit_code = options.batch ? batch_run(&options) : loop_run(&options);
    own_rules_close();
    options_close(&options);
    return exit_code;
}
