/* Tells the thread sanitizer about the one race that is by design. Nothing in other builds.
 *
 * A value that is being received is written straight into its chunk, by the kernel or a plain copy.
 * Readers without a lock may still read that chunk through a stale reference; the index's version
 * then rejects the bytes that they read (mem/item.h). Those reads are atomic, but the writes cannot
 * be, so these macros hide the writes from the sanitizer. */
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
