/* What the thread sanitizer must be told, where a race is by design. Nothing in other builds.
 *
 * A value that is being received is written straight into its chunk, by the kernel or a plain copy.
 * Readers without a lock may still read that chunk by a stale reference; the index's version then
 * rejects what they read (mem/item.h). Those reads are atomic, but the writes cannot be, so they
 * are hidden from the sanitizer: this, and nothing else, is what these are for. */
#ifndef SLATE_BASE_SANITIZE_H
#define SLATE_BASE_SANITIZE_H

#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#define sanitize_ignore_writes_begin() AnnotateIgnoreWritesBegin(__FILE__, __LINE__)
#define sanitize_ignore_writes_end()   AnnotateIgnoreWritesEnd(__FILE__, __LINE__)
#else
#define sanitize_ignore_writes_begin() ((void)0)
#define sanitize_ignore_writes_end()   ((void)0)
#endif
#endif
