/* The table of options and the command line read by it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index/index.h"
#include "serve/config/listen_list.h"
#include "serve/config/options.h"
#include "tap.h"

static struct settings s;
static char why[OPTIONS_WHY_BYTES];

/* Parses a command line given as one text; words are cut at spaces, "\1" stands for a space within one. */
static enum options_action parse_words(const char *line) {
    static char text[4096];
    static char *argv[64];
    int argc = 0;
    snprintf(text, sizeof text, "slated %s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        argv[argc++] = word;
        for (; (word = strchr(word, '\1')) != NULL; *word = ' ') {
        }
    }
    argv[argc] = NULL;
    why[0] = '\0';
    return options_parse(argc, argv, 0, &s, why);
}

static void accepts(const char *line) { is(parse_words(line), OPTIONS_RUN, "`%s` is accepted%s%s", line, *why ? ": " : "", why); }

static void refuses(const char *line, const char *sentence) {
    is(parse_words(line), OPTIONS_BAD, "`%s` is refused", line);
    is_str(why, sentence, "… in one sentence that names the option and what is allowed");
}

/* With whatever words. NULL ends the lines. */
static void refuses_each(const char *const *lines) {
    for (; *lines != NULL; lines++) {
        is(parse_words(*lines), OPTIONS_BAD, "`%s` is refused", *lines);
    }
}

static const char *shown(const char *name) {
    static char value[SETTING_LIST_BYTES];
    const struct setting *row = setting_find(name, strlen(name));
    if (!row) {
        return "(no such setting)";
    }
    setting_format(&s, row, value, sizeof value);
    return value;
}

static void shows(const char *line, const char *name, const char *value) {
    accepts(line);
    is_str(shown(name), value, "… and %s is %s", name, value);
}

static void test_defaults_are_memcacheds(void) {
    static const char *const facts[][2] = {
        {"maxbytes", "67108864"}, {"maxconns", "1024"}, {"tcpport", "11211"}, {"udpport", "0"}, {"verbosity", "0"},
        {"oldest", "0"}, {"evictions", "on"}, {"domain_socket", "NULL"}, {"umask", "700"}, {"growth_factor", "1.25"},
        {"chunk_size", "48"}, {"num_threads", "4"}, {"num_threads_per_udp", "4"}, {"stat_key_prefix", ":"},
        {"detail_enabled", "no"}, {"reqs_per_event", "20"}, {"cas_enabled", "yes"}, {"tcp_backlog", "1024"},
        {"binding_protocol", "auto-negotiate"}, {"auth_enabled_sasl", "no"}, {"item_size_max", "1048576"},
        {"maxconns_fast", "yes"}, {"hashpower_init", "0"}, {"slab_reassign", "yes"},
        {"slab_automove_ratio", "0.80"}, {"slab_automove_window", "10"}, {"slab_chunk_max", "524288"},
        {"lru_crawler", "yes"}, {"lru_crawler_sleep", "100"}, {"lru_crawler_tocrawl", "0"}, {"flush_enabled", "yes"},
        {"dump_enabled", "yes"}, {"lru_maintainer_thread", "yes"}, {"lru_segmented", "yes"}, {"hot_lru_pct", "20"},
        {"warm_lru_pct", "40"}, {"hot_max_factor", "0.20"}, {"warm_max_factor", "2.00"}, {"temp_lru", "no"},
        {"temporary_ttl", "61"}, {"idle_timeout", "0"}, {"watcher_logbuf_size", "262144"},
        {"worker_logbuf_size", "65536"}, {"read_buf_mem_limit", "0"}, {"track_sizes", "no"},
        {"slab_automove_freeratio", "0.010"}, {"ssl_min_version", "tlsv1.2"}, {"memory_file", "NULL"},
        {"client_flags_size", "4"},
    };
    parse_words("");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        is_str(shown(facts[i][0]), facts[i][1], "default of %s", facts[i][0]);
    }
    is_str(shown("slab_automove"), "utility", "pages go by what they bring, not by memcached's rule of ages");
    is_str(shown("inter"), "127.0.0.1", "listens on the loopback interface unless told otherwise");
}

