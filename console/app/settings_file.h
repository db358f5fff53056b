/* A file of settings: "name = value" a line, "#" begins a comment. */
#ifndef CONSOLE_APP_SETTINGS_FILE_H
#define CONSOLE_APP_SETTINGS_FILE_H
#include <stdbool.h>
#include <stddef.h>

/* Takes one setting; false with a sentence in why when there is none of that name, or its value is
 * wrong. */
typedef bool setting_taker(void *taker, const char *name, const char *value, char *why,
                           size_t why_bytes);

/* Hands every setting of the file to take, until one is refused. A file that is not there is an
 * error only when must_exist. False with the line's number and a sentence in why. */
bool settings_file_read(const char *path, bool must_exist, setting_taker *take, void *taker,
                        char *why, size_t why_bytes);
#endif
