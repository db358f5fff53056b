/* A file of settings: "name = value" a line, "#" begins a comment. */
#ifndef CONSOLE_APP_SETTINGS_FILE_H
#define CONSOLE_APP_SETTINGS_FILE_H
#include <stdbool.h>
#include <stddef.h>

/* Takes one setting; false with a sentence in why when there is none of that name, or its value is
 * wrong. */
typedef bool setting_taker(void *taker, const char *name, const char *value, char *why,
                           size_t why_bytes);

enum settings_read {
    SETTINGS_TAKEN,
    SETTINGS_UNREADABLE, /* a folder, say: no setting was taken */
    SETTINGS_WRONG       /* those before the wrong line were taken */
};

/* Hands every setting of the file to take, until one is refused. A file that is not there is
 * unreadable only when must_exist, else it has no settings. A sentence is in why otherwise, with
 * the line's number where a line is wrong. */
enum settings_read settings_file_read(const char *path, bool must_exist, setting_taker *take,
                                      void *taker, char *why, size_t why_bytes);
#endif
