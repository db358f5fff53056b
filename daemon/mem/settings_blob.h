/* A text in a memory file, beside the items: what the next start has to know and no option says.
 * This code does not interpret it.
 *
 * There are two places for it, written in turn. Each holds a number that grows and a checksum over
 * everything: if a process ends while it writes, the text of before is still there. Threading: one
 * writer at a time. */
#ifndef SLATE_MEM_SETTINGS_BLOB_H
#define SLATE_MEM_SETTINGS_BLOB_H
#include "mem/memory_file.h"

enum { SETTINGS_BLOB_BYTES = (MEMORY_FRONT_AT - MEMORY_BLOBS_AT) / 2 - 32 }; /* the longest text */

/* Writes the text into a file that is mapped. False, and nothing is changed: the text is too
 * long. */
bool settings_blob_write(const struct memory_file *, const char *text, size_t bytes);
/* Reads the text of a file that is open, before the file is checked. Ends the text by a zero and
 * returns its length; 0: there is none, or none that is whole. */
size_t settings_blob_read(const struct memory_file *, char text[SETTINGS_BLOB_BYTES + 1]);
#endif
