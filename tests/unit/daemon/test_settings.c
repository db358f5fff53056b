/* The table of options and the command line that it parses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index/index.h"
#include "server/config/listen_list.h"
#include "server/config/options.h"
#include "tap.h"

static struct settings s;
static char why[OPTIONS_WHY_BYTES];

/* Parses a command line given as one text; words are cut at spaces, "\1" means a space within one. */
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
    enum options_action action = parse_words(line);
    is_str(action == OPTIONS_BAD ? why : "taken", sentence, "`%s` is refused in one sentence", line);
}

/* Whatever the words. NULL ends the lines. */
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
    enum options_action action = parse_words(line);
    is_str(action == OPTIONS_RUN ? shown(name) : why, value, "`%s`: %s is %s", line, name, value);
}

/* Rows: a line, a setting and its value; or a line and the reason of its refusal. */
#define SHOWS(...) shows_each((const char *const[][3]){__VA_ARGS__, {NULL}})
#define REFUSES(...) refuses_with((const char *const[][2]){__VA_ARGS__, {NULL}})

static void shows_each(const char *const rows[][3]) {
    for (; rows[0][0] != NULL; rows++) {
        shows(rows[0][0], rows[0][1], rows[0][2]);
    }
}

static void refuses_with(const char *const rows[][2]) {
    for (; rows[0][0] != NULL; rows++) {
        refuses(rows[0][0], rows[0][1]);
    }
}

TEST(test_defaults_are_memcacheds) {
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
    is_str(shown("slab_automove"), "utility", "pages go by their gain, not by memcached's rule of ages");
    is_str(shown("inter"), "127.0.0.1", "listens on the loopback interface by default");
}

TEST(test_values_are_read_and_shown) {
    SHOWS({"-m 100", "maxbytes", "104857600"}, {"-m 1g", "maxbytes", "1073741824"}, {"--memory-limit=128", "maxbytes", "134217728"},
          {"-p 0", "tcpport", "0"}, {"-p -1", "tcpport", "-1"}, {"-a 0770", "umask", "770"}, {"-a 750", "umask", "750"},
          {"-I 2m", "item_size_max", "2097152"}, {"-I 524288", "item_size_max", "524288"}, {"-f 1.5", "growth_factor", "1.50"},
          {"-M", "evictions", "off"}, {"-C", "cas_enabled", "no"}, {"-F -X", "flush_enabled", "no"}, {"-F", "disable-watch", "no"},
          {"-W", "disable-watch", "yes"}, {"-vv", "verbosity", "2"}, {"-vvvvvv", "verbosity", "3"},
          {"-t 7", "num_threads_per_udp", "7"}, {"-D /", "stat_key_prefix", "/"}, {"-D /", "detail_enabled", "yes"},
          {"-B auto", "binding_protocol", "auto-negotiate"}, {"-B ascii", "binding_protocol", "ascii"},
          {"-l 127.0.0.2", "inter", "127.0.0.2"}, {"-l 127.0.0.2 -l [::1]:5,127.0.0.3", "inter", "127.0.0.2,[::1]:5,127.0.0.3"},
          {"-s /tmp/x", "domain_socket", "/tmp/x"}, {"-U 0", "udpport", "0"});
}

