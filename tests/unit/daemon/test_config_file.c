/* Options in a file: the division into lines, and their reading by the table of options. Options in the environment. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/config/config_file.h"
#include "server/config/options.h"
#include "tap.h"

static struct settings s;
static char why[OPTIONS_WHY_BYTES], path[] = "/tmp/slate-config.XXXXXX";

/* Each option line as NUMBER:[name][value], with a leading dash if the line had one. */
static const char *lines(const char *text) {
    static char shown[512];
    char copy[256], *at = copy;
    struct config_line line = {.number = 0};
    snprintf(copy, sizeof copy, "%s", text);
    shown[0] = '\0';
    while (config_file_next(&at, &line)) {
        size_t used = strlen(shown);
        config_line_remainder(&line, true);
        snprintf(shown + used, sizeof shown - used, "%u:%s[%s]%s%s%s ", line.number, line.letters ? "-" : "",
                 line.name, line.value ? "[" : "", line.value ? line.value : "", line.value ? "]" : "");
    }
    return shown;
}

TEST(test_lines) {
    is_str(lines("# a comment\n\n  \t\n"), "", "comments and empty lines hold no option");
    is_str(lines("a = 1\nb=2\nc 3\nd\n"), "1:[a][1] 2:[b][2] 3:[c][3] 4:[d] ", "a name, with or without =, and a value");
    is_str(lines("\n  a  =  1 2 \t\r\n"), "2:[a][1 2] ", "blanks around are no part, those within are");
    is_str(lines("a = ' x '\nb = \"y\"\nc = it's"), "1:[a][ x ] 2:[b][y] 3:[c][it's] ", "quotes around a value go");
    is_str(lines("a =\nb ''"), "1:[a][] 2:[b][] ", "a value may be empty");
    is_str(lines("-m 64\n-m64\n-vv\n--policy=lru\n--threads 2"),
           "1:-[m][64] 2:-[m64] 3:-[vv] 4:[policy][lru] 5:[threads][2] ", "words of a command line");
    is_str(lines("-o a=1,b=2"), "1:-[o][a=1,b=2] ", "of which -o keeps its list");
    is_str(lines("a = b # c\nb\t#c\n-m 64   # MB\n-vv #x"), "1:[a][b] 2:[b] 3:-[m][64] 4:-[vv] ", "# behind a blank begins a comment");
    is_str(lines("a = /b#c\nb = 'x # y' # z\nc='#'\nd = it's # no"), "1:[a][/b#c] 2:[b][x # y] 3:[c][#] 4:[d][it's] ",
           "… but not within a word or quotes");
    is_str(lines("-\n--\n="), "1:-[] 2:[] 3:[][] ", "a word that is no option is a line all the same");
}

static void write_file(const char *text) {
    FILE *to = fopen(path, "w");
    if (!to || fputs(text, to) < 0 || fclose(to) != 0) {
        perror("cannot write a file");
        exit(1);
    }
}

static enum options_action parse(const char *text, const char *more) {
    static char words[256];
    char *argv[16];
    int   argc = 0;
    write_file(text);
    free(s.config_text);
    s.config_text = NULL;
    snprintf(words, sizeof words, "slated --config %s %s", path, more);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    why[0] = '\0';
    return options_parse(argc, argv, 0, &s, why);
}

static void refuses(const char *text, const char *sentence) {
    char whole[OPTIONS_WHY_BYTES];
    is(parse(text, ""), OPTIONS_BAD, "a line with `%s` is refused", sentence);
    snprintf(whole, sizeof whole, "%s:%s", path, sentence);
    ok(strncmp(why, whole, strlen(whole)) == 0, "… %s", why);
}

TEST(test_every_form_is_read) {
    is(parse("memory-limit = 128\n-c77\n-vv\n-o idle_timeout=9,no_lru_crawler\nno_slab_reassign\n"
             "disable-cas\nauth-file = /a b\nthreads 3\nslab_automove\n", ""), OPTIONS_RUN, "a file of all forms is taken");
    is((long)(s.maxbytes >> 20), 128, "a long name");
    is(s.maxconns, 77, "a letter and its value in one word");
    is(s.verbosity, 2, "letters");
    ok(s.idle_timeout == 9 && !s.lru_crawler, "a list of sub-options");
    ok(!s.slab_reassign, "a sub-option turned off");
    ok(!s.cas, "a name alone");
    is_str(s.auth_file, "/a b", "a text with a blank");
    is(s.threads, 3, "a name and a value without =");
    is_str(s.slab_automove, "1", "a short form");
}

