#include "app/options/settings_file.h"

#include "facts/words.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_LIMIT = 64 * 1024, WHY_BYTES = 200 };

static char *settings_trim_text(char *text) {
    while (isspace((unsigned char)*text)) {
        text++;
    }
    size_t bytes = strlen(text);
    while (bytes > 0 && isspace((unsigned char)text[bytes - 1])) {
        text[--bytes] = '\0';
    }
    return text;
}

/* False with a sentence in why when the line is neither empty nor a setting. */
static bool settings_take_line(setting_taker *take, void *taker, char *line, char *why,
                               size_t why_bytes) {
    line = settings_trim_text(line);
    if (*line == '\0' || *line == '#') {
        return true;
    }
    char *equals = strchr(line, '=');
    if (equals == NULL) {
        snprintf(why, why_bytes, "a setting is 'name = value', not '%.40s'", line);
        return false;
    }
    *equals = '\0';
    return take(taker, settings_trim_text(line), settings_trim_text(equals + 1), why, why_bytes);
}

/* Reads the complete file, ended by a zero; false with a sentence in why. */
static bool settings_read_text(const char *path, char text[FILE_LIMIT + 1], bool *exists,
                               char *why, size_t why_bytes) {
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *exists = fd >= 0 || errno != ENOENT;
    ssize_t got = -1;
    bool is_other = fd >= 0 && fstat(fd, &info) == 0 && !S_ISREG(info.st_mode);
    if (fd >= 0 && !is_other) {
        got = read(fd, text, FILE_LIMIT + 1);
    }
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (got < 0 || got > FILE_LIMIT) {
        snprintf(why, why_bytes, "cannot read %.100s: %s", path,
                 is_other           ? "not a regular file"
                 : got > FILE_LIMIT ? "more than 64 KiB"
                                    : strerror(error));
        return false;
    }
    text[got] = '\0';
    if (strlen(text) != (size_t)got) {
        snprintf(why, why_bytes, "%.100s is not a text", path);
        return false;
    }
    return true;
}

enum settings_read settings_file_read(const char *path, bool must_exist, setting_taker *take,
                                      void *taker, char *why, size_t why_bytes) {
    static char text[FILE_LIMIT + 1];
    bool exists;
    if (!settings_read_text(path, text, &exists, why, why_bytes)) {
        return !exists && !must_exist ? SETTINGS_TAKEN : SETTINGS_UNREADABLE;
    }
    unsigned number = 1;
    for (char *line = text; line != NULL; number++) {
        char *next = strchr(line, '\n'), problem[WHY_BYTES];
        if (next != NULL) {
            *next++ = '\0';
        }
        if (!settings_take_line(take, taker, line, problem, sizeof problem)) {
            words_printf(why, why_bytes, "%.100s:%u: %s", path, number, problem);
            return SETTINGS_WRONG;
        }
        line = next;
    }
    return SETTINGS_TAKEN;
}
