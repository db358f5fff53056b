#include "app/batch_mode.h"

#include "app/servers/fleet.h"
#include "app/servers/timeline.h"
#include "brain/brain.h"
#include "brain/brain_query.h"
#include "brain/format.h"
#include "brain/health.h"
#include "brain/own_rules.h"
#include "draw/class_table.h"
#include "facts/poll_clock.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH_WINDOW_MS = 1000, FIRST_REPLY_MS = 5000 };

bool batch_flush_output(int *exit_code) {
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

static volatile sig_atomic_t was_interrupted;

static void batch_on_interrupt(int number) {
    (void)number;
    was_interrupted = 1;
}

static void batch_print_overview(const struct model *model) {
    const struct snapshot *now = model_now(model);
    for (int i = 0; i < METRIC_COUNT; i++) {
        char text[FORMAT_BYTES];
        printf("%-18s %7s%s", metric_rows[i].name,
               format_metric(text, (enum metric)i, model_metric(model, (enum metric)i)),
               i % 3 == 2 || i == METRIC_COUNT - 1 ? "\n" : "   ");
    }
    char bytes[FORMAT_BYTES], limit[FORMAT_BYTES], items[FORMAT_BYTES], pool[FORMAT_BYTES];
    printf("memory             %7s of %s, %s items, %s pages in the pool\n",
           format_bytes(bytes, snapshot_item_bytes(now)),
           format_bytes(limit, stat_number(now->general[GENERAL_limit_maxbytes])),
           format_count(items, stat_number(now->general[GENERAL_curr_items])),
           format_count(pool, stat_number(now->general[GENERAL_slab_global_page_pool])));
}

/* Prints a text right-aligned, by glyphs, not by bytes: "·" and "Δ" are one column wide. */
static void batch_print_right(const char *text, int width) {
    printf(" %*s%s", width - cells_width_of(text), "", text);
}

static void batch_print_classes(const struct model *model) {
    struct class_table_ui table;
    class_table_init(&table);
    table.sort = COLUMN_ID;
    table.is_ascending = true;
    unsigned ids[CLASS_LIMIT];
    unsigned count = class_table_rows(model, &table, ids);
    for (int column = 0; column < COLUMN_COUNT; column++) {
        batch_print_right(class_columns[column].head, class_columns[column].width);
    }
    for (unsigned i = 0; i < own_rules_columns(); i++) {
        batch_print_right(own_rules_title(i), own_rules_width(i));
    }
    printf("  STATE\n");
    for (unsigned i = 0; i < count; i++) {
        for (int column = 0; column < COLUMN_COUNT; column++) {
            char text[CELL_BYTES];
            class_column_text(model, ids[i], (enum class_column)column, BATCH_WINDOW_MS, text);
            batch_print_right(text, class_columns[column].width);
        }
        for (unsigned column = 0; column < own_rules_columns(); column++) {
            batch_print_right(brain_own_value(model, column, ids[i]), own_rules_width(column));
        }
        printf("  %s\n", brain_class_word(brain_class(brain_of(model), ids[i])->state));
    }
}

static void batch_print_text(const struct model *model, time_t wall, uint64_t now_ms,
                             uint64_t interval_ms) {
    const struct snapshot *now = model_now(model);
    char clock_text[32];
    struct tm local;
    localtime_r(&wall, &local);
    strftime(clock_text, sizeof clock_text, "%Y-%m-%d %H:%M:%S", &local);
    printf("%s  %s  %s %s\n", clock_text, model_server(model), snapshot_software(now),
           snapshot_version(now));
    struct health_line lines[HEALTH_LIMIT];
    int count = health_assess(model, now_ms, interval_ms, lines);
    for (int i = 0; i < count; i++) {
        printf("%-6s %s\n", health_word(lines[i].tone), lines[i].text);
    }
    batch_print_overview(model);
    batch_print_classes(model);
    printf("\n");
}

/* Unknown and reset values are null: absent is not zero. */
static json_t *batch_json_figure(double value) {
    return isnan(value) || value < 0 ? json_null() : json_real(value);
}

static json_t *batch_json_health(const struct model *model, uint64_t now_ms, uint64_t interval_ms) {
    struct health_line lines[HEALTH_LIMIT];
    int count = health_assess(model, now_ms, interval_ms, lines);
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(list, json_pack("{s:s, s:s}", "severity", health_word(lines[i].tone),
                                              "text", lines[i].text));
    }
    return list;
}