static void test_values_are_read_and_shown(void) {
    shows("-m 100", "maxbytes", "104857600");
    shows("-m 1g", "maxbytes", "1073741824");
    shows("--memory-limit=128", "maxbytes", "134217728");
    shows("-p 0", "tcpport", "0");
    shows("-p -1", "tcpport", "-1");
    shows("-a 0770", "umask", "770");
    shows("-a 750", "umask", "750");
    shows("-I 2m", "item_size_max", "2097152");
    shows("-I 524288", "item_size_max", "524288");
    shows("-f 1.5", "growth_factor", "1.50");
    shows("-M", "evictions", "off");
    shows("-C", "cas_enabled", "no");
    shows("-F -X", "flush_enabled", "no");
    shows("-F", "disable-watch", "no");
    shows("-W", "disable-watch", "yes");
    shows("-vv", "verbosity", "2");
    shows("-vvvvvv", "verbosity", "3");
    shows("-t 7", "num_threads_per_udp", "7");
    shows("-D /", "stat_key_prefix", "/");
    shows("-D /", "detail_enabled", "yes");
    shows("-B auto", "binding_protocol", "auto-negotiate");
    shows("-B ascii", "binding_protocol", "ascii");
    shows("-l 127.0.0.2", "inter", "127.0.0.2");
    shows("-l 127.0.0.2 -l [::1]:5,127.0.0.3", "inter", "127.0.0.2,[::1]:5,127.0.0.3");
    shows("-s /tmp/x", "domain_socket", "/tmp/x");
    shows("-U 0", "udpport", "0");
}

static void test_extended_options(void) {
    shows("-o no_maxconns_fast", "maxconns_fast", "no");
    shows("-o maxconns_fast=no", "maxconns_fast", "no");
    shows("-o slab_automove", "slab_automove", "1");
    shows("-o slab_automove=2,slab_automove_window=30", "slab_automove_window", "30");
    shows("-o no_slab_automove", "slab_automove", "0");
    shows("-o slab_chunk_max=128", "slab_chunk_max", "131072");
    shows("-o slab_chunk_max=128k", "slab_chunk_max", "131072");
    shows("-o no_chunked_items", "slab_chunk_max", "1048576");
    shows("-o watcher_logbuf_size=512", "watcher_logbuf_size", "524288");
    shows("-o temporary_ttl=30", "temp_lru", "yes");
    shows("-o temporary_ttl=61", "temp_lru", "yes");
    shows("-o temporary_ttl=-1", "temp_lru", "no");
    shows("-o no_lru_maintainer", "lru_segmented", "no");
    shows("--policy lru", "lru_segmented", "no");
    shows("-o no_lru_crawler,track_sizes", "track_sizes", "yes");
    shows("--extended track_sizes", "track_sizes", "yes");
    shows("-o hashpower=20", "hashpower_init", "20");
    shows("-o hash_algorithm=murmur3", "hash_algorithm", "xxh3");
    shows("-o no_modern", "hash_algorithm", "xxh3");
    shows("-o like_memcached", "hash_algorithm", "murmur3");
    shows("-o like_memcached,hash_algorithm=jenkins", "hash_algorithm", "jenkins");
    shows("-o like_memcached", "slab_automove", "1");
    shows("-o like_memcached", "policy", "slru");
    shows("-o no_like_memcached", "policy", "s3auto");
    shows("-o policy=lru,like_memcached", "policy", "slru");
    shows("-o like_memcached --policy=lru", "policy", "lru");
    shows("-o sample_rate=0", "sample_rate", "0.000");
    shows("-o sample_rate=1", "sample_rate", "1.000");
    shows("-o sample_rate=0.0005", "sample_rate", "0.0005");
    shows("-o sample_rate=0.000000001", "sample_rate", "0.000000001");
    shows("-o sample_rate=0.00000000001", "sample_rate", "1e-11");
    shows("-o sample_rate=1e-300", "sample_rate", "1e-300");
    accepts("-o sample_rate=0.1");
    is_str(settings_policy(&s), "s3auto", "s3auto is itself while nobody sets numbers of s3fifo");
    accepts("-o s3fifo_small_percent=20");
    is_str(settings_policy(&s), "s3fifo", "it is s3fifo with numbers that are set,");
    accepts("-o s3fifo_small_percent=10");
    is_str(settings_policy(&s), "s3auto", "unless they are the defaults");
    accepts("--policy auto -o s3fifo_skip_percent=50");
    is_str(settings_policy(&s), "auto", "auto goes on");
    shows("-o no_modern", "slab_reassign", "no");
    is_str(shown("lru_segmented"), "no", "… nor a segmented policy");
    is_str(shown("slab_chunk_max"), "1048576", "… nor chains");
    is_str(shown("maxconns_fast"), "no", "… and connections wait");
    is_str(shown("slab_automove"), "0", "… and nothing moves pages");
    accepts("-o modern,no_hashexpand,resp_obj_mem_limit=4,inline_ascii_resp,no_inline_ascii_resp,no_drop_privileges");
    accepts("-o modern,idle_timeout=5,");
    accepts("-o tail_repair_time=30,slab_automove_freeratio=0.02,read_buf_mem_limit=16");
}

