/* The modes of automove in words. Pure functions. */
#ifndef CONSOLE_FACTS_AUTOMOVE_H
#define CONSOLE_FACTS_AUTOMOVE_H

/* Of a mode of automove by its place in automove_words: what it does, in a few words, and what it is
 * called, memcached's number or slated's name. */
const char *automove_mode_name(unsigned mode);
const char *automove_mode_word(unsigned mode);
/* The place of a mode by number or name; AUTOMOVE_MODES when it has none. */
unsigned automove_mode_of(const char *word);
#endif