static json_t *batch_json_rates(const struct model *model) {
    json_t *rates = json_object();
    for (int i = 0; i < METRIC_COUNT; i++) {
        json_object_set_new(rates, metric_rows[i].key,
                            batch_json_figure(model_metric(model, (enum metric)i)));
    }
    return rates;
}

/* The class table of the screen as JSON; the names of the columns are its keys. */
static json_t *batch_json_figures(const struct model *model) {
    const struct snapshot *now = model_now(model);
    json_t *list = json_array();
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        if (!snapshot_class(now, id)->present) {
            continue;
        }
        json_t *one =
            json_pack("{s:s}", "state", brain_class_word(brain_class(brain_of(model), id)->state));
        for (int column = 0; column < COLUMN_COUNT; column++) {
            double value =
                class_column_shown_value(model, id, (enum class_column)column, BATCH_WINDOW_MS);
            bool may_fall = column == COLUMN_CHANGE && !isnan(value);
            json_object_set_new(one, class_columns[column].name,
                                may_fall ? json_real(value) : batch_json_figure(value));
        }
        json_array_append_new(list, one);
    }
    return list;
}

/* Prints a complete line of a recording, with members that slatetop adds, and frees the line. */
static void batch_print_json(const struct model *model, char *line, uint64_t now_ms,
                             uint64_t interval_ms) {
    json_t *taken = line != NULL ? json_loads(line, JSON_ALLOW_NUL, NULL) : NULL;
    free(line);
    if (taken == NULL) {
        return;
    }
    json_object_set_new(taken, "health", batch_json_health(model, now_ms, interval_ms));
    json_object_set_new(taken, "rates", batch_json_rates(model));
    json_object_set_new(taken, "figures", batch_json_figures(model));
    json_dumpf(taken, stdout, JSON_COMPACT | JSON_REAL_PRECISION(14));
    putchar('\n');
    json_decref(taken);
}

/* Prints a field of CSV, in quotes if it holds a comma, a quote or the end of a line. */
static void batch_print_field(const char *text) {
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, stdout);
        return;
    }
    putchar('"');
    for (; *text != '\0'; text++) {
        printf(*text == '"' ? "\"\"" : "%c", *text);
    }
    putchar('"');
}

/* Prints the table of classes, a line each; unknown values are empty. The names of the columns come
 * before the first line. */
static void batch_print_csv(const struct model *model, int64_t wall_ms) {
    static bool has_heads;
    const struct snapshot *now = model_now(model);
    if (!has_heads) {
        printf("time_s,server");
        for (int column = 0; column < COLUMN_COUNT; column++) {
            printf(",%s", class_columns[column].name);
        }
        printf(",state\r\n");
        has_heads = true;
    }
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        if (!snapshot_class(now, id)->present) {
            continue;
        }
        printf("%.3f,", (double)wall_ms / 1000);
        batch_print_field(model_server(model));
        for (int column = 0; column < COLUMN_COUNT; column++) {
            double value =
                class_column_shown_value(model, id, (enum class_column)column, BATCH_WINDOW_MS);
            bool is_known = !isnan(value) && (value >= 0 || column == COLUMN_CHANGE);
            printf(is_known ? ",%.14g" : ",", value);
        }
        printf(",%s\r\n", brain_class_word(brain_class(brain_of(model), id)->state));
    }
}

/* Prints a sample in the options' format. `line`, of a recording, is for JSON, which frees it. */
static void batch_print_sample(const struct options *options, const struct model *model, char *line,
                               int64_t wall_ms, uint64_t now_ms) {
    if (options->json) {
        batch_print_json(model, line, now_ms, options->interval_ms);
    } else if (options->csv) {
        batch_print_csv(model, wall_ms);
    } else {
        batch_print_text(model, (time_t)(wall_ms / 1000), now_ms, options->interval_ms);
    }
}