static void test_who_asks_for_chunk_sizes_or_still_pages_keeps_them(void) {
    shows("-m 64", "slab_geometry_auto", "yes");
    shows("-f 1.25", "slab_geometry_auto", "no");
    shows("-n 32", "slab_geometry_auto", "no");
    shows("-o slab_sizes=96-200-1000", "slab_geometry_auto", "no");
    shows("-o like_memcached", "slab_geometry_auto", "no");
    shows("-o no_modern", "slab_geometry_auto", "no");
    shows("-o no_slab_reassign", "slab_geometry_auto", "no");
    shows("-o slab_automove=0", "slab_geometry_auto", "no");
    shows("-o slab_automove=2", "slab_geometry_auto", "yes");
    shows("--store=heap", "slab_geometry_auto", "no");
    shows("-o no_slab_geometry_auto", "slab_geometry_auto", "no");
    shows("-f 1.5 -o slab_geometry_auto", "slab_geometry_auto", "yes");
    shows("-o like_memcached,slab_geometry_auto", "slab_geometry_auto", "yes");
    shows("-o slab_geometry_auto,like_memcached", "slab_geometry_auto", "no");
    shows("-o no_like_memcached", "slab_geometry_auto", "yes");
}

static void test_bad_values_are_refused(void) {
    refuses("-p 70000", "-p wants a whole number from -1 to 65535, not \"70000\"");
    refuses("-p 80x", "-p wants a whole number from -1 to 65535, not \"80x\"");
    refuses("-p", "-p needs a value");
    refuses("--port", "--port needs a value");
    refuses("-p -", "-p wants a whole number from -1 to 65535, not \"-\"");
    refuses("-t 99999999999999999999", "-t wants a whole number from 1 to 128, not \"99999999999999999999\"");
    refuses("-t 0", "-t wants a whole number from 1 to 128, not \"0\"");
    refuses("-t 129", "-t wants a whole number from 1 to 128, not \"129\"");
    refuses("-c 0", "-c wants a whole number from 1 to 1000000, not \"0\"");
    refuses("-R 0", "-R wants a whole number from 1 to 1000000, not \"0\"");
    refuses("-f 1", "-f wants a number from 1.01 to 100, not \"1\"");
    refuses("-f nan", "-f wants a number from 1.01 to 100, not \"nan\"");
    refuses("-a 999", "-a wants an octal number from 0 to 777, not \"999\"");
    refuses("-m 0", "-m wants a number of megabytes, or one with k, m, g or t, from 2m to 4t, auto or 1% to 100%, not \"0\"");
    refuses("-m 99999999999999999999",
            "-m wants a number of megabytes, or one with k, m, g or t, from 2m to 4t, auto or 1% to 100%, not \"99999999999999999999\"");
    refuses("-m -5", "-m wants a number of megabytes, or one with k, m, g or t, from 2m to 4t, auto or 1% to 100%, not \"-5\"");
    refuses("-I 1023", "-I wants a number of bytes, or one with k, m, g or t, from 1k to 1g, not \"1023\"");
    refuses("-I 2x", "-I wants a number of bytes, or one with k, m, g or t, from 1k to 1g, not \"2x\"");
    refuses("-m 3 -I 2m", "-I (2097152 bytes) must be at most half of -m (3145728 bytes)");
    refuses("-I 1500k", "-I (1536000 bytes) must be a multiple of slab_chunk_max (524288 bytes)");
    refuses("-I 1024", "slab_chunk_max (524288 bytes) must not be larger than -I (1024 bytes)");
    refuses("-o slab_chunk_max=96 -I 192k", "slab_chunk_max (98304 bytes) must divide a page of 1048576 bytes");
    refuses("-n 524288", "-n (524288 bytes) must be smaller than slab_chunk_max (524288 bytes)");
    refuses("-D ab", "-D wants a single character, not \"ab\"");
    refuses("--partitions 12", "--partitions (12) must be a power of two");
    refuses("-o foo", "-o foo is not an option");
    refuses("-o no_foo", "-o no_foo is not an option");
    refuses("-o ,", "-o  is not an option");
    refuses("-o modern,,idle_timeout=5", "-o  is not an option");
    refuses("-o hot_lru_pct", "-o hot_lru_pct needs a value");
    refuses("-o no_hot_lru_pct", "-o no_hot_lru_pct cannot be turned off");
    refuses("-o hashpower=11", "-o hashpower wants a whole number from 12 to 32, not \"11\"");
    refuses("-o slab_automove=3", "-o slab_automove wants 0, 1, 2 or one of off|ratio|eviction|random|lra|lrc|utility|lua:NAME, not \"3\"");
    refuses("-o hot_lru_pct=50,warm_lru_pct=40", "hot_lru_pct (50) and warm_lru_pct (40) must not exceed 80 together");
    refuses("-o hash_algorithm=crc", "-o hash_algorithm wants one of murmur3|jenkins|xxh3, not \"crc\" "
            "(accepted without effect: the hash is always xxh3; with like_memcached `stats settings` shows the name given)");
    refuses("-o like_memcached --store=heap", "like_memcached needs --store=slab, not heap");
    refuses("--policy mru", "--policy wants one of slru|lru|bag|fifo|clock|clock2|clock3|sieve|s3fifo|s3skip|s3wide|tinylfu|none|auto|s3auto, not \"mru\"");
    refuses("-o track_sizes=maybe", "-o track_sizes wants yes or no, not \"maybe\"");
    refuses("-m\1""64\1-c\1""1024", "-m wants a number of megabytes, or one with k, m, g or t, from 2m to 4t, auto or "
            "1% to 100%, not \"64 -c 1024\"; write each option as a word of its own");
    refuses("-c 5\1-t\1""4", "-c wants a whole number from 1 to 1000000, not \"5 -t 4\"; write each option as a word of its own");
    refuses("--threads\1""4\1-m\1""64", "--threads 4 -m 64 is not an option; write each option as a word of its own");
    refuses("-o modern\1-m\1""64", "-o modern -m 64 is not an option; write each option as a word of its own");
    refuses("--check-config -kq", "-q is not an option");
    refuses("-Q", "-Q is not an option");
    refuses("--quux", "--quux is not an option");
    refuses("--daemon=yes", "--daemon=yes takes no value");
}

