/* Measures a console in a terminal of its own: the time to the first paint, from a key to the change on the screen, and bytes a second; and
 * sends random keys and sizes.
 *
 *   console_pty paint RUNS WIDTH HEIGHT COMMAND ...    ms from the start to the first 200 bytes, median and worst
 *   console_pty key RUNS WIDTH HEIGHT COMMAND ...      ms from a key to its change, median and worst; the worst in two
 *                                                      parts: the console ran, and waited for a processor
 *   console_pty back RUNS WIDTH HEIGHT COMMAND ...     the same for steps back in time, once the console is quiet
 *   console_pty bytes SECONDS WIDTH HEIGHT COMMAND ... bytes a second of the class table, and the most within a tenth of one
 *   console_pty resize RUNS WIDTH HEIGHT COMMAND ...   random sizes; fails when the console ends
 *
 * The terminal answers nothing, as one behind a slow line. */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS_MOST = 1000, SETTLE_MS = 2000, QUIET_MS = 60, FIRST_BYTES = 200, SLICE_MS = 100 };

static const char LEFT[] = "\033OD"; /* of xterm, once the program has set the keypad */

static int terminal;
static pid_t console;

static double pty_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void pty_start(char **command, unsigned short width, unsigned short height) {
    struct winsize size = {.ws_row = height, .ws_col = width};
    console = forkpty(&terminal, NULL, NULL, &size);
    if (console == 0) {
        setenv("TERM", "xterm-256color", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        setenv("XDG_CONFIG_HOME", "/nowhere", 1);
        execvp(command[0], command);
        _exit(127);
    }
}

/* The time that the console ran, and the time that it was ready to run while others had the processors, which is no fault of its own. */
struct spent {
    double ran_ms, waited_ms;
};

static struct spent pty_cpu_spent(void) {
    struct spent spent = {0, 0};
    struct timespec ran;
    clockid_t its_clock;
    char path[64];
    if (clock_getcpuclockid(console, &its_clock) == 0 && clock_gettime(its_clock, &ran) == 0) {
        spent.ran_ms = (double)ran.tv_sec * 1e3 + (double)ran.tv_nsec / 1e6;
    }
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)console);
    FILE *file = fopen(path, "r");
    unsigned long long waited_ns;
    if (file != NULL && fscanf(file, "%*u %llu", &waited_ns) == 1) {
        spent.waited_ms = (double)waited_ns / 1e6;
    }
    if (file != NULL) {
        fclose(file);
    }
    return spent;
}

/* Bytes that came within a time; 0: none. is_over at the first. */
static size_t pty_read(double within_ms, int is_over) {
    double until_ms = pty_now_ms() + within_ms;
    size_t bytes = 0;
    for (double left_ms; (left_ms = until_ms - pty_now_ms()) > 0;) {
        char buffer[65536];
        struct pollfd polled = {.fd = terminal, .events = POLLIN};
        ssize_t got = poll(&polled, 1, (int)left_ms + 1) > 0 ? read(terminal, buffer, sizeof buffer) : 0;
        if (got < 0) {
            break; /* the console has ended */
        }
        bytes += (size_t)got;
        if (is_over && bytes > 0) {
            break;
        }
    }
    return bytes;
}

static int pty_has_ended(void) {
    int status;
    return waitpid(console, &status, WNOHANG) == console;
}

static void pty_stop(void) {
    kill(console, SIGTERM);
    while (pty_read(20, 0) > 0) {
        /* its last words */
    }
    waitpid(console, NULL, 0);
    close(terminal);
}

static int pty_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void pty_report(double *runs, int count) {
    qsort(runs, (size_t)count, sizeof *runs, pty_compare);
    printf("median %.1f ms, worst %.1f ms of %d\n", runs[count / 2], runs[count - 1], count);
}

static void pty_paint(int count, char **command, unsigned short width, unsigned short height) {
    static double runs[RUNS_MOST];
    for (int i = 0; i < count; i++) {
        double begun_ms = pty_now_ms();
        pty_start(command, width, height);
        size_t bytes = 0;
        while (bytes < FIRST_BYTES && pty_now_ms() - begun_ms < 5000) {
            bytes += pty_read(5000, 1);
        }
        runs[i] = pty_now_ms() - begun_ms;
        pty_stop();
    }
    pty_report(runs, count);
}

