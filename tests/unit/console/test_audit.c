/* The record of changes as a file: found, locked, read from its end; and the proposed undo. */
#include "act/acting.h"
#include "brain/lua_state.h"
#include "fixture.h"
#include "tap.h"

#include <lua.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[200], folder[] = "/tmp/test_audit_XXXXXX", why[NOTE_BYTES];
static struct acting acting;
static struct proposal proposal;

static bool write_line(const char *text) {
    int fd = audit_open_locked(path);
    bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return is_written;
}

static bool write_entry(long id, const char *rest) {
    char text[400];
    snprintf(text, sizeof text, "{\"schema\":\"slate/audit/1\",\"id\":%ld,\"time_s\":1,%s}\n", id, rest);
    return write_line(text);
}

static bool can_undo(void) {
    return acting_propose(&acting, ACTING_UNDO, model, &proposal, why, sizeof why);
}

TEST(test_a_record_is_made_for_its_owner) {
    struct stat info;
    ok(!can_undo() && strstr(why, "nothing to undo") != NULL, "there is no record yet: %s", why);
    ok(write_line("nonsense\n"), "the first line, in folders made for it");
    ok(stat(path, &info) == 0 && (info.st_mode & 0777) == 0600, "which is for its owner only");
}

#define HERE "\"server\":\"cache7:11211\","

TEST(test_changes_of_others_can_be_taken_back) {
    write_entry(5, HERE "\"what\":\"set\",\"name\":\"maxbytes\",\"was\":\"134217728\",\"is\":\"67108864\"");
    write_entry(6, "\"server\":\"other:1\",\"what\":\"set\",\"name\":\"verbosity\",\"was\":\"0\",\"is\":\"1\"");
    ok(can_undo(), "the last change to this server, not to another: %s", why);
    ok(strcmp(proposal.plan.steps[0].name, "maxbytes") == 0 && strcmp(proposal.plan.steps[0].value, "128") == 0,
       "bytes become the MiB of the screen");
    ok(strstr(proposal.title, "change 5 on record") != NULL, "%s", proposal.title);
    write_entry(7, HERE "\"what\":\"move\",\"src\":4,\"dst\":12,\"pages\":3");
    ok(can_undo() && proposal.plan.steps[0].from == 12 && proposal.plan.steps[0].to == 4 && proposal.plan.steps[0].pages == 3,
       "a move goes back");
    write_entry(8, HERE "\"what\":\"move\",\"src\":12,\"dst\":4,\"pages\":3,\"undoes\":7");
    ok(can_undo() && strcmp(proposal.plan.steps[0].name, "maxbytes") == 0, "a change taken back does not count");
    write_entry(9, HERE "\"what\":\"move\",\"src\":-1,\"dst\":4,\"pages\":1");
    ok(!can_undo() && strstr(why, "chose the source") != NULL, "a change that cannot go back has a reason: %s", why);
    write_line("{\"schema\":\"slate/audit/1\",\"id\":12,\"ser\n[[[[\n\n{\"schema\":1,\"id\":{}}\n");
    ok(!can_undo() && strstr(why, "change 9") != NULL, "a line that is no entry is skipped");
}

TEST(test_a_command_of_more_steps_than_a_plan_has_is_left_to_slatectl) {
    for (int i = 0; i <= PLAN_LIMIT; i++) {
        write_entry(30 + i, HERE "\"what\":\"move\",\"src\":4,\"dst\":12,\"pages\":1,\"with\":30");
    }
    ok(!can_undo() && strstr(why, "slatectl undo takes back more") != NULL, "nothing of it is left out: %s", why);
}

TEST(test_a_long_record_is_read_from_its_end) {
    for (int i = 0; i < 3000; i++) {
        write_entry(20, "\"server\":\"c:1\",\"what\":\"set\",\"name\":\"verbosity\",\"was\":\"0\",\"is\":\"1\"");
    }
    ok(!can_undo() && strstr(why, "nothing to undo") != NULL, "changes of too long ago are not searched");
    size_t bytes = 0;
    int fd = audit_open(path);
    char *text = audit_tail(fd, &bytes);
    ok(text != NULL && bytes <= AUDIT_TAIL_BYTES && text[0] == '{' && text[bytes - 1] == '\n', "it begins with a whole line");
    free(text);
    close(fd);
    ok(audit_tail(-1, &bytes) == NULL, "without a file there is none");
}

TEST(test_a_failure_of_lua_ends_what_is_under_way_and_no_more) {
    lua_State *L = lua_state_take();
    lua_rawgeti(L, LUA_REGISTRYINDEX, acting.object);
    lua_pushboolean(L, true);
    lua_setfield(L, -2, "undo"); /* where a list should be */
    lua_pop(L, 1);
    lua_state_give_back();
    ok(!can_undo() && strstr(why, "given up: ") != NULL, "it is reported: %s", why);
    ok(!can_undo() && strstr(why, "nothing to undo") != NULL, "and the next request is as if nothing had been: %s", why);
}

struct memory {
    lua_Alloc alloc;
    void *ud;
    size_t limit_bytes; /* the largest block allowed */
};

static void *lacking(void *ud, void *block, size_t was, size_t bytes) {
    const struct memory *m = ud;
    return bytes > m->limit_bytes ? NULL : m->alloc(m->ud, block, was, bytes);
}

TEST(test_the_record_is_free_when_memory_lacks_for_its_text) {
    lua_State *L = lua_state_take();
    struct memory memory = {.limit_bytes = AUDIT_TAIL_BYTES / 2};
    lua_rawgeti(L, LUA_REGISTRYINDEX, acting.object);
    lua_getfield(L, -1, "record");
    lua_getfield(L, -1, "append");
    lua_pushnil(L); /* the function is not called: its argument does not fit */
    memory.alloc = lua_getallocf(L, &memory.ud);
    lua_setallocf(L, lacking, &memory);
    bool is_told = lua_pcall(L, 1, 2, 0) == LUA_OK && lua_isnil(L, -2);
    lua_setallocf(L, memory.alloc, memory.ud);
    ok(is_told, "a missing write is reported: %s", lua_tostring(L, -1));
    lua_settop(L, 0);
    lua_state_give_back();
    int fd = audit_open(path);
    ok(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0, "and the lock is free at once");
    close(fd);
}

int main(void) {
    if (mkdtemp(folder) == NULL) {
        printf("Bail out! no folder for a record\n");
        return 1;
    }
    snprintf(path, sizeof path, "%s/new/audit.log", folder);
    model = fixture_model("memcached-1.6.18");
    acting_init(&acting);
    acting.audit_path = path;
    tap_run_tests();
    acting_fini(&acting);
    model_destroy(&model);
    unlink(path);
    char new_folder[250];
    snprintf(new_folder, sizeof new_folder, "%s/new", folder);
    rmdir(new_folder);
    rmdir(folder);
    return tap_done();
}
