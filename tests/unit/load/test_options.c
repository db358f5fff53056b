/* The command line: accepted options, and the words of refusals. */
#include "tap.h"

#include "calcify.h"
#include "options.h"

static struct options o;
static char why[512];

static bool parse(const char *line) {
    static char copy[512];
    static char *argv[40];
    int argc = 1;
    snprintf(copy, sizeof(copy), "%s", line);
    argv[0] = (char *)"slate-load";
    for (char *p = strtok(copy, " "); p != NULL && argc < 39; p = strtok(NULL, " ")) {
        argv[argc++] = p;
    }
    argv[argc] = NULL;
    why[0] = '\0';
    return options_parse(argc, argv, &o, why, sizeof(why));
}

static void taken(void) {
    ok(parse("") && o.conns == 50 && o.requests == 100000 && o.reads_pct == 100 && o.verify_every == 1,
           "no options: 100,000 gets on 50 connections, all verified");
    ok(parse("--conns=7 --requests 2m --key-bytes 20 --sizes u5,9") && o.conns == 7 &&
           o.requests == 2000000 && o.key_bytes.a == 20 && o.sizes.b == 9,
           "arguments follow a blank or an equals sign, numbers may have a suffix");
    ok(parse("--method set") && o.reads_pct == 0, "a method that writes reads nothing");
    ok(parse("--reads 95") && o.method == VERB_SET && o.reads_pct == 95, "requests that are no read are sets unless a method is given");
    ok(parse("--method delete --reads 90.5") && o.method == VERB_DELETE && o.reads_pct == 90.5, "a method and reads mix");
    ok(parse("--duration 3") && o.requests == OPTION_AUTO, "a time replaces the number of requests");
    ok(parse("--calls 10") && o.requests == OPTION_AUTO, "so do calls");
    ok(parse("--replay x") && o.conns == 1 && o.fill_on_miss && o.requests == OPTION_AUTO,
       "a replay fills on a miss, on one connection, to its end");
    ok(parse("calcify") && o.calcify && o.conns == 100, "calcify uses 100 connections");
    ok(parse("--shift 100,1000 --shift-every 2.5s") && o.shift.count == 2 && o.shift_every.seconds == 2.5, "a shift by time");
    ok(parse("--duration 20s --interval 500ms --timeout 2m --linger 1m --ttl 2h") &&
           o.duration_s == 20 && o.interval_s == 0.5 && o.timeout_s == 120 && o.linger_s == 60 && o.ttl_s == 7200,
           "times may have a unit: ms, s, m or h");
    ok(parse("--duration 1.5 --interval 3 --timeout 4 --linger 0 --ttl 5") && o.duration_s == 1.5 &&
           o.interval_s == 3 && o.timeout_s == 4 && o.linger_s == 0 && o.ttl_s == 5, "times without a unit are seconds");
    ok(parse("--shift 1,2 --shift-every 250ms") && o.shift_every.seconds == 0.25 &&
           parse("--shift 1,2 --shift-every 2m") && o.shift_every.seconds == 120, "the length of a phase has the same units");
    ok(parse("--key-bytes 250") && parse("--key-bytes u10,250") && parse("--key-bytes l250,1"),
       "keys of 250 bytes are fine, and tails of a distribution are cut");
    ok(parse("--verify sample:10") && o.verify_every == 10, "a sample");
    ok(parse("--server tls://a:1") && o.tls && strcmp(o.server, "a:1") == 0 && !o.tls_verify,
       "tls:// before the address is --tls; no certificate is looked at");
    ok(parse("--tls --tls-ca f --tls-cert c --calls 1 --reconnect --tls-resume") && o.tls &&
           o.tls_verify && o.tls_resume && strcmp(o.server, "127.0.0.1:11211") == 0, "whom to trust means to look");
    ok(parse("--sizes 5 --preset etc") && o.sizes.kind == DIST_FIXED && o.fill_on_miss && o.key_bytes.kind == DIST_GEV,
           "the user's options win over a preset's, wherever they stand");
    ok(parse("--preset usr") && parse("--preset twitter"), "all presets are well formed");
}

