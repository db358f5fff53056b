/* The terminal and the clock of a slatetop that a spec drives: the linker puts this file in the place of draw/term.c and
 * facts/poll_clock.c. Time stands still unless the spec lets some pass.
 *
 * Where slatetop waits, this file sends the spec "DUE BYTES" on a socket and, when the screen has changed, that many bytes of the screen.
 * The spec answers with a line "NOW WIDTH HEIGHT KEY ...". Times are milliseconds. A key is a character, a name of `named` below, C-x, Fn,
 * or click=Y,X. */
#include "../unit/console/cells_row.h"
#include "draw/term.h"
#include "link/poll_clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { SCREEN_BYTES = 1 << 20, LOOKUP_LIMIT_MS = 60000 };

static struct {
    FILE *in, *out;
    uint64_t now_ms;
    int64_t wall_base_ms; /* the time of day when now_ms was 0 */
    int width, height;
    char *line, *rest; /* the last line of the spec, and those of its keys that were not read yet */
    size_t line_bytes;
    struct pointer pointer;
    bool has_resized, is_ascii, has_news;
    char screen[SCREEN_BYTES];
} spec;

static void read_answer(void) {
    int used = 0, width = spec.width, height = spec.height;
    if (getline(&spec.line, &spec.line_bytes, spec.in) < 0 ||
        sscanf(spec.line, "%lu %d %d%n", &spec.now_ms, &spec.width, &spec.height, &used) != 3) {
        _exit(EXIT_FAILURE); /* the spec is gone */
    }
    spec.has_resized = width != spec.width || height != spec.height;
    spec.rest = spec.line + used;
}

/* Before main, so that the spec knows a program that never waits from one that has not begun. */
__attribute__((constructor)) static void meet_the_spec(void) {
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    const char *name = getenv("SLATETOP_SPEC");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(path.sun_path, sizeof path.sun_path, "%s", name != NULL ? name : "");
    if (connect(fd, (struct sockaddr *)&path, sizeof path) != 0) {
        fprintf(stderr, "SLATETOP_SPEC names no socket of a spec\n");
        _exit(EXIT_FAILURE);
    }
    spec.in = fdopen(fd, "r");
    spec.out = fdopen(dup(fd), "w");
    read_answer();
    spec.has_resized = false;
    spec.wall_base_ms = (int64_t)time(NULL) * 1000 - (int64_t)spec.now_ms;
}

/* ---- the clock ---- */

uint64_t clock_us(void) {
    return spec.now_ms * 1000;
}

uint64_t clock_ms(void) {
    return spec.now_ms;
}

int64_t clock_wall_ms(void) {
    return spec.wall_base_ms + (int64_t)spec.now_ms;
}

/* Names are resolved in a child, which takes no time of the spec's clock. */
static void await_lookups(const struct pollfd *polled, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        struct stat about;
        if (polled[i].fd > STDIN_FILENO && fstat(polled[i].fd, &about) == 0 && S_ISFIFO(about.st_mode)) {
            poll(&(struct pollfd){.fd = polled[i].fd, .events = POLLIN}, 1, LOOKUP_LIMIT_MS);
        }
    }
}

uint64_t clock_wait(struct pollfd *polled, unsigned count, uint64_t due_ms) {
    await_lookups(polled, count);
    size_t bytes = spec.has_news ? strlen(spec.screen) : 0;
    fprintf(spec.out, "%lu %zu\n", due_ms, bytes);
    fwrite(spec.screen, 1, bytes, spec.out);
    fflush(spec.out);
    spec.has_news = false;
    read_answer();
    return spec.now_ms;
}

/* ---- the terminal ---- */

bool term_open(const struct term_options *options, char *why, size_t why_bytes) {
    (void)why, (void)why_bytes;
    spec.is_ascii = options->ascii;
    return true;
}

void term_close(void) {}

bool term_is_ascii(void) {
    return spec.is_ascii;
}

bool term_is_gone(void) {
    return false;
}

void term_size(int *width, int *height) {
    *width = spec.width;
    *height = spec.height;
}

void term_show(const struct cells *cells) {
    static char next[SCREEN_BYTES];
    size_t used = 0;
    for (int y = 0; y < cells->height; y++) {
        used += strlen(cells_row(cells, y, next + used, sizeof next - used - 2));
        next[used++] = '\n';
    }
    next[used] = '\0';
    spec.has_news = spec.has_news || strcmp(next, spec.screen) != 0;
    memcpy(spec.screen, next, used + 1);
}

void term_redraw(void) {}
void term_suspend(void) {}
void term_resize(void) {}

bool term_set_theme(unsigned theme) {
    return theme < THEME_COUNT;
}

void term_copy(const char *text) {
    (void)text;
}

void term_set_mouse(bool is_on) {
    (void)is_on;
}

struct pointer term_pointer(void) {
    return spec.pointer;
}

static const struct {
    const char *name;
    uint32_t key;
} named[] = {
    {"Up", KEY_ARROW_UP},     {"Down", KEY_ARROW_DOWN}, {"Left", KEY_ARROW_LEFT},  {"Right", KEY_ARROW_RIGHT},
    {"PPage", KEY_PAGE_UP},   {"NPage", KEY_PAGE_DOWN}, {"Home", KEY_TO_HOME},     {"End", KEY_TO_END},
    {"Enter", KEY_RETURN},    {"BSpace", KEY_ERASE},    {"Escape", KEY_ESCAPE},    {"Tab", '\t'},
    {"BTab", KEY_BACK_TAB},   {"Space", ' '},
};

static uint32_t key_of(const char *word) {
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (strcmp(named[i].name, word) == 0) {
            return named[i].key;
        }
    }
    if (sscanf(word, "click=%d,%d", &spec.pointer.y, &spec.pointer.x) == 2) {
        spec.pointer.act = POINTER_CLICK;
        return KEY_POINTER;
    }
    if (word[0] == 'F' && word[1] != '\0') {
        return (uint32_t)KEY_FUNCTION + (uint32_t)atoi(word + 1);
    }
    if (word[0] == 'C' && word[1] == '-') {
        return KEY_CONTROL(word[2]);
    }
    if (word[1] != '\0') {
        fprintf(stderr, "no key is called %s\n", word);
        _exit(EXIT_FAILURE);
    }
    return (unsigned char)word[0];
}

uint32_t term_key(void) {
    char *word;
    do {
        word = strsep(&spec.rest, " \n");
    } while (word != NULL && word[0] == '\0');
    return word != NULL ? key_of(word) : KEY_NONE;
}

bool term_is_pasted(void) {
    return false;
}

bool term_catch_interrupts(void) {
    return true;
}

int term_signal_fd(void) {
    return -1;
}

int term_signal(void) {
    int number = spec.has_resized ? SIGWINCH : 0;
    spec.has_resized = false;
    return number;
}
