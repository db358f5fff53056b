#include "inquiry.h"

#include <stdlib.h>
#include <string.h>

#define INQUIRY_ROW(name, command, slated) {command, slated},
const struct inquiry_row inquiry_rows[INQUIRY_COUNT] = {INQUIRIES(INQUIRY_ROW)};

void answers_fini(struct answers *answers) {
    for (int i = 0; i < INQUIRY_COUNT; i++) {
        free(answers->of[i].text);
        answers->of[i].text = NULL;
    }
}

void answers_take(struct answers *answers, enum inquiry inquiry, const char *text, size_t bytes,
                  bool is_stats, uint64_t now_ms) {
    struct answer *answer = &answers->of[inquiry];
    free(answer->text);
    answer->text = is_stats ? malloc(bytes + 1) : NULL;
    answer->at_ms = now_ms;
    if (answer->text != NULL) {
        memcpy(answer->text, text, bytes);
        answer->text[bytes] = '\0';
    }
}

const char *answer_text(const struct answers *answers, enum inquiry inquiry) {
    return answers->of[inquiry].text;
}

bool stat_next(const char **at, struct stat_line *line) {
    return *at != NULL && stat_line_next(at, *at + strlen(*at), line);
}

const char *stat_value(const char *text, const char *name, struct stat_line *line) {
    for (const char *at = text; stat_next(&at, line);) {
        if (strcmp(line->name, name) == 0) {
            return line->value;
        }
    }
    line->value[0] = '\0';
    return line->value;
}

double stat_value_number(const char *text, const char *name) {
    struct stat_line line;
    return stat_line_number(stat_value(text, name, &line));
}
