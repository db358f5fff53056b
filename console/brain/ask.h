/* Sentences that a module of lua/slate makes of what is known of a server: asked when they are looked at, where brain.h
 * keeps what every look tells. */
#ifndef CONSOLE_BRAIN_ASK_H
#define CONSOLE_BRAIN_ASK_H
#include "brain/brain.h"

enum { SENTENCES_MOST = 14, SENTENCE_BYTES = 2 * NOTE_BYTES };

enum tone { TONE_PLAIN, TONE_GOOD, TONE_NOTE, TONE_WARN, TONE_BAD };

struct sentence {
    enum tone tone;
    char key;       /* does something about it; '\0': none does */
    char label[20]; /* what it is about, in a word; "" for none */
    char text[SENTENCE_BYTES];
};

/* A change that is asked about. */
struct asked_change {
    unsigned from, to, pages; /* pages 0: it is a setting */
    const char *name, *value;
    const char *outlook; /* what the server says that it would bring; NULL: it was not asked */
};

struct question {
    const char *module, *function; /* "slate.judge.why", "automove": (observer, asked) -> a list of { text, tone } */
    bool is_past;                  /* an answer that is not there will not come */
    const struct asked_change *change; /* NULL: about none */
};

/* Fills at most SENTENCES_MOST; returns how many. Of a module that fails the reason is the only one. Cost: some 0.1 ms. */
unsigned brain_ask(const struct model *model, const struct question *question,
                   struct sentence out[SENTENCES_MOST]);
#endif
