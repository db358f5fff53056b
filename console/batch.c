/* Batch mode: the overview and the class table as plain text or JSON, without a terminal. */
#include "app.h"

#include "class_table.h"
#include "format.h"
#include "health.h"
#include "output.h"
#include "poller.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH_WINDOW_MS = 1000, FIRST_REPLY_MS = 5000 };

static volatile sig_atomic_t was_interrupted;

static void on_interrupt(int number) {
    (void)number;
    was_interrupted = 1;
}

static const char *metric_text(enum metric metric, double value, char out[FORMAT_BYTES]) {
    if (metric_rows[metric].unit == UNIT_RATIO) {
        return format_percent(out, value);
    }
    return metric_rows[metric].unit == UNIT_BYTES_PER_SECOND ? format_bytes(out, value)
                                                             : format_count(out, value);
}

static void print_health(const struct model *model, uint64_t now_ms, uint64_t interval_ms) {
    struct health_line lines[HEALTH_LIMIT];
    int count = health_assess(model, now_ms, interval_ms, lines);
    for (int i = 0; i < count; i++) {
        printf("%-6s %s\n", severity_word(lines[i].severity), lines[i].text);
    }
}

static void print_overview(const struct model *model) {
    const struct snapshot *now = model_now(model);
    for (int i = 0; i < METRIC_COUNT; i++) {
        char text[FORMAT_BYTES];
        printf("%-18s %7s%s", metric_rows[i].name,
               metric_text((enum metric)i, model_metric(model, (enum metric)i), text),
               i % 3 == 2 || i == METRIC_COUNT - 1 ? "\n" : "   ");
    }
    char bytes[FORMAT_BYTES], limit[FORMAT_BYTES], items[FORMAT_BYTES], pool[FORMAT_BYTES];
    printf("memory             %7s of %s, %s items, %s pages in the pool\n",
           format_bytes(bytes, stat_number(now->general[GENERAL_bytes])),
           format_bytes(limit, stat_number(now->general[GENERAL_limit_maxbytes])),
           format_count(items, stat_number(now->general[GENERAL_curr_items])),
           format_count(pool, stat_number(now->general[GENERAL_slab_global_page_pool])));
}

/* Text is padded by glyphs, not by bytes: "·" and "Δ" are one column wide. */
static void print_right(const char *text, int width) {
    printf(" %*s%s", width - cells_width_of(text), "", text);
}

static void print_classes(const struct model *model) {
    struct class_table_ui table;
    class_table_init(&table);
    table.sort = COLUMN_ID;
    table.is_ascending = true;
    unsigned ids[CLASS_LIMIT];
    unsigned count = class_table_rows(model, &table, ids);
    for (int column = 0; column < COLUMN_COUNT; column++) {
        print_right(class_columns[column].head, class_columns[column].width);
    }
    printf("  STATE\n");
    for (unsigned i = 0; i < count; i++) {
        for (int column = 0; column < COLUMN_COUNT; column++) {
            char text[16];
            class_table_text(model, ids[i], (enum class_column)column, BATCH_WINDOW_MS, text);
            print_right(text, class_columns[column].width);
        }
        printf("  %s\n", class_state_word(health_class_state(model, ids[i])));
    }
}

static void print_text(const struct model *model, time_t wall, uint64_t now_ms,
                       uint64_t interval_ms) {
    const struct snapshot *now = model_now(model);
    char clock_text[32];
    struct tm local;
    localtime_r(&wall, &local);
    strftime(clock_text, sizeof clock_text, "%Y-%m-%d %H:%M:%S", &local);
    printf("%s  %s  %s %s\n", clock_text, model_server(model), snapshot_software(now),
           snapshot_version(now));
    print_health(model, now_ms, interval_ms);
    print_overview(model);
    print_classes(model);
    printf("\n");
}

/* Strings here are printable ASCII or our own words, but an address may hold anything the user
 * typed. */
static void print_json_string(const char *text) {
    putchar('"');
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte == '"' || byte == '\\' || byte < ' ') {
            printf("\\u%04x", byte);
        } else {
            putchar(byte);
        }
    }
    putchar('"');
}

/* Unknown and reset values are null: absent is not zero. */
static void print_json_number(double value) {
    if (isnan(value) || value < 0) {
        printf("null");
    } else {
        printf("%.10g", value);
    }
}

