/* Every option of the daemon, and every option of memcached, one row each. The rows generate
 * struct settings, --help, `stats settings`, the look-up by name, `slated --describe` and the
 * option lists of slated(8). To add an option, add a row.
 *
 *     X(type, field, stat, flag, name, default, min, max, unit, when, group, help)
 *
 * type   how the value is stored, read and shown (enum setting_type in settings.h). ACCEPTED: an
 *        option of memcached without effect here. ABSENT: a refused option; the help says why.
 * stat   the name in `stats settings`, which has the table's order; NULL: not shown there.
 * flag   the letter; 0: `name` is the long option; OPT_EXTENDED: `name` is a sub-option of -o.
 * name   NULL: only shown. NULL with RUNTIME: shows other settings or the effect of a command, and
 *        cannot be set by name.
 * min, max   limits of numbers, in `unit`.
 * when   STARTUP values never change; any thread reads them without a lock. RUNTIME values change
 *        through settings_change() (server/settings_change.h); read them with server_settings(). */
#ifndef SLATE_SERVER_CONFIG_SETTINGS_ROWS_H
#define SLATE_SERVER_CONFIG_SETTINGS_ROWS_H
#include <stdint.h>

#define SETTINGS_MIB ((uint64_t)1 << 20)
#define SETTINGS_GIB ((uint64_t)1 << 30)
#define SETTINGS_PROCESS_MEMORY_MIN (24 * SETTINGS_MIB) /* the program takes about 10 MB */
/* The lowest limit that a running server accepts, as in memcached; a start accepts less. */
#define SETTINGS_LIVE_MEMORY_MIN (8 * SETTINGS_MIB)