/* A value that needs no other option. NULL: the row takes none, or is refused with any. */
static const char *sample_of(const struct setting *row) {
    static char text[64];
    switch ((enum setting_type)row->type) {
    case SETTING_INT:
    case SETTING_RATIO:
    case SETTING_RATIO3:
        snprintf(text, sizeof text, "%g", row->default_number > row->min ? row->default_number : row->min);
        return text;
    case SETTING_BYTES:
    case SETTING_KILOBYTES:
    case SETTING_MEGABYTES:
        setting_say_bytes(text, row->default_number);
        return text;
    case SETTING_OCTAL:
        return "770";
    case SETTING_TEXT:
        return strcmp(row->field, "config") == 0 ? "/dev/null" : strcmp(row->field, "slab_sizes") == 0 ? "96-200" : "x";
    case SETTING_CHOICE:
        snprintf(text, sizeof text, "%.*s", (int)strcspn(row->unit, "|"), row->unit);
        return text;
    case SETTING_MODE:
        return "2";
    case SETTING_LIST:
        return "127.0.0.1";
    case SETTING_ACCEPTED:
        return "1";
    case SETTING_ABSENT:
        return row->default_text;
    case SETTING_FLAG:
    case SETTING_NEGATED:
    case SETTING_NEGSWITCH:
    case SETTING_COUNT:
    case SETTING_ACTION:
        return NULL;
    }
    return NULL;
}

enum { FORMS = 5 };

/* Writes the row's option with a value in one of five forms; "\1" is a blank within a word. False: the row has not
 * that form. */
static bool line_of(const struct setting *row, int form, const char *before, const char *value, const char *behind,
                    char to[256]) {
    bool extended = row->flag == OPT_EXTENDED, letter = row->flag && !extended, is_long = row->name && !extended;
    if (!(form < 2 ? letter : form < 4 ? is_long : extended)) {
        return false;
    }
    if (form < 2) {
        snprintf(to, 256, "-%c%s%s%s%s", row->flag, form == 0 ? "" : " ", before, value, behind);
    } else if (form < 4) {
        snprintf(to, 256, "--%s%s%s%s%s", row->name, form == 2 ? "=" : " ", before, value, behind);
    } else {
        snprintf(to, 256, "-o%s%s%s=%s%s%s", before, row->name, behind, before, value, behind);
    }
    return true;
}

static bool is_read(const struct setting *row, const char *line, char shown_as[SETTING_LIST_BYTES]) {
    shown_as[0] = '\0';
    bool is = parse_words(line) == OPTIONS_RUN;
    if (is && row->type != SETTING_ACCEPTED && row->type != SETTING_ABSENT) {
        setting_format(&s, row, shown_as, SETTING_LIST_BYTES);
    }
    free(s.config_text);
    return is;
}