TEST(test_extended_options) {
    SHOWS({"-o no_maxconns_fast", "maxconns_fast", "no"}, {"-o maxconns_fast=no", "maxconns_fast", "no"},
          {"-o slab_automove", "slab_automove", "1"}, {"-o slab_automove=2,slab_automove_window=30", "slab_automove_window", "30"},
          {"-o no_slab_automove", "slab_automove", "0"}, {"-o slab_chunk_max=128", "slab_chunk_max", "131072"},
          {"-o slab_chunk_max=128k", "slab_chunk_max", "131072"}, {"-o no_chunked_items", "slab_chunk_max", "1048576"},
          {"-o watcher_logbuf_size=512", "watcher_logbuf_size", "524288"}, {"-o temporary_ttl=30", "temp_lru", "yes"},
          {"-o temporary_ttl=61", "temp_lru", "yes"}, {"-o temporary_ttl=-1", "temp_lru", "no"},
          {"-o no_lru_maintainer", "lru_segmented", "no"}, {"--policy lru", "lru_segmented", "no"},
          {"-o no_lru_crawler,track_sizes", "track_sizes", "yes"}, {"--extended track_sizes", "track_sizes", "yes"},
          {"-o hashpower=20", "hashpower_init", "20"}, {"-o hash_algorithm=murmur3", "hash_algorithm", "xxh3"},
          {"-o no_modern", "hash_algorithm", "xxh3"}, {"-o like_memcached", "hash_algorithm", "murmur3"},
          {"-o like_memcached,hash_algorithm=jenkins", "hash_algorithm", "jenkins"}, {"-o like_memcached", "slab_automove", "1"},
          {"-o like_memcached", "policy", "slru"}, {"-o no_like_memcached", "policy", "s3auto"},
          {"-o policy=lru,like_memcached", "policy", "slru"}, {"-o like_memcached --policy=lru", "policy", "lru"},
          {"-o sample_rate=0", "sample_rate", "0.000"}, {"-o sample_rate=1", "sample_rate", "1.000"},
          {"-o sample_rate=0.0005", "sample_rate", "0.0005"}, {"-o sample_rate=0.000000001", "sample_rate", "0.000000001"},
          {"-o sample_rate=0.00000000001", "sample_rate", "1e-11"}, {"-o sample_rate=1e-300", "sample_rate", "1e-300"});
    accepts("-o sample_rate=0.1");
    is_str(settings_policy(&s), "s3auto", "s3auto is itself while nobody sets numbers of s3fifo");
    accepts("-o s3fifo_small_percent=20");
    is_str(settings_policy(&s), "s3fifo", "it is s3fifo with numbers that are set,");
    accepts("-o s3fifo_small_percent=10");
    is_str(settings_policy(&s), "s3auto", "unless they are the defaults");
    shows("-o no_modern", "slab_reassign", "no");
    is_str(shown("lru_segmented"), "no", "… nor a segmented policy");
    is_str(shown("slab_chunk_max"), "1048576", "… nor chains");
    is_str(shown("maxconns_fast"), "no", "… and connections wait");
    is_str(shown("slab_automove"), "0", "… and nothing moves pages");
    accepts("-o modern,no_hashexpand,resp_obj_mem_limit=4,inline_ascii_resp,no_inline_ascii_resp,no_drop_privileges");
    accepts("-o modern,idle_timeout=5,");
    accepts("-o tail_repair_time=30,slab_automove_freeratio=0.02,read_buf_mem_limit=16");
}

TEST(test_given_chunk_sizes_or_fixed_pages_stay) {
    SHOWS({"-m 64", "slab_geometry_auto", "yes"}, {"-f 1.25", "slab_geometry_auto", "no"}, {"-n 32", "slab_geometry_auto", "no"},
          {"-o slab_sizes=96-200-1000", "slab_geometry_auto", "no"}, {"-o like_memcached", "slab_geometry_auto", "no"},
          {"-o no_modern", "slab_geometry_auto", "no"}, {"-o no_slab_reassign", "slab_geometry_auto", "no"},
          {"-o slab_automove=0", "slab_geometry_auto", "no"}, {"-o slab_automove=2", "slab_geometry_auto", "yes"},
          {"--store=heap", "slab_geometry_auto", "no"}, {"-o no_slab_geometry_auto", "slab_geometry_auto", "no"},
          {"-f 1.5 -o slab_geometry_auto", "slab_geometry_auto", "yes"},
          {"-o like_memcached,slab_geometry_auto", "slab_geometry_auto", "yes"},
          {"-o slab_geometry_auto,like_memcached", "slab_geometry_auto", "no"},
          {"-o no_like_memcached", "slab_geometry_auto", "yes"});
}

