/* A text in a memory file, beside the items: settings for the next start that no option gives.
 *
 * Two places for the text are written in turn. Each holds a number that grows and a checksum over
 * all: if a process ends within a write, the earlier text is still there. Threading: one writer at
 * a time. */
#ifndef SLATE_MEM_SETTINGS_BLOB_H
#define SLATE_MEM_SETTINGS_BLOB_H
#include "mem/memory_file.h"

enum { SETTINGS_BLOB_BYTES = (MEMORY_FRONT_AT - MEMORY_BLOBS_AT) / 2 - 32 }; /* the longest text */

/* Writes the text into a file that is mapped. False, and nothing is changed: the text is too
 * long. */
bool settings_blob_write(const struct memory_file *, const char *text, size_t bytes);
/* Reads the text of an open file, before the file is checked. Ends the text by a zero and returns
 * its length; 0: there is no intact text. */
size_t settings_blob_read(const struct memory_file *, char text[SETTINGS_BLOB_BYTES + 1]);
#endif
