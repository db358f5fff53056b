/* Texts of others, made fit for a terminal. Pure, safe from any thread. */
#ifndef CONSOLE_FACTS_PLAIN_H
#define CONSOLE_FACTS_PLAIN_H

/* Of a text that a file or a server brought: what a terminal would obey becomes '?', in place. */
void plain_make(char *text);
#endif