TEST(test_bad_values_are_refused) {
    REFUSES({"-p 70000", "-p wants a whole number from -1 to 65535, not \"70000\""},
            {"-p 80x", "-p wants a whole number from -1 to 65535, not \"80x\""}, {"-p", "-p needs a value"},
            {"--port", "--port needs a value"}, {"-p -", "-p wants a whole number from -1 to 65535, not \"-\""},
            {"-t 99999999999999999999", "-t wants a whole number from 1 to 128, not \"99999999999999999999\""},
            {"-t 0", "-t wants a whole number from 1 to 128, not \"0\""},
            {"-c 0", "-c wants a whole number from 1 to 1000000, not \"0\""},
            {"-f 1", "-f wants a number from 1.01 to 100, not \"1\""},
            {"-f nan", "-f wants a number from 1.01 to 100, not \"nan\""},
            {"-a 999", "-a wants an octal number from 0 to 777, not \"999\""},
            {"-m 0", "-m wants a number of megabytes, or one with k, m, g or t, from 2m to 4t, auto or 1% to 100%, not \"0\""},
            {"-m 99999999999999999999", "-m wants a number of megabytes, or one with k, m, g or t, from 2m to 4t, auto or 1% to 100%, not \"99999999999999999999\""},
            {"-I 1023", "-I wants a number of bytes, or one with k, m, g or t, from 1k to 1g, not \"1023\""},
            {"-I 2x", "-I wants a number of bytes, or one with k, m, g or t, from 1k to 1g, not \"2x\""},
            {"-m 3 -I 2m", "-I (2097152 bytes) must be at most half of -m (3145728 bytes)"},
            {"-I 1500k", "-I (1536000 bytes) must be a multiple of slab_chunk_max (524288 bytes)"},
            {"-I 1024", "slab_chunk_max (524288 bytes) must not be larger than -I (1024 bytes)"},
            {"-o slab_chunk_max=96 -I 192k", "slab_chunk_max (98304 bytes) must divide a page of 1048576 bytes"},
            {"-n 524288", "-n (524288 bytes) must be smaller than slab_chunk_max (524288 bytes)"},
            {"-D ab", "-D wants a single character, not \"ab\""}, {"--partitions 12", "--partitions (12) must be a power of two"},
            {"-o foo", "-o foo is not an option"}, {"-o no_foo", "-o no_foo is not an option"}, {"-o ,", "-o  is not an option"},
            {"-o modern,,idle_timeout=5", "-o  is not an option"}, {"-o hot_lru_pct", "-o hot_lru_pct needs a value"},
            {"-o no_hot_lru_pct", "-o no_hot_lru_pct cannot be turned off"},
            {"-o hashpower=11", "-o hashpower wants a whole number from 12 to 32, not \"11\""},
            {"-o slab_automove=3", "-o slab_automove wants 0, 1, 2 or one of off|ratio|eviction|random|lra|lrc|utility|lua:NAME, not \"3\""},
            {"-o hot_lru_pct=50,warm_lru_pct=40", "hot_lru_pct (50) and warm_lru_pct (40) must not exceed 80 together"});
    refuses("-o hash_algorithm=crc", "-o hash_algorithm wants one of murmur3|jenkins|xxh3, not \"crc\" "
            "(accepted without effect: the hash is always xxh3; with like_memcached `stats settings` shows the name given)");
    REFUSES({"-o like_memcached --store=heap", "like_memcached needs --store=slab, not heap"},
            {"--policy mru", "--policy wants one of slru|lru|bag|fifo|clock|clock2|clock3|sieve|s3fifo|s3skip|s3wide|s3loop|tinylfu|none|s3auto, not \"mru\""},
            {"-o track_sizes=maybe", "-o track_sizes wants yes or no, not \"maybe\""});
    refuses("-m\1""64\1-c\1""1024", "-m wants a number of megabytes, or one with k, m, g or t, from 2m to 4t, auto or "
            "1% to 100%, not \"64 -c 1024\"; write each option as a word of its own");
    REFUSES({"-c 5\1-t\1""4", "-c wants a whole number from 1 to 1000000, not \"5 -t 4\"; write each option as a word of its own"},
            {"--threads\1""4\1-m\1""64", "--threads 4 -m 64 is not an option; write each option as a word of its own"},
            {"-o modern\1-m\1""64", "-o modern -m 64 is not an option; write each option as a word of its own"},
            {"--check-config -kq", "-q is not an option"}, {"--quux", "--quux is not an option"},
            {"--daemon=yes", "--daemon=yes takes no value"});
}