TEST(test_a_line_may_hold_several_options) {
    is(parse("-m 128 -c 77  # as in memcached.conf\n-d -vv -t 3 -p -1 -U 0\n-r -o idle_timeout=9 --disable-cas -l 127.0.0.1 -l ::1\n"
             "--unix-socket '/a -b' --listen-backlog=9 -b7\n", ""), OPTIONS_RUN, "lines of several options are taken");
    ok(s.maxbytes >> 20 == 128 && s.maxconns == 77, "letters with values");
    ok(s.daemonize && s.verbosity == 2 && s.threads == 3, "… and letters without, before and between");
    ok(s.port == -1 && s.udpport == 0, "a value that begins with a dash");
    ok(s.coredumps && s.idle_timeout == 9 && !s.cas, "sub-options and long names among them");
    is_str(s.inter, "127.0.0.1,::1", "… one of them twice");
    is_str(s.socketpath, "/a -b", "quotes keep a value whole");
    is(s.backlog, 7, "the last one counts");
    is(parse("auth-file = /a -b\n", ""), OPTIONS_RUN, "a line without a dash is one option");
    is_str(s.auth_file, "/a -b", "… and its value reaches to the end");
    refuses("-m 64 -Q\n", "1: -Q is no option of a file");
    refuses("\n-m 64 x -c 5\n", "2: -m wants ");
    refuses("-r x -c 5\n", "1: - wants letters, and no value behind them");
    refuses("-m 64 -c\n", "1: -c needs a value");
    refuses("--disable-cas x -c 5\n", "1: disable-cas takes no value");
}

TEST(test_the_command_line_wins) {
    is(parse("threads = 3\nlisten = 127.0.0.1:1\nlisten = 127.0.0.1:2\n", "-t 5"), OPTIONS_RUN, "a file and a word");
    is(s.threads, 5, "the command line's value is the one");
    is_str(s.inter, "127.0.0.1:1,127.0.0.1:2", "addresses of a file add up");
    is(parse("listen = 127.0.0.1:1\n", "-l 127.0.0.1:3 -l 127.0.0.1:4"), OPTIONS_RUN, "addresses in both");
    is_str(s.inter, "127.0.0.1:3,127.0.0.1:4", "those of the command line take the place of the file's");
    is(parse("", "-t 2"), OPTIONS_RUN, "an empty file says nothing");
    is(parse("like_memcached\n", ""), OPTIONS_RUN, "one that stands for several");
    is_str(s.policy, "slru", "… does so in a file");
    is(parse("hashpower = 20\n", ""), OPTIONS_RUN, "one that means nothing here");
    ok(s.given_in_vain[setting_find("hashpower_init", strlen("hashpower_init")) - setting_table], "… is remembered");
    is(parse("logfile /var/log/memcached.log\n-c 77\n", ""), OPTIONS_RUN, "a line of Debian's memcached.conf that is no option");
    ok(s.logfile_named && s.maxconns == 77, "… is remembered, and the next is read");
}

TEST(test_bad_lines_are_refused) {
    refuses("# x\nquux = 1\n", "2: quux is no option of a file");
    refuses("\n\n-Q\n", "3: -Q is no option of a file");
    refuses("= 64\n", "1: = has no option before it");
    refuses("threads = many", "1: threads wants a whole number from 1 to 128, not \"many\"");
    refuses("threads", "1: threads needs a value");
    refuses("-t", "1: -t needs a value");
    refuses("-t4 5", "1: -t takes one value");
    refuses("-vr x", "1: - wants letters, and no value behind them");
    refuses("-", "1: - wants letters, and no value behind them");
    refuses("= 4", "1: ");
    refuses("-vh", "1: -h is no option of a file");
    refuses("help", "1: help is no option of a file");
    refuses("check-config", "1: check-config is no option of a file");
    refuses("config = /etc/x", "1: config is no option of a file");
    refuses("disable-cas = yes", "1: disable-cas takes no value");
    refuses("no_lru_crawler = 1", "1: no_lru_crawler takes no value");
    refuses("-o quux", "1: -o quux is not an option");
    refuses("ext_path = /x:1g", "1: ext_path cannot be used: storage on flash is not supported");
    is(parse("max-item-size = 512m\n", ""), OPTIONS_BAD, "values that do not go together are refused");
    is(parse("config = x\n", "--quux"), OPTIONS_BAD, "so is a bad file beside a bad word");
    is(parse("threads = 2\n", "--check-config"), OPTIONS_CHECK, "--check-config is recognised");
    is(parse("threads = 2\n", "--check-config -t 0"), OPTIONS_BAD, "… and the words behind it are read");
}

