/* SPDX-License-Identifier: BSD-3-Clause
 *
 * slatetop's readers of foreign bytes: a server's replies to stats, to every inquiry and to watch, recordings, the record of changes, files
 * of settings, addresses, its own command line. A hostile server or a damaged file may have any bytes; each reader holds its limits, and a
 * snapshot comes back from the tape unchanged.
 *
 * Covers: console:address.*|audit|detail.*|inquiry|options|recording|stat_line|stats|tape|watch
 *
 * Input: one byte that chooses the reader, one that chooses the kind, then the text. */
#include <sys/mman.h>
#include <unistd.h>

#include "act/acting.h"
#include "app/servers/address_word.h"
#include "app/options/startup_options.h"
#include "brain/brain.h"
#include "brain/recording.h"
#include "facts/details/details.h"
#include "facts/details/inquiry.h"
#include "facts/stat_line.h"
#include "facts/stats_snapshot.h"
#include "facts/tape.h"
#include "link/watch.h"

#include "must.h"

enum { WHY_BYTES = 300, WORDS_MAX = 24 };

static bool printable(const char *text, size_t room) {
    size_t n = strnlen(text, room);
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~') {
            return false;
        }
    }
    return n < room;
}

/* A file with the text, by the name under which this process can open it. */
static int file_of(const char *text, size_t n, char path[64]) {
    int fd = memfd_create("input", 0);
    must(fd >= 0 && write(fd, text, n) == (ssize_t)n, "there is a file");
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static void check_tape(const struct snapshot *snapshot) {
    const struct snapshot *found;
    int64_t wall_ms;
    struct tape *tape = tape_create(TAPE_HOUR_SAMPLES, 1 << 20);
    must(tape != NULL && tape_add(tape, snapshot, 5) && tape_add(tape, snapshot, 7), "a snapshot is taped");
    must(tape_read(tape, 1, &found, &wall_ms) && wall_ms == 7, "a sample is there");
    must(found->class_end == snapshot->class_end && memcmp(found, snapshot, snapshot_bytes(snapshot)) == 0,
         "a sample comes back as it went");
    tape_destroy(&tape);
}

static void read_snapshot(unsigned kind, const char *text, size_t n) {
    static struct snapshot snapshot;
    snapshot_init(&snapshot);
    snapshot_parse(&snapshot, (enum stats_group)(kind % GROUP_COUNT), text, n);
    must(printable(snapshot.version, sizeof snapshot.version) && printable(snapshot.own_version, sizeof snapshot.own_version) &&
             printable(snapshot.automove, sizeof snapshot.automove) && printable(snapshot.store, sizeof snapshot.store),
         "words of a server are printable and end");
    check_tape(&snapshot);
}

static void read_details(unsigned kind, const char *text, size_t n) {
    struct details *details = details_create();
    must(details != NULL, "there is memory");
    for (int again = 0; again < 2; again++) { /* some compare with the answer before */
        details_take(details, (enum inquiry)(kind % INQUIRY_COUNT), kind % CLASS_LIMIT, text, n, again == 0 || kind < 128, 1000 + (uint64_t)again);
    }
    details_destroy(&details);
}

static void read_lines(const char *text, size_t n) {
    struct stat_line line;
    const char *at = text;
    while (stat_line_next(&at, text + n, &line)) {
        must(printable(line.name, sizeof line.name) && printable(line.value, sizeof line.value), "a line is printable and ends");
        must(at <= text + n, "no line goes beyond the end");
        stat_line_number(line.value);
    }
}

static void read_watch(const char *text, size_t n) {
    struct watch_log *log = calloc(1, sizeof *log);
    must(log != NULL, "there is memory");
    for (const char *at = text, *end = text + n; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        watch_take(log, at, (size_t)(stop - at));
        at = stop + 1;
    }
    for (unsigned i = 0; watch_line(log, i) != NULL; i++) {
        must(printable(watch_line(log, i)->text, WATCH_LINE_BYTES), "a line of a log is printable and ends");
    }
    free(log);
}

static void read_recording(const char *text, size_t n) {
    static struct snapshot snapshot;
    char path[64], why[WHY_BYTES] = "";
    int fd = file_of(text, n, path);
    struct recording *recording = recording_open(path, why, sizeof why);
    must(recording != NULL || why[0] != '\0', "a file that cannot be read has a reason");
    int64_t wall_ms;
    enum recording_result found;
    for (unsigned lines = 0; recording && (found = recording_next(recording, &snapshot, &wall_ms, why, sizeof why)) != RECORDING_END;) {
        must(++lines <= n + 1, "a recording ends");
        if (found == RECORDING_SAMPLE) {
            check_tape(&snapshot);
        } else {
            must(why[0] != '\0', "a bad line has a reason");
        }
    }
    if (recording) {
        recording_close(&recording);
    }
    close(fd);
}

static void read_files(unsigned kind, const char *text, size_t n) {
    char path[64], why[WHY_BYTES] = "";
    int fd = file_of(text, n, path);
    if (kind % 2 == 0) {
        struct model *model = brain_model("a:1");
        struct acting acting;
        struct proposal proposal = {0};
        acting_init(&acting);
        acting.audit_path = path;
        must(acting_propose(&acting, ACTING_UNDO, model, &proposal, why, sizeof why) ? proposal.plan.count == 1 : why[0] != '\0',
             "a change on record makes a plan of one step, or has a reason");
        acting_fini(&acting);
        model_destroy(&model);
    } else {
        static struct options options;
        char name[] = "slatetop", option[] = "--config", *argv[] = {name, option, path, NULL};
        must(options_parse(&options, 3, argv, why, sizeof why) || why[0] != '\0', "a bad file of settings has a reason");
    }
    close(fd);
}

/* In a home without settings, and with an empty file of settings. */
static void read_command_line(char *text) {
    static struct options options;
    char name[] = "slatetop", config[] = "--config=/dev/null", why[WHY_BYTES] = "";
    char *argv[WORDS_MAX + 1] = {name, config}, *rest = NULL;
    int argc = 2;
    for (char *word = strtok_r(text, " ", &rest); word != NULL && argc < WORDS_MAX; word = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = word;
    }
    bool taken = options_parse(&options, argc, argv, why, sizeof why);
    must(taken || (why[0] != '\0' && strnlen(why, sizeof why) < sizeof why), "a refusal says why, and ends");
    must(!taken || (options.server_count <= SERVER_LIMIT && options.interval_ms >= INTERVAL_LEAST_MS), "what is taken keeps to its limits");
}

static void read_address(const char *text) {
    struct address address;
    char why[WHY_BYTES] = "";
    struct endpoints found;
    if (!address_parse(text, &address, why, sizeof why)) {
        must(why[0] != '\0', "what is no address has a reason");
        return;
    }
    must(strnlen(address.host, sizeof address.host) < sizeof address.host, "a host ends");
    address_is_numeric(&address, &found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 2) {
        return 0;
    }
    size_t bytes = n - 2;
    char *text = malloc(bytes + 1); /* a block of its own, so that a read beyond its end is found */
    must(text != NULL, "there is memory");
    memcpy(text, data + 2, bytes);
    text[bytes] = '\0';
    switch (data[0] % 8) {
    case 0: read_snapshot(data[1], text, bytes); break;
    case 1: read_details(data[1], text, bytes); break;
    case 2: read_lines(text, bytes); break;
    case 3: read_watch(text, bytes); break;
    case 4: read_recording(text, bytes); break;
    case 5: read_files(data[1], text, bytes); break;
    case 6: read_address(text); break;
    default: read_command_line(text); break;
    }
    free(text);
    return 0;
}
