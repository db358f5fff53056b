#include "brain/recording.h"
#include "fixture.h"
#include "tap.h"

#include <fcntl.h>
#include <unistd.h>

static char path[] = "/tmp/slate-recording-XXXXXX";
static char why[200];
static struct snapshot snapshot, want;

static void write_file(const char *text, size_t bytes) {
    int fd = open(path, O_WRONLY | O_TRUNC);
    ok(write(fd, text, bytes) == (ssize_t)bytes, "the file is written");
    close(fd);
}

/* Reads the whole file: how many snapshots and how many bad lines. */
static void count(unsigned *samples, unsigned *bad) {
    struct recording *recording = recording_open(path, why, sizeof why);
    int64_t wall_ms;
    enum recording_result result;
    *samples = *bad = 0;
    while ((result = recording_next(recording, &snapshot, &wall_ms, why, sizeof why)) != RECORDING_END) {
        *samples += result == RECORDING_SAMPLE;
        *bad += result == RECORDING_BAD_LINE;
    }
    recording_close(&recording);
}

static void take_fixture(struct raw_replies *raw, const char *name) {
    static const char *const headings[] = {"### stats\n", "### stats items\n", "### stats slabs\n",
                                           "### stats settings\n"};
    size_t bytes;
    char *text = fixture_text(name, &bytes);
    for (int group = 0; group <= GROUP_SETTINGS; group++) {
        char *body = strstr(text, headings[group]);
        if (body != NULL) {
            body += strlen(headings[group]);
            char *stop = strstr(body, "\n### ");
            recording_take(raw, (enum stats_group)group, body, stop != NULL ? (size_t)(stop - body) + 1 : strlen(body));
        }
    }
    free(text);
}

static void test_written_snapshots_are_read_back(const char *name) {
    struct raw_replies raw = {0};
    write_file("", 0);
    struct recording_writer writer;
    ok(recording_append_to(&writer, path, why, sizeof why), "an empty file becomes a recording");
    for (int i = 0; i < 2; i++) {
        take_fixture(&raw, name);
        struct raw_about about = {"cache7:11211", "", 1000500 + 1000 * i};
        ok(recording_write(&writer, &raw, &about, why, sizeof why), "a line is written");
    }
    recording_end(&writer);
    recording_fini(&raw);
    fixture_load(name, 0, &want);
    struct recording *recording = recording_open(path, why, sizeof why);
    int64_t wall_ms;
    is(recording_next(recording, &snapshot, &wall_ms, why, sizeof why), RECORDING_SAMPLE, "%s is read", name);
    is(wall_ms, 1000500, "with its time");
    is_str(recording_server(recording), "cache7:11211", "and its server");
    ok(memcmp(snapshot.general, want.general, sizeof want.general) == 0, "general is the same");
    ok(memcmp(snapshot.classes, want.classes, sizeof want.classes) == 0, "classes are the same");
    ok(memcmp(snapshot.setting, want.setting, sizeof want.setting) == 0, "settings are the same");
    is_str(snapshot.version, want.version, "the version is the same");
    is(recording_next(recording, &snapshot, &wall_ms, why, sizeof why), RECORDING_SAMPLE, "the second line");
    is(snapshot.at_ms, 1001, "its time counts from the first");
    is(recording_next(recording, &snapshot, &wall_ms, why, sizeof why), RECORDING_END, "and the end");
    ok(recording_progress(recording) == 1, "all of it was read");
    recording_close(&recording);
}

#define LINE(time) \
    "{\"schema\":\"slate/snapshot/1\",\"time_s\":" time ",\"general\":{\"pid\":1},\"classes\":[]}\n"

TEST(test_a_bad_line_is_one_clear_error) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"nonsense\n", "line 1"},
        {"{\"schema\":\"slate/snapshot/1\",\"time_s\":1,\"gen", "line 1"},
        {"[]\n", "schema"},
        {"{\"schema\":\"slate/snapshot/2\"}\n", "schema"},
        {"{\"schema\":\"slate/snapshot/1\",\"time_s\":\"x\",\"general\":{},\"classes\":[]}\n", "time_s"},
        {"{\"schema\":\"slate/snapshot/1\",\"time_s\":1,\"classes\":[]}\n", "general"},
        {"{\"schema\":\"slate/snapshot/1\",\"time_s\":-1,\"general\":{},\"classes\":[]}\n", "no time"},
        {"{\"schema\":\"slate/snapshot/1\",\"time_s\":1,\"general\":{},\"classes\":[1]}\n", "classes"},
        {"{\"schema\":\"slate/snapshot/1\",\"time_s\":1,\"general\":{},\"classes\":[{\"id\":300}]}\n", "classes"},
        {"{\"schema\":\"slate/snapshot/1\",\"time_s\":1,\"general\":{},\"classes\":[{\"id\":2},{\"id\":1}]}\n", "classes"},
    };
    unsigned samples, bad;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file(cases[i].text, strlen(cases[i].text));
        count(&samples, &bad);
        ok(samples == 0 && bad == 1 && strstr(why, cases[i].says) != NULL, "%s", why);
    }
    const char *mixed = LINE("1") "torn{\n\n" LINE("2") LINE("2") LINE("3");
    write_file(mixed, strlen(mixed));
    count(&samples, &bad);
    ok(samples == 3 && bad == 2, "the lines around a bad one are read: %s", why);
    static char deep[RECORDING_LINE_LIMIT + 100000];
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = '\n';
    write_file(deep, sizeof deep);
    count(&samples, &bad);
    ok(samples == 0 && bad == 1, "an endless line: %s", why);
    deep[100000] = '\n';
    write_file(deep, 100001);
    count(&samples, &bad);
    ok(samples == 0 && bad == 1, "a hundred thousand brackets: %s", why);
}