/* clang-format off */
#define SETTINGS(X) \
    X(MEGABYTES, maxbytes, "maxbytes", 'm', "memory-limit", 64 * SETTINGS_MIB, 2 * SETTINGS_MIB, \
      4096 * SETTINGS_GIB, "bytes", RUNTIME, MEMORY, \
      "memory for items; 75%: such a share of what the control group allows, or else of the " \
      "machine's memory; auto: 75%") \
    X(INT, maxconns, "maxconns", 'c', "conn-limit", 1024, 1, 1000000, "connections", RUNTIME, \
      NETWORK, "connections that may be open at once") \
    X(INT, port, "tcpport", 'p', "port", 11211, -1, 65535, "port", STARTUP, NETWORK, \
      "TCP port; 0: none, -1: any free one") \
    X(INT, udpport, "udpport", 'U', "udp-port", 0, -1, 65535, "port", STARTUP, NETWORK, \
      "UDP port of the addresses of -l that name none; 0: no UDP, -1: any free one") \
    X(LIST, inter, "inter", 'l', "listen", "127.0.0.1", 0, 0, "address", STARTUP, NETWORK, \
      "addresses to listen on, separated by commas: HOST, HOST:PORT, [V6]:PORT or *; may be " \
      "given again") \
    X(COUNT, verbosity, "verbosity", 'v', "verbose", 0, 0, 3, "level", RUNTIME, PROCESS, \
      "say more on stderr; -vv and -vvv say still more") \
    X(INT, oldest, "oldest", 0, NULL, 0, 0, 0, "seconds", RUNTIME, ACCESS, \
      "when flush_all last took effect, in seconds after the start") \
    X(NEGSWITCH, evict_to_free, "evictions", 'M', "disable-evictions", true, 0, 0, "flag", \
      STARTUP, MEMORY, "refuse stores when full instead of evicting") \
    X(TEXT, socketpath, "domain_socket", 's', "unix-socket", NULL, 0, 0, "path", STARTUP, NETWORK, \
      "listen on this UNIX socket and on no network address") \
    X(OCTAL, access_mask, "umask", 'a', "unix-mask", 0700, 0, 0777, "octal", STARTUP, NETWORK, \
      "permissions of the UNIX socket") \
    X(FLAG, shutdown_command, "shutdown_command", 'A', "enable-shutdown", false, 0, 0, "flag", \
      STARTUP, ACCESS, "allow the shutdown command") \
    X(RATIO, factor, "growth_factor", 'f', "slab-growth-factor", 1.25, 1.01, 100, "ratio", \
      STARTUP, MEMORY, "each chunk size is this many times the one before") \
    X(INT, chunk_size, "chunk_size", 'n', "slab-min-size", 48, 1, 524288, "bytes", STARTUP, \
      MEMORY, "room for key and value in the smallest chunk") \
    X(INT, threads, "num_threads", 't', "threads", 4, 1, 128, "threads", STARTUP, NETWORK, \
      "worker threads") \
    X(INT, num_threads_per_udp, "num_threads_per_udp", 0, NULL, 4, 1, 128, "threads", STARTUP, \
      NETWORK, "worker threads that serve UDP: all of them, each with a socket of its own") \
    X(TEXT, prefix_delimiter, "stat_key_prefix", 'D', NULL, ":", 0, 0, "character", STARTUP, \
      ACCESS, "turn `stats detail` on, which counts keys by what stands before this character") \
    X(FLAG, detail_enabled, "detail_enabled", 0, NULL, false, 0, 0, "flag", RUNTIME, ACCESS, \
      "whether `stats detail` counts operations by key prefix") \
    X(INT, reqs_per_event, "reqs_per_event", 'R', "max-reqs-per-event", 20, 1, 1000000, \
      "requests", STARTUP, NETWORK, "requests of one connection before others have their turn") \
    X(NEGATED, cas, "cas_enabled", 'C', "disable-cas", true, 0, 0, "flag", STARTUP, MEMORY, \
      "keep no CAS values, which saves 8 bytes an item") \
    X(INT, backlog, "tcp_backlog", 'b', "listen-backlog", 1024, -1, 2147483647, "connections", \
      STARTUP, NETWORK, "connections that the kernel may keep waiting to be accepted") \
    X(CHOICE, protocol, "binding_protocol", 'B', "protocol", "auto-negotiate", 0, 0, \
      "auto|ascii|binary", STARTUP, NETWORK, \
      "protocol that clients speak; auto: the first byte of a connection decides") \
    X(FLAG, sasl, "auth_enabled_sasl", 'S', "enable-sasl", false, 0, 0, "flag", STARTUP, ACCESS, \
      "clients of the binary protocol must log in by SASL; clients of the text protocol are " \
      "refused unless -Y is given") \
    X(TEXT, auth_file, "auth_enabled_ascii", 'Y', "auth-file", "no", 0, 0, "path", STARTUP, \
      ACCESS, \
      "clients must log in as a user of this file; each line is user:password, " \
      "user:password:role or certificate NAME role; no: no login") \
    X(BYTES, item_size_max, "item_size_max", 'I', "max-item-size", SETTINGS_MIB, 1024, \
      SETTINGS_GIB, "bytes", STARTUP, MEMORY, "largest item, at most half of the memory") \
    X(FLAG, maxconns_fast, "maxconns_fast", OPT_EXTENDED, "maxconns_fast", true, 0, 0, "flag", \
      RUNTIME, NETWORK, "at the limit, turn connections away with an error; else let them wait") \
    X(INT, hashpower_init, "hashpower_init", OPT_EXTENDED, "hashpower", 0, 12, 32, "power of 2", \
      STARTUP, MEMORY, "accepted without effect: the index grows without a pause") \
    X(FLAG, slab_reassign, "slab_reassign", OPT_EXTENDED, "slab_reassign", true, 0, 0, "flag", \
      STARTUP, TUNING, "pages may move between classes") \
    X(MODE, slab_automove, "slab_automove", OPT_EXTENDED, "slab_automove", "utility", 0, 0, \
      "mode", RUNTIME, TUNING, \
      "how pages move by themselves: 0 off, 1 ratio of ages, 2 eviction, or another mode by name") \
    X(RATIO, slab_automove_ratio, "slab_automove_ratio", OPT_EXTENDED, "slab_automove_ratio", 0.8, \
      0.01, 1, "ratio", RUNTIME, TUNING, \
      "mode 1 moves a page when the age of the youngest class is below this share of the age of " \
      "the oldest") \
    X(INT, slab_automove_window, "slab_automove_window", OPT_EXTENDED, "slab_automove_window", 10, \
      3, 1800, "seconds", RUNTIME, TUNING, "mode 1 averages ages over this time") \
    X(KILOBYTES, slab_chunk_max, "slab_chunk_max", OPT_EXTENDED, "slab_chunk_max", \
      SETTINGS_MIB / 2, 1024, SETTINGS_MIB, "bytes", STARTUP, MEMORY, \
      "largest chunk: larger values are chains of chunks, but never values up to 4 KB; it must " \
      "divide 1 MiB and the largest item") \
    X(FLAG, lru_crawler, "lru_crawler", OPT_EXTENDED, "lru_crawler", true, 0, 0, "flag", RUNTIME, \
      TUNING, "free expired items in the background") \
    X(INT, lru_crawler_sleep, "lru_crawler_sleep", OPT_EXTENDED, "lru_crawler_sleep", 100, 0, \
      1000000, "microseconds", RUNTIME, TUNING, \
      "time that the crawler pauses between two steps") \
    X(INT, lru_crawler_tocrawl, "lru_crawler_tocrawl", OPT_EXTENDED, "lru_crawler_tocrawl", 0, 0, \
      2147483647, "items", RUNTIME, TUNING, \
      "most items of a class that the crawler reads in a run; 0: all") \
    X(INT, tail_repair_time, "tail_repair_time", OPT_EXTENDED, "tail_repair_time", 0, 10, \
      2147483647, "seconds", STARTUP, TUNING, \
      "accepted without effect: items cannot leak references") \
    X(NEGATED, flush_enabled, "flush_enabled", 'F', "disable-flush-all", true, 0, 0, "flag", \
      STARTUP, ACCESS, "refuse flush_all") \
    X(NEGATED, dump_enabled, "dump_enabled", 'X', "disable-dumping", true, 0, 0, "flag", STARTUP, \
      ACCESS, "refuse stats cachedump, detail, hotkeys and the crawler's dumps") \
    X(FLAG, disable_watch, NULL, 'W', "disable-watch", false, 0, 0, "flag", STARTUP, ACCESS, \
      "refuse watch") \
    X(CHOICE, hash_algorithm, "hash_algorithm", OPT_EXTENDED, "hash_algorithm", "xxh3", 0, 0, \
      "murmur3|jenkins|xxh3", STARTUP, MEMORY, \
      "accepted without effect: the hash is always xxh3; with like_memcached `stats settings` " \
      "shows the name given") \
    X(FLAG, lru_maintainer, "lru_maintainer_thread", OPT_EXTENDED, "lru_maintainer", true, 0, 0, \
      "flag", STARTUP, TUNING, \
      "free expired items within seconds; no_lru_maintainer makes the policy lru") \
    X(FLAG, lru_segmented, "lru_segmented", 0, NULL, true, 0, 0, "flag", RUNTIME, TUNING, \
      "whether the eviction policy has more than one queue: it is not lru") \
    X(INT, hot_lru_pct, "hot_lru_pct", OPT_EXTENDED, "hot_lru_pct", 20, 1, 80, "percent", RUNTIME, \
      TUNING, "share of a class's items in its hot queue") \
    X(INT, warm_lru_pct, "warm_lru_pct", OPT_EXTENDED, "warm_lru_pct", 40, 1, 80, "percent", \
      RUNTIME, TUNING, "share of a class's items in its warm queue; with hot_lru_pct at most 80") \
    X(RATIO, hot_max_factor, "hot_max_factor", OPT_EXTENDED, "hot_max_factor", 0.2, 0.01, 1000, \
      "ratio", RUNTIME, TUNING, \
      "a hot item goes to the cold queue when its age is over this share of the age of the cold " \
      "queue") \
    X(RATIO, warm_max_factor, "warm_max_factor", OPT_EXTENDED, "warm_max_factor", 2.0, 0.01, 1000, \
      "ratio", RUNTIME, TUNING, \
      "a warm item goes to the cold queue when its age is over this many times the age of the " \
      "cold queue") \
    X(INT, s3fifo_small_percent, NULL, OPT_EXTENDED, "s3fifo_small_percent", 10, 1, 90, \
      "percent", RUNTIME, TUNING, \
      "share of a class's items that the small queue of the policy s3fifo has") \
    X(INT, s3fifo_ghost_percent, NULL, OPT_EXTENDED, "s3fifo_ghost_percent", 90, 10, 100, \
      "percent", RUNTIME, TUNING, \
      "keys evicted from the small queue that s3fifo remembers, as a share of a class's items") \
    X(INT, s3fifo_promote_hits, NULL, OPT_EXTENDED, "s3fifo_promote_hits", 1, 1, 3, "hits", \
      RUNTIME, TUNING, \
      "hits with which s3fifo takes an item from the small queue to the main one, rather than " \
      "evict it") \
    X(INT, s3fifo_skip_percent, NULL, OPT_EXTENDED, "s3fifo_skip_percent", 0, 0, 90, "percent", \
      RUNTIME, TUNING, \
      "first part of the small queue of s3fifo, in which hits do not count; 0: all hits count") \
    X(FLAG, temp_lru, "temp_lru", 0, NULL, false, 0, 0, "flag", RUNTIME, TUNING, \
      "whether items with a short time to live have a queue of their own (temporary_ttl)") \
    X(INT, temporary_ttl, "temporary_ttl", OPT_EXTENDED, "temporary_ttl", 61, -1, 2147483647, \
      "seconds", RUNTIME, TUNING, \
      "items with a time to live of at most this go to a queue of their own, which is never " \
      "evicted; off unless given, or by -1") \
    X(INT, idle_timeout, "idle_timeout", OPT_EXTENDED, "idle_timeout", 0, 0, 2147483647, \
      "seconds", RUNTIME, NETWORK, "close a connection that is idle for longer; 0: never") \
    X(KILOBYTES, watcher_logbuf_size, "watcher_logbuf_size", OPT_EXTENDED, "watcher_logbuf_size", \
      262144, 1024, SETTINGS_GIB, "bytes", STARTUP, PROCESS, \
      "buffer of lines that wait for a client that watches") \
    X(KILOBYTES, worker_logbuf_size, "worker_logbuf_size", OPT_EXTENDED, "worker_logbuf_size", \
      65536, 1024, SETTINGS_GIB, "bytes", STARTUP, PROCESS, \
      "buffer, one a thread, of events that wait to be written for clients that watch") \
    X(MEGABYTES, read_buf_mem_limit, "read_buf_mem_limit", OPT_EXTENDED, "read_buf_mem_limit", 0, \
      0, 1024 * SETTINGS_GIB, "bytes", STARTUP, NETWORK, \
      "memory that connections may hold for requests that have not come whole and for replies " \
      "that clients have not taken; each worker has an equal part of it and closes a connection " \
      "that needs more, see Memory of connections; 0: no limit") \
    X(FLAG, track_sizes, "track_sizes", OPT_EXTENDED, "track_sizes", false, 0, 0, "flag", STARTUP, \
      ACCESS, "answer `stats sizes` with a histogram of item sizes") \
    X(ACCEPTED, inline_ascii_resp, "inline_ascii_response", OPT_EXTENDED, "inline_ascii_resp", \
      "no", 0, 0, "flag", STARTUP, NETWORK, "accepted without effect, as in memcached") \
    X(FLAG, drop_privileges, "drop_privileges", OPT_EXTENDED, "drop_privileges", false, 0, 0, \
      "flag", STARTUP, PROCESS, \
      "keep only the system calls that serving takes, once the server is built") \
    X(ABSENT, ext_item_size, "ext_item_size", OPT_EXTENDED, "ext_item_size", "512", 0, 0, "bytes", \
      STARTUP, MEMORY, "storage on flash is not supported") \
    X(ABSENT, ext_item_age, "ext_item_age", OPT_EXTENDED, "ext_item_age", "4294967295", 0, 0, \
      "seconds", STARTUP, MEMORY, "storage on flash is not supported") \
    X(ABSENT, ext_low_ttl, "ext_low_ttl", OPT_EXTENDED, "ext_low_ttl", "0", 0, 0, "seconds", \
      STARTUP, MEMORY, "storage on flash is not supported") \
    X(ABSENT, ext_recache_rate, "ext_recache_rate", OPT_EXTENDED, "ext_recache_rate", "2000", 0, \
      0, "reads", STARTUP, MEMORY, "storage on flash is not supported") \
    X(ABSENT, ext_wbuf_size, "ext_wbuf_size", OPT_EXTENDED, "ext_wbuf_size", "4194304", 0, 0, \
      "bytes", STARTUP, MEMORY, "storage on flash is not supported") \
    X(ABSENT, ext_compact_under, "ext_compact_under", OPT_EXTENDED, "ext_compact_under", "0", 0, \
      0, "pages", STARTUP, MEMORY, "storage on flash is not supported") \
    X(ABSENT, ext_drop_under, "ext_drop_under", OPT_EXTENDED, "ext_drop_under", "0", 0, 0, \
      "pages", STARTUP, MEMORY, "storage on flash is not supported") \
    X(ABSENT, ext_max_sleep, "ext_max_sleep", OPT_EXTENDED, "ext_max_sleep", "1000000", 0, 0, \
      "microseconds", STARTUP, MEMORY, "storage on flash is not supported") \
    X(ABSENT, ext_max_frag, "ext_max_frag", OPT_EXTENDED, "ext_max_frag", "0.80", 0, 0, "ratio", \
      STARTUP, MEMORY, "storage on flash is not supported") \
    X(RATIO3, slab_automove_freeratio, "slab_automove_freeratio", OPT_EXTENDED, \
      "slab_automove_freeratio", 0.01, 0, 1, "ratio", RUNTIME, TUNING, \
      "accepted without effect: it concerns storage on flash") \
    X(ABSENT, ext_drop_unread, "ext_drop_unread", OPT_EXTENDED, "ext_drop_unread", "no", 0, 0, \
      "flag", STARTUP, MEMORY, "storage on flash is not supported") \
    X(FLAG, ssl_enabled, "ssl_enabled", 'Z', "enable-ssl", false, 0, 0, "flag", STARTUP, ACCESS, \
      "speak TLS on every TCP listener without notls: before its address; needs ssl_chain_cert") \
    X(TEXT, ssl_chain_cert, "ssl_chain_cert", OPT_EXTENDED, "ssl_chain_cert", NULL, 0, 0, "path", \
      STARTUP, ACCESS, "file of the server's certificate and of those that vouch for it, in PEM") \
    X(TEXT, ssl_key, "ssl_key", OPT_EXTENDED, "ssl_key", NULL, 0, 0, "path", STARTUP, ACCESS, \
      "file of the server's private key, if ssl_chain_cert does not hold it") \
    X(INT, ssl_verify_mode, "ssl_verify_mode", OPT_EXTENDED, "ssl_verify_mode", 0, 0, 3, "mode", \
      STARTUP, ACCESS, \
      "certificates of clients: 0 not requested, 1 checked if shown, 2 and 3 required and " \
      "checked") \
    X(INT, ssl_keyformat, "ssl_keyformat", OPT_EXTENDED, "ssl_keyformat", 1, 1, 2, "format", \
      STARTUP, ACCESS, "format of ssl_key: 1 PEM, 2 DER") \
    X(TEXT, ssl_ciphers, "ssl_ciphers", OPT_EXTENDED, "ssl_ciphers", NULL, 0, 0, "names", STARTUP, \
      ACCESS, \
      "ciphers of TLS 1.2 and older, as OpenSSL writes them; those of TLS 1.3 are OpenSSL's " \
      "defaults") \
    X(TEXT, ssl_ca_cert, "ssl_ca_cert", OPT_EXTENDED, "ssl_ca_cert", NULL, 0, 0, "path", STARTUP, \
      ACCESS, "file of the authorities that certificates of clients must come from, in PEM") \
    X(KILOBYTES, ssl_wbuf_size, "ssl_wbuf_size", OPT_EXTENDED, "ssl_wbuf_size", 16384, 1024, \
      SETTINGS_MIB, "bytes", STARTUP, ACCESS, \
      "size of the buffer, one a worker, in which replies are put together to be encrypted") \
    X(FLAG, ssl_session_cache, "ssl_session_cache", OPT_EXTENDED, "ssl_session_cache", false, 0, \
      0, "flag", STARTUP, ACCESS, "keep sessions of TLS 1.2 that clients may resume") \
    X(FLAG, ssl_kernel_tls, "ssl_kernel_tls", OPT_EXTENDED, "ssl_kernel_tls", false, 0, 0, "flag", \
      STARTUP, ACCESS, "let the kernel encrypt where it can") \
    X(CHOICE, ssl_min_version, "ssl_min_version", OPT_EXTENDED, "ssl_min_version", "tlsv1.2", 0, \
      0, "tlsv1.0|tlsv1.1|tlsv1.2|tlsv1.3|0|1|2|3", STARTUP, ACCESS, \
      "oldest version of TLS that is spoken; memcached's numbers 0 to 3 are taken too") \
    X(ABSENT, proxy_config, "proxy_enabled", OPT_EXTENDED, "proxy_config", "no", 0, 0, "path", \
      STARTUP, NETWORK, "there is no proxy") \
    X(ABSENT, proxy_uring, "proxy_uring_enabled", OPT_EXTENDED, "proxy_uring", "no", 0, 0, "flag", \
      STARTUP, NETWORK, "there is no proxy") \
    X(ABSENT, napi_ids, "num_napi_ids", 'N', "napi-ids", "0", 0, 0, "ids", STARTUP, NETWORK, \
      "threads by NAPI id are not supported") \
    X(TEXT, takeover_socket, NULL, OPT_EXTENDED, "takeover_socket", NULL, 0, 0, \
      "path", STARTUP, PROCESS, \
      "UNIX socket at which the next process takes over from this one, see UPGRADES; needs " \
      "--store=slab") \
    X(FLAG, takeover, NULL, 0, "takeover", false, 0, 0, "flag", STARTUP, PROCESS, \
      "take over items and listening sockets from the server at -o takeover_socket; end if there " \
      "is none") \
    X(TEXT, memory_file, "memory_file", 'e', "memory-file", NULL, 0, 0, "path", STARTUP, MEMORY, \
      "keep items in this file, on a file system in memory, so that the next start goes on with " \
      "them, even after a crash; needs --store=slab") \
    X(ACCEPTED, client_flags_size, "client_flags_size", 0, NULL, "4", 0, 0, "bytes", STARTUP, \
      MEMORY, "width of client flags") \
    X(FLAG, daemonize, NULL, 'd', "daemon", false, 0, 0, "flag", STARTUP, PROCESS, \
      "run in the background") \
    X(FLAG, coredumps, NULL, 'r', "enable-coredumps", false, 0, 0, "flag", STARTUP, PROCESS, \
      "lift the limit on the size of core files") \
    X(TEXT, user, NULL, 'u', "user", NULL, 0, 0, "name", STARTUP, PROCESS, \
      "become this user; needed when started as root") \
    X(FLAG, lock_memory, NULL, 'k', "lock-memory", false, 0, 0, "flag", STARTUP, PROCESS, \
      "keep all memory in RAM, which the system must allow") \
    X(TEXT, pidfile, NULL, 'P', "pidfile", NULL, 0, 0, "path", STARTUP, PROCESS, \
      "write the process id to this file, and remove it at the end; if it cannot be written, the " \
      "log says so") \
    X(FLAG, largepages, NULL, 'L', "enable-largepages", false, 0, 0, "flag", STARTUP, MEMORY, \
      "accepted without effect: huge pages are requested anyway") \
    X(TEXT, slab_sizes, NULL, OPT_EXTENDED, "slab_sizes", NULL, 0, 0, "bytes", STARTUP, MEMORY, \
      "chunk sizes instead of a growth factor, as in 96-200-1000") \
    X(ACCEPTED, no_hashexpand, NULL, OPT_EXTENDED, "no_hashexpand", NULL, 0, 0, "flag", STARTUP, \
      MEMORY, "accepted without effect: the index grows without a pause") \
    X(FLAG, no_chunked_items, NULL, OPT_EXTENDED, "no_chunked_items", false, 0, 0, "flag", \
      STARTUP, MEMORY, "make no chains of chunks: slab_chunk_max is then a whole page") \
    X(ACCEPTED, modern, NULL, OPT_EXTENDED, "modern", NULL, 0, 0, "flag", STARTUP, TUNING, \
      "accepted without effect: the defaults are modern") \
    X(FLAG, no_modern, NULL, OPT_EXTENDED, "no_modern", false, 0, 0, "flag", STARTUP, TUNING, \
      "do as memcached 1.4: no chains, no page moves, connections wait at the limit, policy lru, " \
      "no crawler") \
    X(FLAG, like_memcached, NULL, OPT_EXTENDED, "like_memcached", false, 0, 0, "flag", STARTUP, \
      TUNING, \
      "choose as memcached: policy slru in one partition, slab_automove=1, chunk sizes that " \
      "stay, turns of -R requests also on an idle server, and in slab_global_page_pool only " \
      "pages that classes gave back; options behind it may change these again") \
    X(ACCEPTED, resp_obj_mem_limit, NULL, OPT_EXTENDED, "resp_obj_mem_limit", NULL, 0, 0, \
      "megabytes", STARTUP, NETWORK, \
      "accepted without effect, as in memcached: read_buf_mem_limit bounds replies too") \
    X(ABSENT, sock_cookie_id, NULL, OPT_EXTENDED, "sock_cookie_id", NULL, 0, 0, "number", STARTUP, \
      NETWORK, "socket cookies are not supported") \
    X(ACCEPTED, relaxed_privileges, NULL, OPT_EXTENDED, "relaxed_privileges", NULL, 0, 0, "flag", \
      STARTUP, PROCESS, \
      "accepted without effect: the filter of drop_privileges leaves files to read and write") \
    X(ABSENT, ext_path, NULL, OPT_EXTENDED, "ext_path", NULL, 0, 0, "path", STARTUP, MEMORY, \
      "storage on flash is not supported") \
    X(ABSENT, ext_page_size, NULL, OPT_EXTENDED, "ext_page_size", NULL, 0, 0, "bytes", STARTUP, \
      MEMORY, "storage on flash is not supported") \
    X(ABSENT, ext_threads, NULL, OPT_EXTENDED, "ext_threads", NULL, 0, 0, "threads", STARTUP, \
      MEMORY, "storage on flash is not supported") \
    X(ABSENT, ext_io_depth, NULL, OPT_EXTENDED, "ext_io_depth", NULL, 0, 0, "requests", STARTUP, \
      MEMORY, "storage on flash is not supported") \
    X(ABSENT, proxy_arg, NULL, OPT_EXTENDED, "proxy_arg", NULL, 0, 0, "text", STARTUP, NETWORK, \
      "there is no proxy") \
    X(ABSENT, proxy_memprofile, NULL, OPT_EXTENDED, "proxy_memprofile", NULL, 0, 0, "flag", \
      STARTUP, NETWORK, "there is no proxy") \
    X(CHOICE, store, NULL, 0, "store", "slab", 0, 0, "slab|heap|blocks", STARTUP, MEMORY, \
      "how items are stored; slab: in chunks of size classes, in pages that move; heap: each in " \
      "an allocation of its own; blocks: in chains of small blocks of one size") \
    X(BYTES, block_size, NULL, 0, "block-size", 200, 64, 65536, "bytes", STARTUP, MEMORY, \
      "size of a block of --store=blocks; 16 bytes of it are its link") \
    X(CHOICE, policy, NULL, 0, "policy", "s3auto", 0, 0, \
      "slru|lru|bag|fifo|clock|clock2|clock3|sieve|s3fifo|s3skip|s3wide|s3loop|tinylfu|none|" \
      "s3auto", \
      RUNTIME, TUNING, \
      "eviction policy of the whole cache; s3auto begins with s3fifo and changes to s3skip, " \
      "s3wide or s3loop, and back, when the miniature cache of another misses less, unless a " \
      "setting of s3fifo is not its default") \
    X(RATIO3, sample_rate, NULL, OPT_EXTENDED, "sample_rate", 0.25, 0, 1, "ratio", RUNTIME, \
      TUNING, \
      "largest share of the keys in the sample for curves and miniature caches; little memory " \
      "and much traffic lower the share; 0: no sample, at no cost") \
    X(TEXT, policy_dir, NULL, 0, "policy-dir", NULL, 0, 0, "path", STARTUP, TUNING, \
      "folder of policies for slab_automove=lua:NAME, in place of the policies that come with " \
      "Slate") \
    X(INT, value_timeout, NULL, 0, "value-timeout", 30, 1, 86400, "seconds", STARTUP, NETWORK, \
      "refuse a value that holds memory when none of its bytes come for this long; or, while " \
      "others wait for that memory, when less than 4 KiB of it, or an eighth of what it holds, " \
      "come in a second") \
    X(INT, ssl_handshake_timeout, NULL, OPT_EXTENDED, "ssl_handshake_timeout", 10, 1, 3600, \
      "seconds", STARTUP, ACCESS, \
      "hang up on a client whose TLS handshake takes longer") \
    X(TEXT, automove_record, NULL, 0, "automove-record", NULL, 0, 0, "path", STARTUP, TUNING, \
      "append to this file the snapshots that policies of slab_automove=lua:NAME see, in the " \
      "form of slatectl record") \
    X(FLAG, public, NULL, 0, "public", false, 0, 0, "flag", STARTUP, ACCESS, \
      "allow addresses that other machines reach although clients need no password and no " \
      "certificate") \
    X(TEXT, metrics, NULL, OPT_EXTENDED, "metrics", NULL, 0, 0, "address", STARTUP, ACCESS, \
      "serve the server's figures to Prometheus at http://ADDRESS/metrics, where ADDRESS is HOST " \
      "or HOST:PORT (port 9150 if none is named); there is no login, so an address that other " \
      "machines reach needs --public") \
    X(INT, udp_reply_factor, NULL, OPT_EXTENDED, "udp_reply_factor", 1, 0, 65536, "times", \
      STARTUP, NETWORK, \
      "largest reply by UDP to another machine, as a multiple of the request, because its sender " \
      "may be forged; 0: no bound") \
    X(CHOICE, starting, NULL, OPT_EXTENDED, "starting", "wait", 0, 0, "wait|answer", STARTUP, \
      NETWORK, \
      "answer to clients while the server takes up the items of -e; wait: no answer until then; " \
      "answer: SERVER_ERROR starting") \
    X(CHOICE, index, NULL, 0, "index", "bucket", 0, 0, "bucket|chained|cuckoo|hopscotch", STARTUP, \
      MEMORY, \
      "how keys find their items; bucket: in cache lines of twelve; chained: in linked lists, as " \
      "in memcached; cuckoo: in lines of twelve, two for each key; hopscotch: in lines of " \
      "twelve, five for each key") \
    X(MEGABYTES, process_memory, NULL, OPT_EXTENDED, "process_memory", 0, 0, 4096 * SETTINGS_GIB, \
      "bytes", RUNTIME, MEMORY, \
      "memory for the whole process, or a share as in -m; items get what the other parts leave, " \
      "at most -m where that is given; auto: as much as the control group allows, which is the " \
      "default where -m and the other parts may take more; 0: no limit") \
    X(INT, partitions, NULL, 0, "partitions", 0, 0, 65536, "partitions", STARTUP, MEMORY, \
      "parts of the cache, each with a lock of its own, a power of two; 0: one for each 16 MB, " \
      "and at least two for each thread") \
    X(FLAG, slab_geometry_auto, NULL, OPT_EXTENDED, "slab_geometry_auto", true, 0, 0, "flag", \
      RUNTIME, TUNING, \
      "fit the chunk sizes to the items whenever the memory would then hold 2 % more items, and " \
      "more than a page of them, and the sizes of the items are steady; the server predicts " \
      "as the memory fills, each minute, and ten seconds after a gain was predicted; unless " \
      "given, the option is off with -f, -n, slab_sizes, like_memcached, no_modern, " \
      "slab_automove=off or no_slab_reassign") \
    X(RATIO, slab_geometry_rate, NULL, OPT_EXTENDED, "slab_geometry_rate", 2, 2, 100, "percent", \
      RUNTIME, TUNING, "share of all pages that a change of the chunk sizes empties each second") \
    X(INT, slab_classes, NULL, 0, "slab-classes", 63, 2, 255, "classes", STARTUP, MEMORY, \
      "most slab classes that a growth factor or a list of sizes makes at the start") \
    X(ACTION, help, NULL, 'h', "help", NULL, 0, 0, "-", STARTUP, PROCESS, "print this list") \
    X(ACTION, license, NULL, 'i', "license", NULL, 0, 0, "-", STARTUP, PROCESS, \
      "print the licence") \
    X(ACTION, version, NULL, 'V', "version", NULL, 0, 0, "-", STARTUP, PROCESS, \
      "print the version") \
    X(TEXT, config, NULL, 0, "config", NULL, 0, 0, "file", STARTUP, PROCESS, \
      "take options from this file too, one a line; values of SLATED_OPTIONS and of the command " \
      "line win over those of the file") \
    X(ACTION, check_config, NULL, 0, "check-config", NULL, 0, 0, "-", STARTUP, PROCESS, \
      "say whether the server would take the options of --config and of the command line, and " \
      "end") \
    X(ACTION, describe, NULL, 0, "describe", NULL, 0, 0, "-", STARTUP, PROCESS, \
      "print every option as a line of fields separated by tabs") \
    X(ACTION, describe_counters, NULL, 0, "describe-counters", NULL, 0, 0, "-", STARTUP, PROCESS, \
      "print every statistic as a line of fields separated by tabs")
/* clang-format on */
#endif
