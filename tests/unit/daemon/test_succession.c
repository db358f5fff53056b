/* Of two processes that reach for a succession exactly one has it. */
#include "tap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/succession.h"

enum { ROUNDS = 200, STOLEN = 3 };

/* The other process: has its own mapping, reaches for it and tells whether it has it. */
static int next_one(int fd, int ready_fd) {
    struct succession d;
    char go;
    if (!succession_join(&d, fcntl(fd, F_DUPFD_CLOEXEC, 0)) || read(ready_fd, &go, 1) != 1) {
        return STOLEN;
    }
    bool has = succession_take(&d, SUCCESSION_NEXT);
    if (has && !succession_serve(&d)) {
        return STOLEN;
    }
    succession_close(&d);
    return has;
}

static void test_one_of_two_has_it(void) {
    unsigned both = 0, none = 0, bad = 0, unseen = 0, first = 0, late = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct succession d;
        int ready[2], status = 0;
        if (!succession_make(&d) || pipe(ready) != 0) {
            bad++;
            continue;
        }
        pid_t child = fork();
        if (child == 0) {
            _exit(next_one(d.fd, ready[0]));
        }
        bad += write(ready[1], "", 1) != 1;
        if (i % 2 == 1) { /* the other comes first; else both come as they like */
            waitpid(child, &status, 0);
        }
        bool has = succession_take(&d, SUCCESSION_FIRST);
        if (i % 2 == 0) {
            waitpid(child, &status, 0);
        }
        late += i % 2 == 1 && has;
        bool other = WEXITSTATUS(status) == 1;
        bad += !WIFEXITED(status) || WEXITSTATUS(status) == STOLEN;
        both += has && other;
        none += !has && !other;
        unseen += succession_look(&d) != (has ? SUCCESSION_FIRST : SUCCESSION_NEXT_SERVES);
        first += has;
        close(ready[0]);
        close(ready[1]);
        succession_close(&d);
    }
    printf("# the first one had it %u times of %d\n", first, ROUNDS);
    is(bad, 0, "%d successions are made and joined", ROUNDS);
    is(both, 0, "none of them is had by both");
    is(none, 0, "none by nobody");
    is(late, 0, "none by one that comes later");
    is(unseen, 0, "and all are seen");
}

static void test_the_first_takes_back_what_does_not_serve(void) {
    struct succession d;
    ok(succession_make(&d) && !succession_take_back(&d), "what nobody has taken is not taken back");
    ok(succession_take(&d, SUCCESSION_NEXT) && succession_take_back(&d), "what the next one has taken is");
    ok(!succession_serve(&d) && succession_look(&d) == SUCCESSION_FIRST, "… and then it does not serve");
    succession_close(&d);
    ok(succession_make(&d) && succession_take(&d, SUCCESSION_NEXT) && succession_serve(&d), "the next one serves");
    ok(!succession_take_back(&d) && succession_look(&d) == SUCCESSION_NEXT_SERVES, "… and nobody takes it back");
    succession_close(&d);
}

static void test_what_is_none_is_refused(void) {
    struct succession d;
    int fd = memfd_create("short", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ok(!succession_join(&d, fd) && d.fd == -1, "a file that may be made shorter is none");
    fd = memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ok(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0 && !succession_join(&d, fd),
       "an empty one, too");
    ok(!succession_join(&d, open("/dev/null", O_RDWR | O_CLOEXEC)), "and what is no file");
    ok(!succession_join(&d, -1), "and nothing");
    ok(succession_make(&d) && ftruncate(d.fd, 0) != 0, "one that was made stays as long as it is");
    succession_close(&d);
}

int main(void) {
    test_one_of_two_has_it();
    test_the_first_takes_back_what_does_not_serve();
    test_what_is_none_is_refused();
    return tap_done();
}