/* One server of the fleet: how many snapshots it has printed, and when it must have the next. */
struct batch {
    unsigned printed;
    uint64_t limit_ms;
    bool is_lost;
};

/* True if the server is given up; prints why. A lost connection ends it: scripts must notice. */
static bool batch_is_given_up(const struct session *session, struct batch *batch, uint64_t now_ms) {
    const struct client *client = session->client;
    const char *name = session->address.text;
    if (client_state(client) == CLIENT_DOWN && client_note(client)[0] != '\0') {
        fprintf(stderr, "slatetop: %s\n", client_note(client));
    } else if (session->poller.refusal[0] != '\0') {
        fprintf(stderr, "slatetop: %s refuses to answer: %s\n", name, session->poller.refusal);
    } else if (now_ms >= batch->limit_ms) {
        fprintf(stderr, "slatetop: %s does not answer\n", name);
    } else {
        return false;
    }
    batch->is_lost = true;
    return true;
}

/* Prints a new sample of one server. False when standard output takes no more. */
static bool batch_step(const struct options *options, struct session *session, struct batch *batch,
                       uint64_t now_ms, int64_t wall_ms, int *exit_code) {
    struct reply reply;
    session_step(session, now_ms);
    session_take(session, &reply, now_ms, wall_ms);
    struct wants wants = {.inquiries = 0};
    health_wants(session->model, now_ms, &wants); /* the inquiries that the screen sends, too */
    session_want(session, &wants, now_ms);
    if (session->has_sample && !poller_is_steady(&session->poller)) {
        session->has_sample = false; /* it has no rates, or rates over too short a time */
    }
    if (session->has_sample) {
        session->has_sample = false;
        batch_print_sample(options, session->model,
                           options->json ? session_line(session, wall_ms) : NULL, wall_ms, now_ms);
        batch->printed++;
        batch->limit_ms = now_ms + FIRST_REPLY_MS + options->interval_ms;
        return batch_flush_output(exit_code);
    }
    session_end(session, now_ms, wall_ms);
    return true;
}

static bool batch_is_done(const struct options *options, const struct batch *batch) {
    return batch->is_lost || batch->printed >= options->snapshots;
}

/* Runs until every server has printed its snapshots or is given up. Returns the exit code. */
static int batch_print_snapshots(const struct options *options, struct fleet *fleet) {
    static struct batch batches[SERVER_LIMIT];
    uint64_t now_ms = clock_ms(), first_limit_ms = now_ms + FIRST_REPLY_MS + options->interval_ms;
    int exit_code = EXIT_OK;
    unsigned begun = 0;
    for (;;) {
        int64_t wall_ms = clock_wall_ms();
        fleet_step_lists(fleet, now_ms);
        for (; begun < fleet->count; begun++) {
            batches[begun].limit_ms = first_limit_ms;
            fleet->list[begun]->stores_raw |=
                options->json; /* a recording needs raw replies, too */
        }
        unsigned left = 0;
        for (unsigned i = 0; i < fleet->count; i++) {
            if (batch_is_done(options, &batches[i])) {
                continue;
            }
            int output_code;
            if (!batch_step(options, fleet->list[i], &batches[i], now_ms, wall_ms, &output_code)) {
                return output_code;
            }
            if (!batch_is_done(options, &batches[i]) &&
                batch_is_given_up(fleet->list[i], &batches[i], now_ms)) {
                exit_code = EXIT_NO_SERVER;
            }
            if (batch_is_done(options, &batches[i])) {
                client_destroy(&fleet->list[i]->client); /* this server is done */
            } else {
                left++;
            }
        }
        if (was_interrupted) {
            return EXIT_INTERRUPTED;
        }
        if (fleet->count == 0 && now_ms >= first_limit_ms) {
            fprintf(stderr, "slatetop: %s\n",
                    fleet->lists[0].note[0] != '\0' ? fleet->lists[0].note
                                                    : "the list of servers did not arrive");
            return EXIT_NO_SERVER;
        }
        if (fleet->count > 0 && left == 0) {
            for (unsigned i = 0; i < fleet->list_count; i++) { /* e.g. more servers than fit */
                if (fleet->lists[i].note[0] != '\0') {
                    fprintf(stderr, "slatetop: %s\n", fleet->lists[i].note);
                }
            }
            return exit_code;
        }
        struct pollfd polled[FLEET_POLL_LIMIT];
        unsigned count = fleet_polled(fleet, polled);
        uint64_t due_ms = fleet_due_ms(fleet), latest_ms = now_ms + 100;
        now_ms = clock_wait(polled, count, due_ms < latest_ms ? due_ms : latest_ms);
    }
}

