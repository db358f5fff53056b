/* A file of settings: "name = value" a line, "#" begins a comment. */
#ifndef CONSOLE_APP_OPTIONS_SETTINGS_FILE_H
#define CONSOLE_APP_OPTIONS_SETTINGS_FILE_H
#include <stdbool.h>
#include <stddef.h>

/* Takes one setting; false with a sentence in why when its name is unknown or its value is
 * wrong. */
typedef bool setting_taker(void *taker, const char *name, const char *value, char *why,
                           size_t why_bytes);

enum settings_read {
    SETTINGS_TAKEN,
    SETTINGS_UNREADABLE, /* for example a folder: no setting was taken */
    SETTINGS_WRONG       /* settings before the wrong line were taken */
};

/* Hands every setting of the file to take, until one is refused. A missing file is unreadable only
 * with must_exist, else it counts as empty. After an error why has a sentence, with the number of a
 * wrong line. */
enum settings_read settings_file_read(const char *path, bool must_exist, setting_taker *take,
                                      void *taker, char *why, size_t why_bytes);
#endif