/* Between refreshes, so that the next bytes are the answer to the key. */
static void pty_key(int count, const char *keys[2], double quiet_ms, char **command, unsigned short width,
                    unsigned short height) {
    static double runs[RUNS_MOST];
    double worst_ms = 0, ran_most_ms = 0;
    struct spent of_worst = {0, 0};
    pty_start(command, width, height);
    do {
        pty_read(SETTLE_MS, 0);
    } while (quiet_ms > QUIET_MS && pty_read(quiet_ms, 0) > 0);
    for (int i = 0; i < count; i++) {
        while (pty_read(QUIET_MS, 0) > 0) {
            /* until no more bytes come */
        }
        struct spent before = pty_cpu_spent();
        double begun_ms = pty_now_ms();
        if (write(terminal, keys[i % 2], strlen(keys[i % 2])) < 1) {
            break;
        }
        pty_read(5000, 1);
        runs[i] = pty_now_ms() - begun_ms;
        struct spent after = pty_cpu_spent();
        double ran_ms = after.ran_ms - before.ran_ms;
        ran_most_ms = ran_ms > ran_most_ms ? ran_ms : ran_most_ms;
        if (runs[i] > worst_ms) {
            worst_ms = runs[i];
            of_worst = (struct spent){ran_ms, after.waited_ms - before.waited_ms};
        }
    }
    pty_stop();
    pty_report(runs, count);
    printf("    of the worst it ran %.1f ms and waited %.1f ms for a processor; it ran %.1f ms at most for a key\n",
           of_worst.ran_ms, of_worst.waited_ms, ran_most_ms);
}

static void bytes(int seconds, char **command, unsigned short width, unsigned short height) {
    size_t all = 0, most = 0;
    pty_start(command, width, height);
    pty_read(SETTLE_MS, 0);
    if (write(terminal, "2", 1) != 1) { /* the table of classes has most figures */
        printf("the console takes no key\n");
    }
    pty_read(2 * SETTLE_MS, 0); /* a recording is loaded by then */
    for (int i = 0; i < seconds * 1000 / SLICE_MS; i++) {
        size_t once = pty_read(SLICE_MS, 0);
        all += once;
        most = once > most ? once : most;
    }
    pty_stop();
    printf("%zu bytes a second, at most %zu at once\n", all / (size_t)seconds, most);
}

static int pty_resize(int count, char **command, unsigned short width, unsigned short height) {
    pty_start(command, width, height);
    pty_read(SETTLE_MS, 0);
    srand(1);
    double begun_ms = pty_now_ms();
    for (int i = 0; i < count; i++) {
        struct winsize size = {.ws_row = (unsigned short)(1 + rand() % 100), .ws_col = (unsigned short)(1 + rand() % 400)};
        ioctl(terminal, TIOCSWINSZ, &size);
        char view = (char)('1' + rand() % 9);
        if (write(terminal, &view, 1) != 1 || pty_has_ended()) {
            printf("it ended after %d sizes\n", i);
            return 1;
        }
        pty_read(5, 0);
    }
    printf("%d sizes in %.1f s\n", count, (pty_now_ms() - begun_ms) / 1000);
    pty_stop();
    return 0;
}

int main(int argc, char **argv) {
    int count = argc > 5 ? atoi(argv[2]) : 0;
    if (count < 1 || count > RUNS_MOST) {
        fprintf(stderr, "usage: console_pty paint|key|back|bytes|resize COUNT WIDTH HEIGHT COMMAND ...\n");
        return 64;
    }
    unsigned short width = (unsigned short)atoi(argv[3]), height = (unsigned short)atoi(argv[4]);
    if (strcmp(argv[1], "paint") == 0) {
        pty_paint(count, argv + 5, width, height);
    } else if (strcmp(argv[1], "key") == 0) {
        pty_key(count, (const char *[]){"2", "1"}, QUIET_MS, argv + 5, width, height);
    } else if (strcmp(argv[1], "back") == 0) {
        pty_key(count, (const char *[]){LEFT, LEFT}, SETTLE_MS, argv + 5, width, height);
    } else if (strcmp(argv[1], "bytes") == 0) {
        bytes(count, argv + 5, width, height);
    } else {
        return pty_resize(count, argv + 5, width, height);
    }
    return 0;
}