/* The line of a recording for a moment; the caller frees it. NULL when the file no longer has
 * it. */
static char *batch_line_at(const char *path, int64_t wall_ms) {
    static struct snapshot snapshot;
    char why[NOTE_BYTES];
    struct recording *recording = recording_open(path, why, sizeof why);
    char *line = NULL;
    int64_t at_ms = 0;
    while (recording != NULL && line == NULL && at_ms < wall_ms) {
        enum recording_result result =
            recording_next(recording, &snapshot, &at_ms, why, sizeof why);
        if (result == RECORDING_END) {
            break;
        }
        line = result == RECORDING_SAMPLE && at_ms == wall_ms ? recording_line(recording) : NULL;
    }
    recording_close(&recording);
    return line;
}

/* Prints what the console shows at this moment of the recording. */
static void batch_print_moment(const struct options *options, struct timeline *timeline,
                               struct session *session) {
    const struct model *model = timeline_model(timeline, session->tape, session->model, 0);
    batch_print_sample(options, model,
                       options->json ? batch_line_at(options->replay, timeline->wall_ms) : NULL,
                       timeline->wall_ms, model_now(model)->at_ms);
}

/* Prints as many moments as the options want, from --at on; without --at the last one. */
static int batch_print_replay(const struct options *options) {
    char why[NOTE_BYTES];
    struct session *session = session_replay(options->replay, why, sizeof why);
    if (session == NULL) {
        fprintf(stderr, "slatetop: %s\n", why);
        return EXIT_USAGE;
    }
    while (session->recording != NULL) {
        session_step(session, 0);
    }
    struct timeline timeline = {0};
    timeline_hold(&timeline, session->tape);
    if (options->has_at) {
        timeline_seek_from_start(&timeline, session->tape, options->at_s);
    } else {
        timeline_step(&timeline, session->tape, 1 - (int64_t)options->snapshots);
    }
    int exit_code = EXIT_SUCCESS;
    bool goes_on = true;
    for (unsigned i = 0; goes_on && i < options->snapshots; i++) {
        batch_print_moment(options, &timeline, session);
        goes_on = batch_flush_output(&exit_code) && timeline.index + 1 < tape_end(session->tape);
        timeline_step(&timeline, session->tape, 1);
    }
    if (session->bad_lines > 0) {
        fprintf(stderr, "slatetop: %u lines of %s are no snapshots and were skipped\n",
                session->bad_lines, options->replay);
    }
    timeline_go_live(&timeline);
    session_destroy(&session);
    return exit_code;
}

int batch_run(const struct options *options) {
    struct sigaction action = {.sa_handler = batch_on_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (options->replay != NULL) {
        return batch_print_replay(options);
    }
    static struct fleet fleet;
    fleet_init(&fleet, options->interval_ms, options->server_count, &options->access);
    int exit_code = EXIT_OK;
    for (unsigned i = 0; i < options->server_count; i++) {
        if (!fleet_add(&fleet, &options->servers[i])) {
            exit_code = EXIT_INTERNAL;
        }
    }
    char why[NOTE_BYTES];
    if (exit_code != EXIT_OK) {
        fprintf(stderr, "slatetop: out of memory, or too many lists of servers\n");
    } else if (options->record != NULL &&
               !session_record(fleet.list[0], options->record, why, sizeof why)) {
        fprintf(stderr, "slatetop: %s\n", why);
        exit_code = EXIT_OUTPUT;
    } else {
        exit_code = batch_print_snapshots(options, &fleet);
    }
    fleet_fini(&fleet);
    return exit_code;
}