/* Each form of an option, for each type of value; "@" is where blanks may be. */
TEST(test_white_space_around_values_is_cut) {
    static const char *const rows[][3] = {
        {"-t @3@", "num_threads", "3"}, {"-t@3@", "num_threads", "3"}, {"--threads=@3@", "num_threads", "3"}, {"-o@idle_timeout@=@7@", "idle_timeout", "7"},
        {"-m @100@", "maxbytes", "104857600"}, {"-I @2m@", "item_size_max", "2097152"}, {"-o slab_chunk_max=@128@", "slab_chunk_max", "131072"},
        {"-a @750@", "umask", "750"}, {"-f @1.5@", "growth_factor", "1.50"}, {"-s @/tmp/x@", "domain_socket", "/tmp/x"}, {"--policy @lru@", "policy", "lru"},
        {"-o slab_automove=@2@", "slab_automove", "2"}, {"-l @127.0.0.2@", "inter", "127.0.0.2"}, {"-o @slab_automove@=@2,@track_sizes@", "track_sizes", "yes"},
        {"-o resp_obj_mem_limit=@4@", "tcpport", "11211"}};
    static const char *const blanks[] = {"\1", "\t", "\n\1"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (size_t k = 0; k < sizeof blanks / sizeof *blanks; k++) {
            char line[128] = "";
            for (const char *c = rows[i][0]; *c != '\0'; c++) {
                snprintf(line + strlen(line), sizeof line - strlen(line), *c == '@' ? "%s" : "%.1s", *c == '@' ? blanks[k] : c);
            }
            shows(line, rows[i][1], rows[i][2]);
        }
    }
    shows("-l 127.0.0.2,\1[::1]:5;127.0.0.3", "inter", "127.0.0.2,,[::1]:5,127.0.0.3");
    refuses("-D \1", "-D wants a character");
}

TEST(test_numbers_may_be_written_as_people_and_templates_do) {
    static const char *const megabytes[] = {"512", "+512", "0512", "512MB", "512Mi", "512MiB", "512mb", "512\1MB", "512.0", "0.5g",
                                            "5.12e+02", "524288K", "524288kb"};
    for (size_t i = 0; i < sizeof megabytes / sizeof *megabytes; i++) {
        char line[64];
        snprintf(line, sizeof line, "-m %s", megabytes[i]);
        shows(line, "maxbytes", "536870912");
    }
    SHOWS({"-m 512.5", "maxbytes", "537395200"}, {"-I 1.5m", "item_size_max", "1572864"}, {"-t 2.0", "num_threads", "2"},
          {"-t +2", "num_threads", "2"}, {"-c 1.6384e+04", "maxconns", "16384"}, {"-o idle_timeout=60.0", "idle_timeout", "60"});
    REFUSES({"-t 2.5", "-t wants a whole number from 1 to 128, not \"2.5\""},
            {"-c 4k", "-c wants a whole number from 1 to 1000000, not \"4k\""});
    refuses_each((const char *const[]){"-m 512MX", "-m 512ib", "-m 512b", "-m MB", "-m .", "-m nan", "-m inf", "-m infinity", "-m 0x40",
                                       "-m 0X40k", "-m 512\1-c\1" "100", NULL});
}

TEST(test_numbers_that_are_not_decimal_or_become_zero_are_refused) {
    refuses_each((const char *const[]){"-t 0x2", "-c 0X10", "-p 0x2b67", "-I 0x100000", "-f 0x2", "-f infinity", "-o idle_timeout=0x3c",
                                      "-o idle_timeout=1e-999", "-o hot_lru_pct=0x14", "-o process_memory=0.0000001",
                                      "-o process_memory=1e-999", "-o read_buf_mem_limit=1e-9", "-o read_buf_mem_limit=0x4",
                                      "-o read_buf_mem_limit=0.0001k", "-o process_memory=infinity", NULL});
    SHOWS({"-o read_buf_mem_limit=0.0", "read_buf_mem_limit", "0"}, {"-o read_buf_mem_limit=1e-6", "read_buf_mem_limit", "1"});
}

static const char *warned_of(void) { /* the option with an empty value */
    for (size_t i = 0; i < SETTING_ROWS; i++) {
        if (s.given_empty[i]) {
            return setting_table[i].name;
        }
    }
    return NULL;
}