static void test_white_space_around_values_is_cut(void) {
    static const char *const around[][2] = {{"\1", ""}, {"\t", ""}, {"", "\1"}, {"", "\n"}, {"\n\1", "\t\r\n"}};
    char line[256], plain[SETTING_LIST_BYTES], padded[SETTING_LIST_BYTES];
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        const char *value = sample_of(row);
        /* a device is no file of options, but the sentence shows its path */
        const bool is_file = strcmp(row->field, "config") == 0;
        for (int form = 0; value && form < FORMS; form++) {
            if (!line_of(row, form, "", value, "", line)) {
                continue;
            }
            bool alike = is_read(row, line, plain) || is_file;
            for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
                line_of(row, form, around[i][0], value, around[i][1], line);
                bool read = is_read(row, line, padded);
                alike &= is_file ? strstr(why, "--config /dev/null cannot") == why : read && strcmp(plain, padded) == 0;
            }
            ok(alike, "%s of the row %s in form %d is read alike with white space around: %s", value, row->field, form, why);
        }
    }
    shows("-o \1slab_automove\1=\1"
          "2,\1track_sizes\1", "slab_automove", "2");
    shows("-o \1slab_automove\1=\1"
          "2,\1track_sizes\1", "track_sizes", "yes");
    shows("-l 127.0.0.2,\1[::1]:5;127.0.0.3", "inter", "127.0.0.2,,[::1]:5,127.0.0.3");
    refuses("-D \1", "-D wants a character");
}

static void test_numbers_may_be_written_as_people_and_templates_do(void) {
    static const char *const megabytes[] = {"512", "+512", "0512", "512MB", "512Mi", "512MiB", "512mb", "512\1MB", "512.0", "0.5g",
                                            "5.12e+02", "524288K", "524288kb"};
    for (size_t i = 0; i < sizeof megabytes / sizeof *megabytes; i++) {
        char line[64];
        snprintf(line, sizeof line, "-m %s", megabytes[i]);
        shows(line, "maxbytes", "536870912");
    }
    shows("-m 512.5", "maxbytes", "537395200");
    shows("-I 1.5m", "item_size_max", "1572864");
    shows("-t 2.0", "num_threads", "2");
    shows("-t +2", "num_threads", "2");
    shows("-c 1.6384e+04", "maxconns", "16384");
    shows("-o idle_timeout=60.0", "idle_timeout", "60");
    refuses("-t 2.5", "-t wants a whole number from 1 to 128, not \"2.5\"");
    refuses("-c 4k", "-c wants a whole number from 1 to 1000000, not \"4k\"");
    refuses_each((const char *const[]){"-m 512MX", "-m 512ib", "-m 512b", "-m MB", "-m .", "-m nan", "-m inf", "-m infinity", "-m 0x40",
                                       "-m 0X40k", "-m 512\1-c\1" "100", NULL});
}

static void test_numbers_that_are_not_decimal_or_become_zero_are_refused(void) {
    refuses_each((const char *const[]){"-t 0x2", "-c 0X10", "-p 0x2b67", "-I 0x100000", "-f 0x2", "-f infinity", "-o idle_timeout=0x3c",
                                      "-o idle_timeout=1e-999", "-o hot_lru_pct=0x14", "-o process_memory=0.0000001",
                                      "-o process_memory=1e-999", "-o read_buf_mem_limit=1e-9", "-o read_buf_mem_limit=0x4",
                                      "-o read_buf_mem_limit=0.0001k", "-o process_memory=infinity", NULL});
    shows("-o read_buf_mem_limit=0.0", "read_buf_mem_limit", "0");
    shows("-o read_buf_mem_limit=1e-6", "read_buf_mem_limit", "1");
}

static const char *warned_of(void) { /* the option that is told to have an empty value */
    for (size_t i = 0; i < SETTING_ROWS; i++) {
        if (s.given_empty[i]) {
            return setting_table[i].name;
        }
    }
    return NULL;
}

static void test_an_empty_value_is_none_where_memcached_serves_with_it(void) {
    static const char *const taken[][2] = {{"-p\1", "port"}, {"-U\1", "udp-port"}, {"-b\1", "listen-backlog"}, {"-a\1", "unix-mask"},
                                           {"-l\1", "listen"}, {"-P\1", "pidfile"}, {"-u\1", "user"}, {"--port=", "port"},
                                           {"-o idle_timeout=", "idle_timeout"}, {"-o slab_automove=", "slab_automove"},
                                           {"-l;;", "listen"}, {"-l,", "listen"}, {"-l\1;\t,\1", "listen"}, {"--listen=;", "listen"}};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct settings usual;
        parse_words("");
        usual = s;
        accepts(taken[i][0]);
        is_str(warned_of(), taken[i][1], "… and noted");
        memcpy(s.given_empty, usual.given_empty, sizeof s.given_empty);
        ok(memcmp(&s, &usual, sizeof s) == 0, "… and all settings are as without it");
    }
    refuses_each((const char *const[]){"-m\1", "-c\1", "-t\1", "-I\1", "-f\1", "-n\1", "-R\1", "-B\1", "-D\1", "-Y\1",
                                                        "-e\1", "-s\1", "-o hot_lru_pct=", NULL});
}

