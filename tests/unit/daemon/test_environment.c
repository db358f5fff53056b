/* Options from the environment: how a text is cut into words, and where they stand. */
#include "serve/config/options.h"
#include "serve/config/settings.h"
#include "tap.h"

static char why[SETTING_WHY_BYTES];

/* The words behind the program's name, each in brackets, of a text and a command line "slated -t 2". */
static const char *words(const char *text) {
    static char shown[512];
    char *argv[] = {"slated", "-t", "2", NULL};
    int argc = 3;
    char **word = options_words(text, &argc, argv, why);
    if (!word) {
        return why;
    }
    shown[0] = '\0';
    for (int i = 1; i < argc; i++) {
        size_t used = strlen(shown);
        snprintf(shown + used, sizeof shown - used, "[%s]", word[i]);
    }
    ok(word[argc] == NULL && strcmp(word[0], "slated") == 0, "the words stand between the program's name and an end");
    free(word);
    return shown;
}

static void test_words(void) {
    is_str(words("-m 64 -c 100"), "[-m][64][-c][100][-t][2]", "words come before those of the command line");
    is_str(words(""), "[-t][2]", "of nothing come none");
    is_str(words(" \t\n"), "[-t][2]", "nor of blanks");
    is_str(words("  -v\n-r\t"), "[-v][-r][-t][2]", "blanks of any kind and number part words");
    is_str(words("-s '/a b/s' -P \"c'd\""), "[-s][/a b/s][-P][c'd][-t][2]", "quotes keep blanks and each other");
    is_str(words("-s/a' 'b"), "[-s/a b][-t][2]", "a quote may stand within a word");
    is_str(words("'' x"), "[][x][-t][2]", "a word may be empty");
    is_str(words("a\\ b $HOME *"), "[a\\][b][$HOME][*][-t][2]", "no other character means anything");
    is_str(words("a b c d e f g h"), "[a][b][c][d][e][f][g][h][-t][2]", "words of one byte find room");
}

static void test_refused(void) {
    is_str(words("-s 'a b"), "SLATED_OPTIONS has a quote without an end", "a quote that does not end is refused");
    is_str(words("\""), "SLATED_OPTIONS has a quote without an end", "… whatever it holds");
}

int main(void) {
    test_words();
    test_refused();
    return tap_done();
}
