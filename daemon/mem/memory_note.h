/* A text in a memory file beside what items need: what the next start is to know that no option
 * says. Nobody reads it here.
 *
 * It has two places, which are written in turn, each with a number that grows and a checksum of
 * all: a process that ends while it writes leaves the text of before. Threading: one writer at a
 * time. */
#ifndef SLATE_MEM_MEMORY_NOTE_H
#define SLATE_MEM_MEMORY_NOTE_H
#include "mem/memory_file.h"

enum { MEMORY_NOTE_BYTES = (MEMORY_FRONT_AT - MEMORY_NOTES_AT) / 2 - 32 }; /* the longest text */

/* Of a file that is mapped. False, and nothing is changed: the text is too long. */
bool memory_note_write(const struct memory_file *, const char *text, size_t bytes);
/* Of a file that is open, before it is looked at. Puts the text, ended by a zero, and returns its
 * length; 0: there is none, or none that is whole. */
size_t memory_note_read(const struct memory_file *, char text[MEMORY_NOTE_BYTES + 1]);
#endif
