/* Prints the figures of a run: for people, or as one JSON object. */
#ifndef LOAD_REPORT_H
#define LOAD_REPORT_H
#include <stdio.h>

#include "driver.h"

struct report {
    const struct options *options;
    const char *server;  /* as given */
    const char *version; /* the server's own version */
    const struct phase_result *phases;
    unsigned phase_count;
};

void report_text(FILE *out, const struct report *r);
void report_json(FILE *out, const struct report *r);

/* `text` as a JSON string, quotes included. */
void report_json_string(FILE *out, const char *text);
#endif
