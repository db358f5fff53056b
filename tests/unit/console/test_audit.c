/* The record of changes: written as slatectl writes it, and read whoever wrote it. */
#include "fixture.h"
#include "tap.h"
#include "act/undo.h"

#include <sys/stat.h>
#include <unistd.h>

static char path[200], folder[] = "/tmp/test_audit_XXXXXX";

static long append(const char *server, const char *name, const char *was, const char *is, long undoes) {
    char why[200];
    struct audit_entry entry = {.what = AUDIT_SET, .time_s = 1763712000.25, .undoes = undoes};
    snprintf(entry.server, sizeof entry.server, "%s", server);
    snprintf(entry.name, sizeof entry.name, "%s", name);
    snprintf(entry.was, sizeof entry.was, "%s", was);
    snprintf(entry.is, sizeof entry.is, "%s", is);
    return audit_append(path, &entry, why, sizeof why) ? entry.id : 0;
}

static void write_raw(const char *text) {
    FILE *file = fopen(path, "a");
    fputs(text, file);
    fclose(file);
}

static void test_ids_ascend_whoever_writes(void) {
    struct audit_entry last;
    struct stat info;
    ok(!audit_last_undone(path, "a:1", &last), "there is no record yet");
    is(append("a:1", "hot_lru_pct", "20", "25", 0), 1, "the first, in folders made for it");
    ok(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600, "which is for its owner only");
    write_raw("nonsense\n{\"schema\":\"other\",\"id\":99}\n"
              "{\"schema\":\"slate/audit/1\",\"id\":7,\"time_s\":1,\"server\":\"a:1\",\"what\":\"move\",\"src\":3,\"dst\":5,"
              "\"pages\":2}\n");
    is(append("b:1", "verbosity", "0", "1", 0), 8, "the next id after slatectl's");
    ok(audit_last_undone(path, "a:1", &last) && last.id == 7 && last.what == AUDIT_MOVE && last.from == 3 && last.to == 5 &&
           last.pages == 2,
       "the last change to a server, not to another");
    append("a:1", "", "", "", 7);
    ok(audit_last_undone(path, "a:1", &last) && last.id == 1 && last.what == AUDIT_SET, "what was taken back does not count");
    is_str(last.was, "20", "with the text that was");
    write_raw("{\"schema\":\"slate/audit/1\",\"id\":12,\"ser");
    ok(audit_last_undone(path, "a:1", &last) && last.id == 1, "a torn line is none");
}

static void test_a_long_record_is_read_from_its_end(void) {
    struct audit_entry last;
    write_raw("\n");
    for (int i = 0; i < 3000; i++) {
        write_raw("{\"schema\":\"slate/audit/1\",\"id\":20,\"time_s\":1,\"server\":\"c:1\",\"what\":\"set\",\"name\":\"verbosity\","
                  "\"was\":\"0\",\"is\":\"1\"}\n");
    }
    ok(!audit_last_undone(path, "a:1", &last), "what is too long ago is not looked for");
    ok(audit_last_undone(path, "c:1", &last) && last.id == 20, "what is near is found");
    is(append("a:1", "verbosity", "0", "1", 0), 21, "and the next id follows");
}

static void test_a_record_becomes_a_plan(void) {
    static struct undo_entry undo;
    struct model *model = fixture_model("memcached-1.6.18");
    char why[NOTE_BYTES];
    struct audit_entry entry = {.id = 5, .what = AUDIT_SET, .name = "maxbytes", .was = "134217728", .is = "67108864"};
    ok(undo_of_record(&entry, model, &undo, why, sizeof why), "a set: %s", why);
    ok(strcmp(undo.back.steps[0].name, "maxbytes") == 0 && strcmp(undo.back.steps[0].value, "128") == 0,
       "bytes become the MiB that are sent");
    entry = (struct audit_entry){.id = 6, .what = AUDIT_SET, .name = "warm_lru_pct", .was = "33", .is = "40"};
    ok(undo_of_record(&entry, model, &undo, why, sizeof why), "one of four");
    is_str(undo.back.steps[0].value, "20 33 0.20 2.00", "goes with the other three as they are");
    is_str(undo.must_be, "40", "if it still is what the change made it");
    entry = (struct audit_entry){.id = 7, .what = AUDIT_SET, .name = "maxconns", .was = "1", .is = "2"};
    ok(!undo_of_record(&entry, model, &undo, why, sizeof why) && strstr(why, "slatectl undo") != NULL, "what has no row: %s",
       why);
    entry = (struct audit_entry){.id = 8, .what = AUDIT_MOVE, .from = 4, .to = 12, .pages = 3};
    ok(undo_of_record(&entry, model, &undo, why, sizeof why) && undo.back.steps[0].from == 12 && undo.back.steps[0].to == 4 &&
           undo.back.steps[0].pages == 3,
       "a move goes back");
    entry.from = -1;
    ok(!undo_of_record(&entry, model, &undo, why, sizeof why), "one whose source the server chose does not");
    entry = (struct audit_entry){.what = AUDIT_MOVE, .from = 12, .to = 4};
    undo = (struct undo_entry){.record_count = 2, .records = {{1, "verbosity", 0, 0}, {9, "", 4, 12}}};
    is(undo_record_of(&undo, &entry), 9, "an undo names the change that it takes back");
    model_destroy(&model);
}

int main(void) {
    if (mkdtemp(folder) == NULL) {
        printf("Bail out! no folder for a record\n");
        return 1;
    }
    snprintf(path, sizeof path, "%s/new/audit.log", folder);
    test_ids_ascend_whoever_writes();
    test_a_long_record_is_read_from_its_end();
    test_a_record_becomes_a_plan();
    unlink(path);
    char new_folder[250];
    snprintf(new_folder, sizeof new_folder, "%s/new", folder);
    rmdir(new_folder);
    rmdir(folder);
    return tap_done();
}
