/* slate-load as a program of the world: the first word is the file for its report, the others are slate-load's own. */
#include "app.h"

int main(int argc, char **argv) {
    FILE *report = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (report == NULL) {
        return 2;
    }
    int code = app_run(argc - 1, argv + 1, report, report);
    fclose(report);
    return code;
}
