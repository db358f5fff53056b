#include "link/watch.h"

#include "facts/stat_line.h"
#include "facts/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const stream_names[STREAM_COUNT] = {"none",      "evictions", "deletions",
                                                       "mutations", "fetchers",  "connevents"};

const char *watch_stream_name(enum stream stream) {
    return stream_names[stream];
}

bool watch_start(struct watch *watch, const struct address *address, const struct access *access,
                 enum stream stream) {
    watch_stop(watch);
    if (stream == STREAM_NONE) {
        return true;
    }
    watch->log = calloc(1, sizeof *watch->log);
    watch->client = client_create(address, access);
    if (watch->log == NULL || watch->client == NULL) {
        watch_stop(watch);
        return false;
    }
    watch->log->stream = stream;
    snprintf(watch->log->note, sizeof watch->log->note, "connecting");
    return true;
}

bool watch_refuse(struct watch *watch, enum stream stream, const char *why) {
    watch_stop(watch);
    watch->log = calloc(1, sizeof *watch->log);
    if (watch->log != NULL) {
        watch->log->stream = stream;
        words_printf(watch->log->note, sizeof watch->log->note, "%s", why);
    }
    return watch->log != NULL;
}

void watch_stop(struct watch *watch) {
    client_destroy(&watch->client);
    free(watch->log);
    *watch = (struct watch){0};
}

/* Counts lost lines: the server sends "skipped=12" in place of lines that it dropped. */
static bool watch_take_loss(struct watch_log *log, const char *text, size_t bytes) {
    static const char word[] = "skipped=";
    const char *at = memmem(text, bytes < 12 ? bytes : 12, word, sizeof word - 1);
    uint64_t lost = 0;
    if (at == NULL) {
        return false;
    }
    for (at += sizeof word - 1; at < text + bytes && *at >= '0' && *at <= '9'; at++) {
        lost = lost < 1000000000000 ? lost * 10 + (uint64_t)(*at - '0') : lost;
    }
    log->lost += lost;
    return true;
}

void watch_take(struct watch_log *log, const char *text, size_t bytes) {
    while (bytes > 0 && (text[bytes - 1] == '\n' || text[bytes - 1] == '\r')) {
        bytes--;
    }
    if (bytes == 0 || watch_take_loss(log, text, bytes)) {
        return;
    }
    log->shown++;
    log->newest = (log->newest + 1) % WATCH_LINES;
    log->line_count += log->line_count < WATCH_LINES;
    struct watch_line *line = &log->lines[log->newest];
    line->at_s = 0;
    if (bytes > 3 && memcmp(text, "ts=", 3) == 0) { /* the view has a column for the time */
        const char *space = memchr(text, ' ', bytes);
        char time_text[40] = "";
        size_t n = space != NULL ? (size_t)(space - text) - 3 : 0;
        if (n > 0 && n < sizeof time_text) {
            memcpy(time_text, text + 3, n);
            line->at_s = strtod(time_text, NULL);
            bytes -= n + 4;
            text += n + 4;
        }
    }
    if (bytes > 4 && memcmp(text, "gid=", 4) == 0 && memchr(text, ' ', bytes) != NULL) {
        const char *space = memchr(text, ' ', bytes); /* operators have no use for this number */
        bytes -= (size_t)(space - text) + 1;
        text = space + 1;
    }
    stat_line_printable(line->text, sizeof line->text, text, bytes);
}

static void watch_take_lines(struct watch *watch, uint64_t now_ms) {
    struct reply reply;
    while (watch->client != NULL && client_take_reply(watch->client, &reply, now_ms)) {
        struct watch_log *log = watch->log;
        bool is_first = log->note[0] != '\0';
        if (is_first && reply.text_bytes >= 2 && memcmp(reply.text, "OK", 2) == 0) {
            log->note[0] = '\0';
        } else if (is_first) {
            int n = (int)(reply.text_bytes < 60 ? reply.text_bytes : 60);
            words_printf(log->note, sizeof log->note, "the server has no such stream: %.*s", n,
                         reply.text);
            log->note[strcspn(log->note, "\r\n")] = '\0';
            client_destroy(&watch->client);
        } else {
            watch_take(log, reply.text, reply.text_bytes);
        }
    }
}

bool watch_step(struct watch *watch, uint64_t now_ms) {
    if (watch->client == NULL || now_ms < watch->next_ms) {
        return false;
    }
    watch->next_ms = 0;
    uint64_t shown_before = watch->log->shown + watch->log->lost;
    char note_before = watch->log->note[0];
    client_step(watch->client, now_ms);
    if (client_state(watch->client) == CLIENT_UP &&
        watch->generation != client_generation(watch->client)) {
        char line[40];
        watch->generation = client_generation(watch->client);
        snprintf(line, sizeof line, "watch %s", stream_names[watch->log->stream]);
        client_send(watch->client, line, REPLY_STREAM, 0, now_ms);
        client_flush(watch->client, now_ms);
        snprintf(watch->log->note, sizeof watch->log->note, "asking");
    } else if (client_state(watch->client) == CLIENT_DOWN &&
               client_note(watch->client)[0] != '\0') {
        words_printf(watch->log->note, sizeof watch->log->note, "%s", client_note(watch->client));
    }
    watch_take_lines(watch, now_ms);
    bool has_news = watch->log->shown + watch->log->lost != shown_before ||
                    watch->log->note[0] != note_before;
    if (has_news && watch->log->shown != 0) {
        watch->next_ms = now_ms + WATCH_PAUSE_MS;
    }
    return has_news;
}

uint64_t watch_due_ms(const struct watch *watch) {
    if (watch->client == NULL) {
        return UINT64_MAX;
    }
    uint64_t due_ms = client_due_ms(watch->client);
    return watch->next_ms != 0 ? watch->next_ms : due_ms;
}

const struct client *watch_polled(const struct watch *watch) {
    return watch->client != NULL && watch->next_ms == 0 ? watch->client : NULL;
}

const struct watch_line *watch_line(const struct watch_log *log, unsigned index) {
    return index < log->line_count ? &log->lines[(log->newest + WATCH_LINES - index) % WATCH_LINES]
                                   : NULL;
}

double watch_lost_share(const struct watch_log *log) {
    return log->lost > 0 ? (double)log->lost / (double)(log->lost + log->shown) : 0;
}
