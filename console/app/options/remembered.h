/* The operator's choices on the screens, saved from run to run: the theme, and the columns, order
 * and filter of the class table. They are in one small file of lines "name = value"; a save
 * replaces the whole file. One thread. */
#ifndef CONSOLE_APP_OPTIONS_REMEMBERED_H
#define CONSOLE_APP_OPTIONS_REMEMBERED_H
#include "views/view.h"

enum { REMEMBERED_PATH_BYTES = 4096, REMEMBERED_BYTES = 2048 };

/* $XDG_STATE_HOME/slate/slatetop, or the same below ~/.local/state; false when neither is known. */
bool remembered_path(char out[REMEMBERED_PATH_BYTES]);

/* Writes the choices as the text of the file. */
void remembered_write(const struct ui *ui, unsigned theme, char out[REMEMBERED_BYTES]);

/* Reads the file into ui and theme. A missing file changes nothing. Neither does a file with a
 * mistake: false, with a sentence in why. */
bool remembered_load(const char *path, struct ui *ui, unsigned *theme, char *why, size_t why_bytes);

/* Replaces the file by text. False with a sentence in why. */
bool remembered_save(const char *path, const char *text, char *why, size_t why_bytes);
#endif