static void test_flags_take_what_memcached_ignores(void) {
    shows("-o no_lru_crawler=1", "lru_crawler", "no");
    shows("-o no_slab_automove=yes,no_maxconns_fast=true", "slab_automove", "0");
    refuses("-o no_lru_crawler=0", "-o no_lru_crawler takes no value");
    shows("-o slab_reassign=,track_sizes=", "track_sizes", "yes");
    accepts("-o resp_obj_mem_limit");
    shows("--verbose", "verbosity", "1");
    shows("--verbose=2", "verbosity", "2");
    shows("-v --verbose", "verbosity", "2");
}

static void test_udp_is_left_out_beside_tls_and_a_unix_socket(void) {
    shows("-U 11211 -Z -o ssl_chain_cert=c", "udpport", "0");
    ok(s.udp_in_vain && s.ssl_enabled, "and noted");
    shows("-U 11211 -s /tmp/s", "udpport", "0");
    ok(s.udp_in_vain, "and noted");
    accepts("-U 0 -Z -o ssl_chain_cert=c");
    ok(!s.udp_in_vain, "no UDP was asked for");
}

static void test_a_port_of_udp_is_that_of_tcp(void) {
    parse_words("-U 11300");
    ok(s.udpport == 11300 && s.port == 11300, "where -p is not given");
    parse_words("-U 11300 -p 11301");
    ok(s.udpport == 11300 && s.port == 11301, "but not where it is");
    parse_words("-U 0");
    ok(s.udpport == 0 && s.port == 11211, "and not without UDP");
}

static void test_words_of_no_option_are_noted(void) {
    parse_words("-t 3");
    ok(s.stray == NULL, "there is no such word");
    parse_words("stray -t 3 words");
    is_str(s.stray, "stray", "the first is noted");
    ok(s.stray_count == 2 && s.threads == 3, "and how many there are; options behind it are read");
}

static void test_options_of_absent_features_say_so(void) {
    shows("-U 11211", "udpport", "11211");
    shows("-S", "auth_enabled_sasl", "yes");
    shows("-S", "binding_protocol", "binary");
    shows("-S -Y users", "binding_protocol", "auto-negotiate");
    refuses("-S -B ascii", "-B ascii cannot be used with -S, whose users log in by packets");
    refuses("-S -U 11211", "-U does not go with -S: datagrams carry no login and no TLS");
    shows("-Y users", "auth_enabled_ascii", "users");
    is_str(settings_auth_file(&s), "users", "… from which users are read");
    shows("", "auth_enabled_ascii", "no");
    ok(settings_auth_file(&s) == NULL, "… and nobody has to log in");
    refuses("-o ext_path=/k:1g", "-o ext_path cannot be used: storage on flash is not built");
    refuses("-o ext_path=/x:1G", "-o ext_path cannot be used: storage on flash is not built");
    refuses("-o proxy_config=x.lua", "-o proxy_config cannot be used: there is no proxy");
    shows("-e /dev/shm/x", "memory_file", "/dev/shm/x");
    refuses("-e /dev/shm/x --store=heap", "-e needs --store=slab: items of --store=heap cannot be kept in a file");
    refuses("-N 3", "-N cannot be used: threads by NAPI id are not built");
    refuses("-Y f -B binary", "-B binary cannot be used with -Y, whose users log in by a line of text");
    shows("-o drop_privileges", "drop_privileges", "yes");
    shows("-o drop_privileges,no_drop_privileges", "drop_privileges", "no");
    accepts("-o drop_privileges,relaxed_privileges");
}

static void test_actions(void) {
    is(parse_words("-h"), OPTIONS_HELP, "-h asks for help");
    is(parse_words("--help"), OPTIONS_HELP, "--help too");
    is(parse_words("-V"), OPTIONS_VERSION, "-V asks for the version");
    is(parse_words("-i"), OPTIONS_LICENSE, "-i asks for the licence");
    is(parse_words("--describe"), OPTIONS_DESCRIBE, "--describe asks for the table");
    is(parse_words("-m 64 -h"), OPTIONS_HELP, "also behind other options");
}

static void test_lists_are_bounded(void) {
    char line[2048] = "-l ";
    memset(line + 3, 'a', 1100);
    line[1103] = '\0';
    refuses(line, "-l holds at most 1022 bytes in all");
    shows("-l 127.0.0.1 -l ::1", "inter", "127.0.0.1,::1");
}