TEST(test_an_empty_value_is_none_where_memcached_serves_with_it) {
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

TEST(test_flags_accept_words_that_memcached_ignores) {
    SHOWS({"-o no_lru_crawler=1", "lru_crawler", "no"}, {"-o no_slab_automove=yes,no_maxconns_fast=true", "slab_automove", "0"});
    refuses("-o no_lru_crawler=0", "-o no_lru_crawler takes no value");
    shows("-o slab_reassign=,track_sizes=", "track_sizes", "yes");
    accepts("-o resp_obj_mem_limit");
    SHOWS({"--verbose", "verbosity", "1"}, {"--verbose=2", "verbosity", "2"}, {"-v --verbose", "verbosity", "2"});
}

TEST(test_udp_is_left_out_beside_tls_and_a_unix_socket) {
    shows("-U 11211 -Z -o ssl_chain_cert=c", "udpport", "0");
    ok(s.udp_in_vain && s.ssl_enabled, "and noted");
    shows("-U 11211 -s /tmp/s", "udpport", "0");
    ok(s.udp_in_vain, "and noted");
    accepts("-U 0 -Z -o ssl_chain_cert=c");
    ok(!s.udp_in_vain, "no UDP was requested");
}

TEST(test_a_port_of_udp_is_that_of_tcp) {
    parse_words("-U 11300");
    ok(s.udpport == 11300 && s.port == 11300, "where -p is not given");
    parse_words("-U 11300 -p 11301");
    ok(s.udpport == 11300 && s.port == 11301, "but not where it is");
    parse_words("-U 0");
    ok(s.udpport == 0 && s.port == 11211, "and not without UDP");
}

TEST(test_words_of_no_option_are_noted) {
    parse_words("-t 3");
    ok(s.stray == NULL, "there is no such word");
    parse_words("stray -t 3 words");
    is_str(s.stray, "stray", "the first is noted");
    ok(s.stray_count == 2 && s.threads == 3, "and how many there are; options behind it are read");
}

TEST(test_options_of_absent_features_say_so) {
    SHOWS({"-U 11211", "udpport", "11211"}, {"-S", "auth_enabled_sasl", "yes"}, {"-S", "binding_protocol", "binary"},
          {"-S -Y users", "binding_protocol", "auto-negotiate"});
    REFUSES({"-S -B ascii", "-B ascii cannot be used with -S, whose users log in by packets"},
            {"-S -U 11211", "-U does not go with -S: datagrams carry no login and no TLS"});
    shows("-Y users", "auth_enabled_ascii", "users");
    is_str(settings_auth_file(&s), "users", "… from which users are read");
    shows("", "auth_enabled_ascii", "no");
    ok(settings_auth_file(&s) == NULL, "… and nobody has to log in");
    REFUSES({"-o ext_path=/k:1g", "-o ext_path cannot be used: storage on flash is not supported"},
            {"-o proxy_config=x.lua", "-o proxy_config cannot be used: there is no proxy"});
    shows("-e /dev/shm/x", "memory_file", "/dev/shm/x");
    REFUSES({"-e /dev/shm/x --store=heap", "-e needs --store=slab: items of --store=heap cannot be kept in a file"},
            {"-N 3", "-N cannot be used: threads by NAPI id are not supported"},
            {"-Y f -B binary", "-B binary cannot be used with -Y, whose users log in by a line of text"});
    SHOWS({"-o drop_privileges", "drop_privileges", "yes"}, {"-o drop_privileges,no_drop_privileges", "drop_privileges", "no"});
    accepts("-o drop_privileges,relaxed_privileges");
}

TEST(test_actions) {
    static const struct {
        const char *line;
        enum options_action action;
    } rows[] = {{"-h", OPTIONS_HELP}, {"--help", OPTIONS_HELP}, {"-m 64 -h", OPTIONS_HELP}, {"-V", OPTIONS_VERSION}, {"-i", OPTIONS_LICENSE},
                {"--describe", OPTIONS_DESCRIBE}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        is(parse_words(rows[i].line), rows[i].action, "%s", rows[i].line);
    }
}

TEST(test_lists_are_bounded) {
    char line[2048] = "-l ";
    memset(line + 3, 'a', 1100);
    line[1103] = '\0';
    refuses(line, "-l holds at most 1022 bytes in all");
    shows("-l 127.0.0.1 -l ::1", "inter", "127.0.0.1,::1");
}

TEST(test_listeners_may_be_named_as_in_memcached) {
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
        is(e.tls, want[i].tls, "… and with their words on TLS");
        is(e.role, want[i].role, "… and with the role behind it");
        is(e.protocol, want[i].protocol, "… and with the protocol");
    }
    is(listen_list_next(&rest, &e, why), 0, "then the list ends");
    REFUSES({"-l btls:127.0.0.1", "-l: notls:, btls: and mtls: want -Z, without which nothing is encrypted"},
            {"-l 127.0.0.1,notls:127.0.0.1:2", "-l: notls:, btls: and mtls: want -Z, without which nothing is encrypted"},
            {"-Z", "-Z wants a certificate: -o ssl_chain_cert=FILE, and ssl_key=FILE where that does not hold its key"},
            {"-Z -p 0 -o ssl_chain_cert=c", "-Z wants a TCP port: there is no TLS over a UNIX socket"},
            {"-Z -s /tmp/s -o ssl_chain_cert=c", "-Z wants a TCP port: there is no TLS over a UNIX socket"});
    SHOWS({"-Z -o ssl_chain_cert=c -l notls:127.0.0.1", "ssl_enabled", "yes"},
          {"-o ssl_min_version=3", "ssl_min_version", "tlsv1.3"}, {"-o ssl_min_version=tlsv1.1", "ssl_min_version", "tlsv1.1"});
    REFUSES({"-l proto[proxy]:*", "-l: a listener speaks proto[ascii], proto[binary] or proto[negotiating]; there is no proxy"},
            {"-l tag[123456789]:*", "-l: a tag has 1 to 8 characters"},
            {"-l 127.0.0.1,role=reader", "-l: a role is read, write or admin"},
            {"-l 127.0.0.1,role=", "-l: a role is read, write or admin"},
            {"-l role=read,127.0.0.1", "-l: role= stands behind an address and a comma"},
            {"-l 127.0.0.1,role=read,role=write", "-l: role= stands behind an address and a comma"},
            {"-l tag[abc", "-l: a tag has 1 to 8 characters"});
    shows("-l tag[x]:127.0.0.1", "inter", "tag[x]:127.0.0.1");
}