TEST(test_bad_files_are_refused) {
    free(s.config_text); /* the text of the parse before, which the next one forgets */
    s.config_text = NULL;
    char *argv[] = {"slated", "--config", "/nonexistent/slated.conf", NULL};
    is(options_parse(3, argv, 0, &s, why), OPTIONS_BAD, "a file that is not there");
    is_str(why, "--config /nonexistent/slated.conf cannot be read: No such file or directory", "is named");
    argv[2] = "/tmp";
    is(options_parse(3, argv, 0, &s, why), OPTIONS_BAD, "a folder");
    is_str(why, "--config /tmp cannot be read: Is a directory", "is none");
    argv[2] = "/dev/zero";
    is(options_parse(3, argv, 0, &s, why), OPTIONS_BAD, "a device, which may have no end");
    is_str(why, "--config /dev/zero cannot be read: it is not a regular file", "is none");
    char *long_text = calloc(1, CONFIG_FILE_BYTES_MOST + 2);
    memset(long_text, '#', CONFIG_FILE_BYTES_MOST + 1);
    is(parse(long_text, ""), OPTIONS_BAD, "a file that is too long");
    ok(strstr(why, "is longer than 65536 bytes") != NULL, "… %s", why);
    long_text[CONFIG_FILE_BYTES_MOST] = '\0';
    is(parse(long_text, ""), OPTIONS_RUN, "one as long as may be");
    free(long_text);
    char sub[] = "slated -o config=x";
    char *words[] = {strtok(sub, " "), strtok(NULL, " "), strtok(NULL, " "), NULL};
    free(s.config_text);
    is(options_parse(3, words, 0, &s, why), OPTIONS_BAD, "config is no sub-option of -o");
}

/* --- the environment --- */

/* The words after the program's name, each in brackets, for a text and a command line "slated -t 2". */
static const char *words_of(const char *text) {
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

TEST(test_words_of_the_environment) {
    is_str(words_of("-m 64 -c 100"), "[-m][64][-c][100][-t][2]", "words come before those of the command line");
    is_str(words_of(""), "[-t][2]", "of nothing come none");
    is_str(words_of(" \t\n"), "[-t][2]", "nor of blanks");
    is_str(words_of("  -v\n-r\t"), "[-v][-r][-t][2]", "blanks of any kind and number part words");
    is_str(words_of("-s '/a b/s' -P \"c'd\""), "[-s][/a b/s][-P][c'd][-t][2]", "quotes keep blanks and each other");
    is_str(words_of("-s/a' 'b"), "[-s/a b][-t][2]", "a quote may stand within a word");
    is_str(words_of("'' x"), "[][x][-t][2]", "a word may be empty");
    is_str(words_of("a\\ b $HOME *"), "[a\\][b][$HOME][*][-t][2]", "no other character means anything");
    is_str(words_of("a b c d e f g h"), "[a][b][c][d][e][f][g][h][-t][2]", "words of one byte find room");
}

TEST(test_refused_words_of_the_environment) {
    is_str(words_of("-s 'a b"), "SLATED_OPTIONS has a quote without an end", "a quote that does not end is refused");
    is_str(words_of("\""), "SLATED_OPTIONS has a quote without an end", "… whatever it holds");
}

int main(void) {
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0) {
        perror("cannot make a file");
        exit(1);
    }
    tap_run_tests();
    unlink(path);
    free(s.config_text);
    return tap_done();
}