static void test_listeners_may_be_named_as_in_memcached(void) {
    static const struct {
        const char     *address;
        enum listen_tls tls;
        enum role       role;
        enum listen_protocol protocol;
    } want[] = {{"127.0.0.1:1", LISTEN_TLS_AS_SET, ROLE_NONE, LISTEN_PROTOCOL_TEXT},
                {"*", LISTEN_TLS_NONE, ROLE_READ, LISTEN_PROTOCOL_AS_SET},
                {"h", LISTEN_TLS_NO_PEER, ROLE_ADMIN, LISTEN_PROTOCOL_BINARY},
                {"[::1]:5", LISTEN_TLS_PEER, ROLE_NONE, LISTEN_PROTOCOL_AUTO}};
    const char *rest = "tag[a]:proto[ascii]:127.0.0.1:1,notls:*,role=read,btls:proto[binary]:tag_b_:h,,role=admin,"
                       "proto[negotiating]:mtls:[::1]:5,";
    struct listen_entry e;
    for (unsigned i = 0; i < sizeof want / sizeof *want; i++) {
        is(listen_list_next(&rest, &e, why), 1, "address %u of a list is taken", i + 1);
        is_str(e.address, want[i].address, "… without the words before it");
        is(e.tls, want[i].tls, "… and with what they say of TLS");
        is(e.role, want[i].role, "… and with the role behind it");
        is(e.protocol, want[i].protocol, "… and with the protocol");
    }
    is(listen_list_next(&rest, &e, why), 0, "then the list ends");
    refuses("-l btls:127.0.0.1", "-l: notls:, btls: and mtls: want -Z, without which nothing is encrypted");
    refuses("-l 127.0.0.1,notls:127.0.0.1:2", "-l: notls:, btls: and mtls: want -Z, without which nothing is encrypted");
    refuses("-Z", "-Z wants a certificate: -o ssl_chain_cert=FILE, and ssl_key=FILE where that does not hold its key");
    refuses("-Z -p 0 -o ssl_chain_cert=c", "-Z wants a TCP port: there is no TLS over a UNIX socket");
    refuses("-Z -s /tmp/s -o ssl_chain_cert=c", "-Z wants a TCP port: there is no TLS over a UNIX socket");
    shows("-Z -o ssl_chain_cert=c -l notls:127.0.0.1", "ssl_enabled", "yes");
    shows("-o ssl_min_version=3", "ssl_min_version", "tlsv1.3");
    shows("-o ssl_min_version=tlsv1.1", "ssl_min_version", "tlsv1.1");
    refuses("-l proto[proxy]:*", "-l: a listener speaks proto[ascii], proto[binary] or proto[negotiating]; there is no proxy");
    refuses("-l tag[123456789]:*", "-l: a tag has 1 to 8 characters");
    refuses("-l 127.0.0.1,role=reader", "-l: a role is read, write or admin");
    refuses("-l 127.0.0.1,role=", "-l: a role is read, write or admin");
    refuses("-l role=read,127.0.0.1", "-l: role= stands behind an address and a comma");
    refuses("-l 127.0.0.1,role=read,role=write", "-l: role= stands behind an address and a comma");
    refuses("-l tag[]:*", "-l: a tag has 1 to 8 characters");
    refuses("-l tag[abc", "-l: a tag has 1 to 8 characters");
    shows("-l tag[x]:127.0.0.1", "inter", "tag[x]:127.0.0.1");
}

static void test_stores(void) {
    shows("--store=blocks --block-size 128", "slab_automove", "0");
    is_str(s.store, "blocks", "… and items live in blocks");
    is(s.block_size, 128, "… of the size asked for");
    shows("-o store=heap,block_size=1k", "slab_automove", "0");
    is_str(s.store, "heap", "there is a heap store");
    is(s.block_size, 1024, "both are sub-options of -o too");
    shows("-o store=slab", "slab_automove", "utility");
    is(parse_words("--store=disk"), OPTIONS_BAD, "`--store=disk` is refused");
    ok(strstr(why, "--store wants one of slab|heap|blocks") == why, "… and the stores there are are named: %s", why);
    is(parse_words("--index=tree"), OPTIONS_BAD, "`--index=tree` is refused");
    char kinds[100] = "--index wants one of ";
    for (unsigned i = 0; index_kinds[i] != NULL; i++) {
        strcat(strcat(kinds, i > 0 ? "|" : ""), index_kinds[i]->name);
    }
    ok(strncmp(why, kinds, strlen(kinds)) == 0, "… and the kinds there are are named: %s", why);
    refuses("--block-size=63",
            "--block-size wants a number of bytes, or one with k, m, g or t, from 64 to 64k, not \"63\"");
    refuses("--store=blocks -o slab_sizes=100-200", "slab_sizes needs --store=slab, not blocks");
}

