#include "facts/inquiry.h"

#include "facts/detail_extstore.h"

#include <stdlib.h>
#include <string.h>

#define INQUIRY_ROW(name, command, server, keeps) {command, server, keeps},
const struct inquiry_row inquiry_rows[INQUIRY_COUNT] = {INQUIRIES(INQUIRY_ROW)};

/* Why memcached shows nothing there, and what it does tell about the same. */
static const char *stock_reason(enum inquiry inquiry) {
    if (inquiry == INQUIRY_HOTKEYS) {
        return "needs slated; memcached tells keys as they come: w in Events (8)";
    }
    if (inquiry == INQUIRY_CURVE) {
        return "needs slated; on memcached compare AGE and UNRD% of the classes (2)";
    }
    return "needs slated: memcached does not tell";
}

/* Why the server does not tell its pages on flash one by one; "" when it does. */
static const char *extstore_reason(const struct snapshot *now) {
    double pages = stat_number(now->general[GENERAL_extstore_pages_free]) +
                   stat_number(now->general[GENERAL_extstore_pages_used]);
    if (now->is_slated) {
        return "slated has no storage on flash: all items are in memory";
    }
    if (!snapshot_has_extstore(now)) {
        return now->setting[SETTING_ext_item_size] != STAT_ABSENT
                   ? "this memcached was started without storage on flash: -o ext_path=FILE:SIZE"
                   : "this memcached has no storage on flash: it was built without extstore";
    }
    return pages > EXTSTORE_PAGES_MOST ? "too many pages to ask for them one by one" : "";
}

bool inquiry_is_offered(enum inquiry inquiry, const struct snapshot *now, const char **why_not) {
    enum inquiry_server server = inquiry_rows[inquiry].server;
    *why_not = "";
    if (now == NULL) {
        *why_not = "nothing is known about the server yet";
    } else if (server == OF_SLATED && !now->is_slated) {
        *why_not = stock_reason(inquiry);
    } else if (server == OF_TRACKED && now->is_slated) {
        *why_not = "slated has stats sizehist instead";
    } else if (server == OF_TRACKED && now->setting[SETTING_track_sizes] != 1) {
        *why_not = "the server does not track sizes: start it with -o track_sizes";
    }
    if (**why_not == '\0' && server == OF_EXTSTORE) {
        *why_not = extstore_reason(now);
    }
    return **why_not == '\0';
}

void answers_fini(struct answers *answers) {
    for (int i = 0; i < INQUIRY_COUNT; i++) {
        free(answers->of[i].text);
        answers->of[i] = (struct answer){.state = ANSWER_NONE};
    }
}

static void take_refusal(struct answer *answer, const char *text, size_t bytes) {
    size_t n = 0;
    for (; n < bytes && n + 1 < sizeof answer->refusal && text[n] >= ' '; n++) {
        answer->refusal[n] = text[n] <= '~' ? text[n] : '?';
    }
    answer->refusal[n] = '\0';
}

void answers_take(struct answers *answers, enum inquiry inquiry, const char *text, size_t bytes,
                  bool is_stats, uint64_t now_ms) {
    struct answer *answer = &answers->of[inquiry];
    free(answer->text);
    answer->text = is_stats && inquiry_rows[inquiry].keeps_text ? malloc(bytes + 1) : NULL;
    answer->state = is_stats ? ANSWER_KNOWN : ANSWER_REFUSED;
    answer->at_ms = now_ms;
    if (answer->text != NULL) {
        memcpy(answer->text, text, bytes);
        answer->text[bytes] = '\0';
    }
    if (!is_stats) {
        take_refusal(answer, text, bytes);
    }
}

const char *answer_text(const struct answers *answers, enum inquiry inquiry) {
    return answers->of[inquiry].text;
}