TEST(test_files_that_are_no_recordings_are_left_alone) {
    write_file("my diary\n", 9);
    struct recording_writer writer;
    ok(!recording_append_to(&writer, path, why, sizeof why) && strstr(why, "not a recording"), "%s", why);
    ok(!recording_append_to(&writer, "/dev/null", why, sizeof why), "%s", why);
    ok(!recording_append_to(&writer, "/nowhere/x", why, sizeof why), "%s", why);
    ok(recording_open("/tmp", why, sizeof why) == NULL, "%s", why);
    ok(recording_open("/nowhere/x", why, sizeof why) == NULL, "%s", why);
    write_file(LINE("1") "{\"torn", strlen(LINE("1")) + 6);
    ok(recording_append_to(&writer, path, why, sizeof why) && lseek(writer.fd, 0, SEEK_END) == (off_t)strlen(LINE("1")) + 7,
           "a torn line is ended first");
    recording_end(&writer);
    writer = (struct recording_writer){.fd = open("/dev/full", O_WRONLY)};
    ok(!recording_write(&writer, &(struct raw_replies){0}, &(struct raw_about){"x", "", 1}, why, sizeof why) &&
           strstr(why, "No space") != NULL, "%s", why);
    recording_end(&writer);
}

/* Replies whose numbers go on from call to call. */
static void make_up(struct raw_replies *raw, unsigned i, unsigned classes) {
    char general[200], slabs[4000];
    int bytes = snprintf(general, sizeof general, "STAT pid 7\r\nSTAT cmd_get %llu\r\nSTAT rusage_user %.6f\r\nSTAT version 1.6.%d\r\nEND\r\n",
                         9000000000000000000ULL - i * 3, i * 0.000337, i == 6 ? 44 : 45);
    recording_take(raw, GROUP_GENERAL, general, (size_t)bytes);
    bytes = 0;
    for (unsigned id = 1; id <= classes; id++) {
        bytes += snprintf(slabs + bytes, sizeof slabs - (size_t)bytes, "STAT %u:chunk_size %u\r\nSTAT %u:get_hits %u\r\n", id,
                          100 * id, id, i * 1000 * id);
    }
    recording_take(raw, GROUP_SLABS, slabs, (size_t)bytes);
}

/* Whole lines where something other than a number changed (a text, a new class), otherwise the changed numbers. */
TEST(test_changes_lead_to_the_written_snapshot) {
    struct recording_writer writer;
    struct raw_replies raw = {0};
    int64_t wall_ms;
    write_file("", 0);
    ok(recording_append_to(&writer, path, why, sizeof why), "a recording");
    for (unsigned i = 0; i < 12; i++) {
        make_up(&raw, i, i < 9 ? 5 : 6);
        ok(recording_write(&writer, &raw, &(struct raw_about){"cache7", "", 1000500 + 1000 * i}, why, sizeof why), "line %u is written", i);
    }
    recording_end(&writer);
    static char text[1 << 16];
    unsigned whole = 0, changes = 0;
    int fd = open(path, O_RDONLY);
    text[read(fd, text, sizeof text - 1)] = '\0';
    close(fd);
    for (const char *at = text; (at = strstr(at, "\"schema\":")) != NULL; at++) {
        whole += strncmp(at, "\"schema\":\"slate/snapshot/1\"", 27) == 0;
        changes += strncmp(at, "\"schema\":\"slate/change/1\"", 25) == 0;
    }
    is(whole, 4, "four lines are whole: the first, two where the version changed, one where a class came");
    is(changes, 8, "the others have the changes");
    struct recording *recording = recording_open(path, why, sizeof why);
    for (unsigned i = 0; i < 12; i++) {
        is(recording_next(recording, &snapshot, &wall_ms, why, sizeof why), RECORDING_SAMPLE, "line %u is read", i);
        is(wall_ms, 1000500 + 1000 * i, "with its time");
        is(snapshot.general[GENERAL_rusage_user], i * 337, "times are exact to a millionth");
        ok(snapshot.general[GENERAL_cmd_get] == 9000000000000000000ULL - i * 3, "large numbers are exact");
        unsigned last = i < 9 ? 5 : 6;
        is(snapshot_class(&snapshot, last)->value[CLASS_get_hits], i * 1000 * last, "so are those of classes");
        ok(!snapshot_class(&snapshot, last + 1)->present, "and no class is more");
        make_up(&raw, i, last);
        char *shown = recording_line(recording);
        char *wanted = recording_complete_line(&raw, &(struct raw_about){"cache7", "", wall_ms});
        ok(shown != NULL && strncmp(shown, wanted, strlen(shown)) == 0, "it can be had as a whole line: %s", shown);
        free(shown);
        free(wanted);
    }
    recording_close(&recording);
    recording_fini(&raw);
}

int main(void) {
    close(mkstemp(path));
    test_written_snapshots_are_read_back("memcached-1.4.25-first.txt");
    test_written_snapshots_are_read_back("memcached-1.6.45-second.txt");
    tap_run_tests();
    unlink(path);
    return tap_done();
}
