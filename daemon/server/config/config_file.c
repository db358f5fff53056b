#include "server/config/config_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/input.h"
#include "server/config/settings.h"

static const char config_blanks[] = " \t\r";

/* Reads a whole open file. False: errno is set; EFBIG: the file is too long. */
static bool config_file_read_all(int fd, char *to, size_t *used) {
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

/* Reads and closes the descriptor, which may be a pipe. NULL: errno is set. */
static char *config_file_read_fd(int fd, size_t *used) {
    struct stat is;
    char *text = malloc(CONFIG_FILE_BYTES_MOST + 2);
    bool  done = false;
    if (text && fstat(fd, &is) == 0) {
        errno = EISDIR;
        done = !S_ISDIR(is.st_mode) && config_file_read_all(fd, text, used);
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
    const char *problem;
    int    fd = input_open(path, true, &problem);
    if (fd < 0) {
        snprintf(why, SETTING_WHY_BYTES, "cannot be read: %s", problem);
        return NULL;
    }
    char  *text = config_file_read_fd(fd, &used);
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

static bool config_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool config_is_quote(char c) { return c == '"' || c == '\''; }

/* The end of a quoted value, behind the closing quote. NULL: no opening or no closing quote. */
static char *config_quoted_end(char *value) {
    char *end = config_is_quote(value[0]) ? strchr(value + 1, value[0]) : NULL;
    while (end && end[1] != '\0' && !config_is_blank(end[1])) {
        end = strchr(end + 1, value[0]);
    }
    return end ? end + 1 : NULL;
}

/* Removes a pair of quotes, of either kind, around the whole value. */
static char *config_unquote(char *value) {
    size_t n = strlen(value);
    if (n >= 2 && config_is_quote(value[0]) && value[n - 1] == value[0]) {
        value[n - 1] = '\0';
        return value + 1;
    }
    return value;
}

/* Where the comment of a line begins; `end` if there is none. A # inside a word, such as a path or
 * a key, begins no comment. */
static char *config_comment_start(char *text, char *end) {
    for (char *at = text; at < end; at++) {
        bool begins_word = at == text || config_is_blank(at[-1]);
        if (begins_word && *at == '#') {
            return at;
        }
        char *behind = begins_word || at[-1] == '=' ? config_quoted_end(at) : NULL;
        at = behind ? behind - 1 : at;
    }
    return end;
}

void config_line_cut(char *text, struct config_line *line) {
    line->dashed = text[0] == '-';
    line->letters = text[0] == '-' && text[1] != '-';
    text += line->letters ? 1 : strncmp(text, "--", 2) == 0 ? 2 : 0;
    /* -m64 may be a letter and its value or several letters: the table of options decides later */
    char *end = text + strcspn(text, line->letters ? " \t\r" : " \t\r=");
    char *value = end + strspn(end, config_blanks);
    if (*value == '=' && !line->letters) {
        value++;
        value += strspn(value, config_blanks);
        line->value = value;
    } else {
        line->value = *value ? value : NULL;
    }
    *end = '\0';
    line->name = text;
}

/* Cuts a value before the next option: a blank and a dash behind the first word. Returns the
 * option. */
static char *config_cut_value(char *value) {
    char *at = config_quoted_end(value);
    for (at = at ? at : value + strcspn(value, config_blanks); *at; at++) {
        char *next = at + strspn(at, config_blanks);
        if (config_is_blank(*at) && *next == '-') {
            *at = '\0';
            return next;
        }
    }
    return NULL;
}

char *config_line_remainder(struct config_line *line, bool takes_value) {
    char *remainder = NULL;
    if (line->value && line->dashed && !takes_value && line->value[0] == '-') {
        remainder = line->value;
        line->value = NULL;
    } else if (line->value) {
        remainder = line->dashed ? config_cut_value(line->value) : NULL;
        line->value = config_unquote(line->value);
    }
    return remainder;
}

bool config_file_next(char **at, struct config_line *line) {
    while (**at) {
        char *text = *at, *end = text + strcspn(text, "\n");
        *at = *end ? end + 1 : end;
        line->number++;
        *end = '\0';
        text += strspn(text, config_blanks);
        end = config_comment_start(text, end);
        *end = '\0';
        while (end > text && config_is_blank(end[-1])) {
            *--end = '\0';
        }
        if (*text) {
            config_line_cut(text, line);
            return true;
        }
    }
    return false;
}
