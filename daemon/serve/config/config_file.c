#include "serve/config/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/config/settings.h"

static const char blanks[] = " \t\r";

/* Reads all of an open file. False: errno says why; EFBIG means that it is too long. */
static bool read_all(int fd, char *to, size_t *used) {
    for (*used = 0; *used <= CONFIG_FILE_BYTES_MOST;) {
        ssize_t got = read(fd, to + *used, CONFIG_FILE_BYTES_MOST + 1 - *used);
        if (got == 0) {
            return true;
        }
        if (got < 0 && errno != EINTR) {
            return false;
        }
        *used += got > 0 ? (size_t)got : 0;
    }
    errno = EFBIG;
    return false;
}

/* Reads and closes the descriptor. NULL: errno says why. It may be a pipe. */
static char *read_open(int fd, size_t *used) {
    struct stat is;
    char *text = malloc(CONFIG_FILE_BYTES_MOST + 2);
    bool  done = false;
    if (text && fstat(fd, &is) == 0) {
        errno = EISDIR;
        done = !S_ISDIR(is.st_mode) && read_all(fd, text, used);
    }
    int failed = errno;
    close(fd);
    if (!done) {
        free(text);
        text = NULL;
    }
    errno = failed;
    return text;
}

char *config_file_read(const char *path, char *why) {
    size_t used = 0;
    int    fd = open(path, O_RDONLY | O_CLOEXEC);
    char  *text = fd >= 0 ? read_open(fd, &used) : NULL;
    if (!text && errno == EFBIG) {
        snprintf(why, SETTING_WHY_BYTES, "is longer than %d bytes", CONFIG_FILE_BYTES_MOST);
        return NULL;
    }
    if (!text) {
        snprintf(why, SETTING_WHY_BYTES, "cannot be read: %s", strerror(errno));
        return NULL;
    }
    if (memchr(text, '\0', used)) {
        snprintf(why, SETTING_WHY_BYTES, "is no text: it holds a zero byte");
        free(text);
        return NULL;
    }
    text[used] = '\0';
    return text;
}

/* Takes away a pair of quotes, of either kind, that encloses the whole value. */
static char *unquoted(char *value) {
    size_t n = strlen(value);
    if (n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0]) {
        value[n - 1] = '\0';
        return value + 1;
    }
    return value;
}

/* Cuts a line, which is not empty and has no blanks around it, into name and value. */
static void cut(char *text, struct config_line *line) {
    line->letters = text[0] == '-' && text[1] != '-';
    text += line->letters ? 1 : strncmp(text, "--", 2) == 0 ? 2 : 0;
    /* Only the table of options can tell that -m64 is a letter and its value, so it stays whole
     * here. */
    char *end = text + strcspn(text, line->letters ? " \t\r" : " \t\r=");
    char *value = end + strspn(end, blanks);
    if (*value == '=' && !line->letters) {
        value++;
        value += strspn(value, blanks);
        line->value = value;
    } else {
        line->value = *value ? value : NULL;
    }
    *end = '\0';
    line->name = text;
    if (line->value) {
        line->value = unquoted(line->value);
    }
}

bool config_file_next(char **at, struct config_line *line) {
    while (**at) {
        char *text = *at, *end = text + strcspn(text, "\n");
        *at = *end ? end + 1 : end;
        line->number++;
        *end = '\0';
        text += strspn(text, blanks);
        while (end > text && strchr(blanks, end[-1])) {
            *--end = '\0';
        }
        if (*text && *text != '#') {
            cut(text, line);
            return true;
        }
    }
    return false;
}
