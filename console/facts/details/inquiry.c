#include "facts/details/inquiry.h"

#include <stdlib.h>
#include <string.h>

#define INQUIRY_ROW(name, command, server, stores) {command, server, stores},
const struct inquiry_row inquiry_rows[INQUIRY_COUNT] = {INQUIRIES(INQUIRY_ROW)};

/* Why memcached has no such answer, and what it reports on the subject. */
static const char *inquiry_stock_reason(enum inquiry inquiry) {
    if (inquiry == INQUIRY_HOTKEYS) {
        return "needs slated; on memcached, slatectl hotkeys counts reads for ten seconds";
    }
    if (inquiry == INQUIRY_CURVE) {
        return "needs slated; on memcached compare AGE and UNRD% of the classes (2)";
    }
    return "needs slated: memcached does not report this";
}

bool inquiry_is_offered(enum inquiry inquiry, const struct snapshot *now, const char **why_not) {
    enum inquiry_server server = inquiry_rows[inquiry].server;
    *why_not = "";
    if (now == NULL) {
        *why_not = "nothing is known about the server yet";
    } else if (server == OF_SLATED && !now->is_slated) {
        *why_not = inquiry_stock_reason(inquiry);
    } else if (server == OF_TRACKED && now->is_slated) {
        *why_not = "slated has stats sizehist instead";
    } else if (server == OF_TRACKED && now->setting[SETTING_track_sizes] != 1) {
        *why_not = "the server does not track sizes: start it with -o track_sizes";
    }
    return **why_not == '\0';
}

void inquiry_fini(struct answers *answers) {
    for (int i = 0; i < INQUIRY_COUNT; i++) {
        free(answers->of[i].text);
        answers->of[i] = (struct answer){.state = ANSWER_NONE};
    }
}

void inquiry_take(struct answers *answers, enum inquiry inquiry, const char *text, size_t bytes,
                  bool is_stats, uint64_t now_ms) {
    struct answer *answer = &answers->of[inquiry];
    free(answer->text);
    answer->text = is_stats && inquiry_rows[inquiry].stores_text ? malloc(bytes + 1) : NULL;
    answer->state = is_stats ? ANSWER_KNOWN : ANSWER_REFUSED;
    answer->at_ms = now_ms;
    if (answer->text != NULL) {
        memcpy(answer->text, text, bytes);
        answer->text[bytes] = '\0';
    }
    if (!is_stats) {
        stat_line_printable(answer->refusal, sizeof answer->refusal, text, bytes);
    }
}

const char *inquiry_text(const struct answers *answers, enum inquiry inquiry) {
    return answers->of[inquiry].text;
}
