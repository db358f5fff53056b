/* How well a choice of the palette fits what is typed. Typed are words, in any order: each must be
 * found in the name of the choice or in its help. Letters count without their case. Pure; cost: the
 * length of the texts. */
#ifndef CONSOLE_VIEWS_PALETTE_MATCH_H
#define CONSOLE_VIEWS_PALETTE_MATCH_H

/* From the best to none. */
enum palette_fit {
    FIT_BEGINS,      /* the name begins with all that is typed */
    FIT_NAME_WORD,   /* a word of the name begins so */
    FIT_NAME_INSIDE, /* the name holds it */
    FIT_HELP_WORD,   /* a word of the help begins so */
    FIT_HELP_INSIDE, /* the help holds it */
    FIT_NONE
};

/* Of several words typed the one that fits worst counts. A single letter is looked for at the
 * beginning of the words of the name only: it stands somewhere in nearly every text. help may be
 * NULL: it is not looked at. */
enum palette_fit palette_fit(const char *typed, const char *name, const char *help);
#endif