static void test_slab_sizes(void) {
    struct slab_sizes sizes;
    ok(slab_sizes_parse("96-200-1000", 524288, 63, &sizes, why) && sizes.count == 3 && sizes.bytes[2] == 1000,
       "sizes are read in order");
    ok(!slab_sizes_parse("47", 524288, 63, &sizes, why), "a size below 48 bytes is refused");
    ok(!slab_sizes_parse("100-104", 524288, 63, &sizes, why), "sizes closer than 8 bytes are refused");
    ok(!slab_sizes_parse("200-100", 524288, 63, &sizes, why), "descending sizes are refused");
    ok(!slab_sizes_parse("96-524288", 524288, 63, &sizes, why), "a size as large as slab_chunk_max is refused");
    ok(!slab_sizes_parse("96--200", 524288, 63, &sizes, why), "an empty size is refused");
    ok(!slab_sizes_parse("96,200", 524288, 63, &sizes, why), "another separator is refused");
    ok(!slab_sizes_parse("", 524288, 63, &sizes, why), "nothing is refused");
    char many[1024] = "";
    for (int i = 0; i < 63; i++) {
        snprintf(many + strlen(many), sizeof many - strlen(many), "%s%d", i ? "-" : "", 100 + 8 * i);
    }
    ok(!slab_sizes_parse(many, 524288, 63, &sizes, why), "more sizes than classes are refused");
    refuses("-o slab_sizes=99999999999999999999",
            "slab_sizes: 18446744073709551615 is not from 48 to under slab_chunk_max (524288 bytes)");
    refuses("-o slab_sizes=9", "slab_sizes: 9 is not from 48 to under slab_chunk_max (524288 bytes)");
}

/* Names are looked up by all their spellings, so no two rows may share one. */
static void test_names_are_unique(void) {
    for (int i = 0; i < SETTING_ROWS; i++) {
        const struct setting *row = &setting_table[i];
        bool unique = true;
        for (int k = 0; k < SETTING_ROWS; k++) {
            const struct setting *other = &setting_table[k];
            if (k != i) {
                unique &= strcmp(row->field, other->field) != 0;
                unique &= !(row->flag > OPT_EXTENDED && row->flag == other->flag);
                unique &= !(row->name && other->name && strcmp(row->name, other->name) == 0);
                unique &= !(row->stat && other->stat && strcmp(row->stat, other->stat) == 0);
            }
        }
        ok(unique, "%s shares no name or letter with another row", row->field);
    }
}

static void test_a_refused_value_changes_nothing(void) {
    struct settings before, after;
    settings_init(&before);
    after = before;
    for (int i = 0; i < SETTING_ROWS; i++) {
        const struct setting *row = &setting_table[i];
        if (row->type != SETTING_TEXT && row->type != SETTING_LIST && row->type != SETTING_ACCEPTED &&
            row->type != SETTING_ACTION) {
            ok(!setting_set(&after, row, "!", false, why), "%s refuses nonsense", row->field);
        }
    }
    is(memcmp(&before, &after, sizeof before), 0, "and no byte of the settings has changed");
}

static void test_describe_has_a_row_of_eleven_fields_for_every_option(void) {
    char  *text = NULL;
    size_t bytes = 0;
    FILE  *to = open_memstream(&text, &bytes);
    settings_describe(to);
    fclose(to);
    int lines = 0, right = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        int tabs = 0;
        for (const char *c = line; *c; c++) {
            tabs += *c == '\t';
        }
        lines++;
        right += tabs == 10;
    }
    is(lines, SETTING_ROWS, "--describe has a line for every row");
    is(right, SETTING_ROWS, "each of eleven fields");
    free(text);
}

int main(void) {
    test_defaults_are_memcacheds();
    test_values_are_read_and_shown();
    test_extended_options();
    test_who_asks_for_chunk_sizes_or_still_pages_keeps_them();
    test_bad_values_are_refused();
    test_white_space_around_values_is_cut();
    test_numbers_may_be_written_as_people_and_templates_do();
    test_numbers_that_are_not_decimal_or_become_zero_are_refused();
    test_an_empty_value_is_none_where_memcached_serves_with_it();
    test_flags_take_what_memcached_ignores();
    test_udp_is_left_out_beside_tls_and_a_unix_socket();
    test_a_port_of_udp_is_that_of_tcp();
    test_words_of_no_option_are_noted();
    test_options_of_absent_features_say_so();
    test_actions();
    test_lists_are_bounded();
    test_listeners_may_be_named_as_in_memcached();
    test_stores();
    test_slab_sizes();
    test_names_are_unique();
    test_a_refused_value_changes_nothing();
    test_describe_has_a_row_of_eleven_fields_for_every_option();
    return tap_done();
}