TEST(test_stores) {
    shows("--store=blocks --block-size 128", "slab_automove", "0");
    is_str(s.store, "blocks", "… and items live in blocks");
    is(s.block_size, 128, "… of the given size");
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
    REFUSES({"--block-size=63", "--block-size wants a number of bytes, or one with k, m, g or t, from 64 to 64k, not \"63\""},
            {"--store=blocks -o slab_sizes=100-200", "slab_sizes needs --store=slab, not blocks"});
}

TEST(test_slab_sizes) {
    static const char *const wrong[] = {"47", "100-104", "200-100", "96-524288", "96--200", "96,200", ""};
    struct slab_sizes sizes;
    char many[1024] = "";
    ok(settings_parse_slab_sizes("96-200-1000", 524288, 63, &sizes, why) && sizes.count == 3 && sizes.bytes[2] == 1000, "sizes are read in order");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ok(!settings_parse_slab_sizes(wrong[i], 524288, 63, &sizes, why), "'%s' is refused: %s", wrong[i], why);
    }
    for (int i = 0; i < 63; i++) {
        snprintf(many + strlen(many), sizeof many - strlen(many), "%s%d", i ? "-" : "", 100 + 8 * i);
    }
    ok(!settings_parse_slab_sizes(many, 524288, 63, &sizes, why), "more sizes than classes are refused");
    REFUSES({"-o slab_sizes=99999999999999999999", "slab_sizes: 18446744073709551615 is not from 48 to under slab_chunk_max (524288 bytes)"},
            {"-o slab_sizes=9", "slab_sizes: 9 is not from 48 to under slab_chunk_max (524288 bytes)"});
}

/* Names are found by all their spellings. */
TEST(test_no_two_rows_share_a_name_or_letter) {
    for (int i = 0; i < SETTING_ROWS; i++) {
        const struct setting *row = &setting_table[i], *other = row + 1;
        for (; other < setting_table + SETTING_ROWS; other++) {
            if (strcmp(row->field, other->field) == 0 || (row->flag > OPT_EXTENDED && row->flag == other->flag) ||
                (row->name && other->name && strcmp(row->name, other->name) == 0) || (row->stat && other->stat && strcmp(row->stat, other->stat) == 0)) {
                ok(false, "%s and %s do", row->field, other->field);
            }
        }
    }
}

TEST(test_a_refused_value_changes_nothing) {
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

int main(void) { return tap_main(); }