static void refused(void) {
    static const struct {
        const char *line, *in_message;
    } cases[] = {
        {"--conns 0", "--conns takes a whole number from 1 to 100000, not '0'"}, {"--conns", "--conns needs an argument"},
        {"--conns 1.5", "whole number"}, {"--conns -3", "whole number"}, {"--conns 1e3", "whole number"},
        {"--conns 5x", "whole number"}, {"--conns 99999999999999999999", "whole number"}, {"--reads 101", "from 0 to 100"},
        {"--rate nan", "--rate takes a number"}, {"--nope", "no option --nope"}, {"--nope=3", "no option --nope"},
        {"stray", "unexpected argument 'stray'"}, {"-x", "unexpected argument '-x'"}, {"--", "unexpected argument '--'"},
        {"--json=yes", "--json takes no argument"}, {"--sizes q", "--sizes takes"}, {"--dist zipf:x", "--dist takes"},
        {"--method fly", "--method takes get, set or delete, not 'fly'"}, {"--verify some", "all, none or sample:N"},
        {"--verify sample:0", "all, none or sample:N"}, {"--shift 1,,2", "--shift takes"},
        {"--shift 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "1 to 16"},
        {"--duration 20x", "--duration takes a time from 0 to 10000000 seconds, as in"},
        {"--duration s", "--duration takes a time"}, {"--duration 1sm", "--duration takes a time"},
        {"--duration 9999h", "--duration takes a time"}, {"--timeout 50ms", "--timeout takes a time from 0.1 to 3600"},
        {"--interval -1s", "--interval takes a time"},
        {"--linger 500ms", "--linger takes a time from 0 to 3600 whole seconds"}, {"--ttl 1.5", "whole seconds"},
        {"--shift-every 10k", "--shift-every takes"},
        {"--key-bytes 300", "--key-bytes takes at most 250, the longest key there is, not '300'"},
        {"--key-bytes u10,251", "at most 250"}, {"--key-bytes o300,10", "at most 250"},
        {"--key-bytes l400,1", "at most 250"}, {"--preset usr --key-bytes 251", "at most 250"},
        {"--key-prefix k --key-bytes 251", "at most 250"}, {"--shift-every 0", "--shift-every takes"},
        {"--preset none", "there are: etc usr twitter"}, {"--threads 4 --conns 2", "--threads cannot"},
        {"--replay x --conns 2", "--conns 1"}, {"--replay x --preset etc", "cannot be combined"},
        {"calcify --replay x", "load of its own"}, {"calcify --insert", "load of its own"}, {"--reconnect", "--calls"},
        {"--tls-verify", "need --tls"}, {"--tls-ca f", "need --tls"}, {"--tls-key f", "need --tls"},
        {"--tls --tls-key f", "--tls-key needs --tls-cert"}, {"--tls --tls-resume", "--tls-resume needs --reconnect"},
        {"--speed 2", "--speed needs --replay"}, {"--replay x --speed 2 --rate 5", "--speed excludes"},
        {"--insert --shift 1,2", "exclude each other"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        bool good = !parse(cases[i].line) && strstr(why, cases[i].in_message) != NULL &&
                    strchr(why, '\n') == NULL;
        ok(good, "'%s' is refused: %s", cases[i].line, why);
    }
    char long_prefix[260] = "--key-prefix ";
    memset(long_prefix + 13, 'k', 201);
    ok(!parse(long_prefix) && strstr(why, "200 bytes"), "a prefix leaves room for the number");
}

static void slab_lines(void) {
    static struct slab_stats s;
    calcify_parse_slabs("STAT 1:chunk_size 96\r\nSTAT 1:total_pages 3\r\nSTAT 1:cmd_set 17\r\n"
                        "STAT 39:total_pages 2\r\nSTAT active_slabs 2\r\nSTAT 999:total_pages 9\r\n"
                        "STAT x:y\r\nrubbish\r\nEND\r\n", &s);
    ok(s.classes[1].chunk_bytes == 96 && s.classes[1].pages == 3 && s.classes[1].sets == 17 && s.classes[39].pages == 2,
           "stats slabs is read by class, other lines are passed over");
}

int main(void) {
    taken();
    refused();
    slab_lines();
    return tap_done();
}
