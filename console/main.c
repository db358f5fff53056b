/* slatetop: parses the command line and runs the console or batch mode. */
#include "app.h"

#include <locale.h>
#include <stdio.h>

int main(int argc, char **argv) {
    setlocale(LC_ALL, "");
    struct options options;
    char why[200];
    bool is_right = options_parse(&options, argc, argv, why, sizeof why);
    if (!is_right) {
        fprintf(stderr, "slatetop: %s; --help lists the options\n", why);
        return EXIT_USAGE;
    }
    if (options.wants_help) {
        options_help(stdout);
        return EXIT_OK;
    }
    if (options.wants_tables) {
        options_describe(stdout);
        return EXIT_OK;
    }
    if (options.wants_version) {
        printf("slatetop %s\n", SLATE_VERSION);
        return EXIT_OK;
    }
    return options.batch ? batch_run(&options) : app_run(&options);
}