static void print_json(const struct model *model, time_t wall, uint64_t now_ms,
                       uint64_t interval_ms) {
    const struct snapshot *now = model_now(model);
    printf("{\"time\":%lld,\"server\":", (long long)wall);
    print_json_string(model_server(model));
    printf(",\"software\":\"%s\",\"version\":", snapshot_software(now));
    print_json_string(snapshot_version(now));
    printf(",\"health\":[");
    struct health_line lines[HEALTH_LIMIT];
    int count = health_assess(model, now_ms, interval_ms, lines);
    for (int i = 0; i < count; i++) {
        printf("%s{\"severity\":\"%s\",\"text\":", i > 0 ? "," : "",
               severity_word(lines[i].severity));
        print_json_string(lines[i].text);
        printf("}");
    }
    printf("],\"rates\":{");
    for (int i = 0; i < METRIC_COUNT; i++) {
        printf("%s\"%s\":", i > 0 ? "," : "", metric_rows[i].key);
        print_json_number(model_metric(model, (enum metric)i));
    }
    printf("},\"memory\":{\"bytes\":");
    print_json_number(stat_number(now->general[GENERAL_bytes]));
    printf(",\"limit_bytes\":");
    print_json_number(stat_number(now->general[GENERAL_limit_maxbytes]));
    printf(",\"items\":");
    print_json_number(stat_number(now->general[GENERAL_curr_items]));
    printf(",\"pool_pages\":");
    print_json_number(stat_number(now->general[GENERAL_slab_global_page_pool]));
    printf("},\"classes\":[");
    bool is_first = true;
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        if (!now->classes[id].present) {
            continue;
        }
        printf("%s{\"state\":\"%s\"", is_first ? "" : ",",
               class_state_word(health_class_state(model, id)));
        for (int column = 0; column < COLUMN_COUNT; column++) {
            double value =
                class_table_shown_value(model, id, (enum class_column)column, BATCH_WINDOW_MS);
            printf(",\"%s\":", class_columns[column].name);
            if (column == COLUMN_CHANGE && !isnan(value)) {
                printf("%.0f", value);
            } else {
                print_json_number(value);
            }
        }
        printf("}");
        is_first = false;
    }
    printf("]}\n");
}

static void wait_for_server(const struct client *client, const struct poller *poller,
                            uint64_t now_ms, uint64_t limit_ms) {
    uint64_t due_ms = limit_ms;
    due_ms = client_due_ms(client) < due_ms ? client_due_ms(client) : due_ms;
    due_ms = poller_due_ms(poller, client) < due_ms ? poller_due_ms(poller, client) : due_ms;
    struct pollfd polled = {.fd = client_fd(client), .events = client_events(client)};
    poll(&polled, 1, due_ms > now_ms ? (int)(due_ms - now_ms) : 0);
}

/* Runs until the snapshots are printed; the exit code. A lost connection ends it: a script would
 * rather know. */
static int print_snapshots(const struct options *options, struct model *model,
                           struct client *client, struct poller *poller) {
    unsigned printed = 0;
    uint64_t limit_ms = clock_ms() + FIRST_REPLY_MS + options->interval_ms;
    while (printed < options->snapshots) {
        uint64_t now_ms = clock_ms();
        client_step(client, now_ms);
        struct reply reply;
        while (client_take_reply(client, &reply, now_ms)) {
            if (!poller_take(poller, &reply, now_ms)) {
                continue;
            }
            model_set_link(model, LINK_UP, "", time(NULL));
            model_add(model, &poller->latest, time(NULL));
            (options->json ? print_json : print_text)(model, time(NULL), now_ms,
                                                      options->interval_ms);
            int exit_code;
            if (!output_flush(&exit_code)) {
                return exit_code;
            }
            printed++;
            limit_ms = now_ms + FIRST_REPLY_MS + options->interval_ms;
        }
        if (printed == options->snapshots) {
            break;
        }
        if (was_interrupted) {
            return EXIT_INTERRUPTED;
        }
        if (client_state(client) == CLIENT_DOWN && client_note(client)[0] != '\0') {
            fprintf(stderr, "slatetop: %s\n", client_note(client));
            return EXIT_NO_SERVER;
        }
        if (poller->refusal[0] != '\0') {
            fprintf(stderr, "slatetop: %s refuses to answer: %s\n", options->address.text,
                    poller->refusal);
            return EXIT_NO_SERVER;
        }
        if (now_ms >= limit_ms) {
            fprintf(stderr, "slatetop: %s does not answer\n", options->address.text);
            return EXIT_NO_SERVER;
        }
        poller_step(poller, client, now_ms);
        wait_for_server(client, poller, now_ms, limit_ms);
    }
    return EXIT_OK;
}

int batch_run(const struct options *options) {
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct model *model = model_create(options->address.text);
    struct client *client = client_create(&options->address);
    struct poller *poller = malloc(sizeof *poller);
    int exit_code = EXIT_INTERNAL;
    if (model == NULL || client == NULL || poller == NULL) {
        fprintf(stderr, "slatetop: out of memory\n");
    } else {
        poller_init(poller, options->interval_ms);
        exit_code = print_snapshots(options, model, client, poller);
    }
    free(poller);
    client_destroy(&client);
    model_destroy(&model);
    return exit_code;
}
