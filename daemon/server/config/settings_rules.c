/* Rules between the values of settings. */
#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "base/rss.h"
#include "mem/arena.h"
#include "server/config/listen_list.h"
#include "server/config/settings.h"

enum { BUFFERS_SHARE = 8 }; /* share of the process's memory, unless read_buf_mem_limit is given */
enum { ITEM_HEADER_MAX = 48 }; /* most bytes of an item before the key */

static bool settings_have_slab(const struct settings *s) { return strcmp(s->store, "slab") == 0; }

/* Converts memcached's number of a TLS version. */
static void settings_settle_min_version(struct settings *s) {
    char *version = s->ssl_min_version, number = version[0];
    if (version[1] == '\0') {
        setting_put_choice(version, "tlsv1.0");
        version[strlen(version) - 1] = number;
    }
}

/* Users of a file log in by a line of text; SASL's users log in by packets of the binary
 * protocol. */
static bool settings_settle_protocol(struct settings *s, char *why) {
    bool users = settings_auth_file(s) != NULL;
    if (strncmp(s->protocol, "auto", 4) == 0) {
        setting_put_choice(s->protocol, users == s->sasl ? "auto-negotiate"
                                        : users          ? "ascii"
                                                         : "binary");
    }
    if (users && strcmp(s->protocol, "binary") == 0) {
        return setting_refuse(
            why, "-B binary cannot be used with -Y, whose users log in by a line of text");
    }
    if (s->sasl && strcmp(s->protocol, "ascii") == 0) {
        return setting_refuse(
            why, "-B ascii cannot be used with -S, whose users log in by packets");
    }
    return true;
}

static bool setting_is_given(const struct settings *s, const char *field) {
    return s->given[setting_find(field, strlen(field)) - setting_table];
}

uint64_t settings_conn_bytes(const struct settings *s) {
    return s->ssl_enabled ? SETTINGS_CONN_TLS_BYTES : SETTINGS_CONN_BYTES;
}

uint64_t settings_memory_need(const struct settings *s) {
    uint64_t need = s->maxbytes + s->maxbytes / SETTINGS_INDEX_SHARE + SETTINGS_START_BYTES +
                    (uint64_t)s->threads * SETTINGS_THREAD_BYTES +
                    (uint64_t)s->maxconns * settings_conn_bytes(s);
    bool is_bounded = s->read_buf_mem_limit > 0 && !s->buffers_follow;
    need += is_bounded ? s->read_buf_mem_limit : need / (BUFFERS_SHARE - 1);
    uint64_t slack = need / (SETTINGS_SLACK_SHARE - 1);
    return need + (slack > SETTINGS_SLACK_LEAST ? slack : SETTINGS_SLACK_LEAST);
}

/* If the control group allows less than the process may need, the group's limit becomes
 * process_memory, unless that is given. */
static void settings_settle_group(struct settings *s) {
    uint64_t group = rss_group_limit_bytes(), need = settings_memory_need(s);
    bool exceeds = !setting_is_given(s, "process_memory") && group > 0 && need > group;
    s->group_is_too_small = exceeds && group < SETTINGS_PROCESS_MEMORY_MIN;
    if (exceeds && !s->group_is_too_small) {
        s->process_memory = group;
        s->maxbytes_given = s->group_limits = true;
    }
}

/* With a limit for the process, items get the memory that the other parts leave, or -m if that is
 * less. Buffers of connections get a share. */
static void settings_settle_process_memory(struct settings *s) {
    settings_settle_group(s);
    if (s->process_memory == 0) {
        return;
    }
    if (!s->maxbytes_given) {
        s->maxbytes = s->process_memory / SETTINGS_MIB * SETTINGS_MIB;
    }
    if (s->read_buf_mem_limit == 0) {
        s->read_buf_mem_limit = s->process_memory / BUFFERS_SHARE;
        s->buffers_follow = true;
    }
}

static bool settings_move_pages(const struct settings *s) {
    const char *argument;
    return automove_find(s->slab_automove, &argument) != automove_find("off", &argument);
}

/* Given chunk sizes stay until a client changes them: slab_geometry_auto is off. An option against
 * automatic page moves turns slab_geometry_auto off too. */
static void settings_settle_geometry(struct settings *s) {
    bool sizes =
             setting_is_given(s, "factor") || setting_is_given(s, "chunk_size") || s->slab_sizes,
         still =
             !s->slab_reassign || (setting_is_given(s, "slab_automove") && !settings_move_pages(s));
    if (!setting_is_given(s, "slab_geometry_auto") && (sizes || still || !settings_have_slab(s))) {
        s->slab_geometry_auto = false;
    }
}

/* If only the UDP port is given, the TCP port is the same, as in memcached. */
static void settings_settle_ports(struct settings *s) {
    if (s->udpport != 0 && !setting_is_given(s, "port")) {
        s->port = s->udpport;
    }
}

/* Datagrams carry no TLS, and a UNIX socket is the only listener, as in memcached. */
static void settings_settle_udp(struct settings *s) {
    s->udp_in_vain = s->udpport != 0 && (s->socketpath || s->ssl_enabled);
    s->udpport = s->udp_in_vain ? 0 : s->udpport;
}

bool settings_settle(struct settings *s, char *why) {
    settings_settle_ports(s);
    settings_settle_udp(s);
    settings_settle_process_memory(s);
    settings_settle_geometry(s);
    if (s->no_chunked_items) {
        s->slab_chunk_max = PAGE_BYTES;
    }
    if (!s->lru_maintainer) {
        setting_put_choice(s->policy, "lru");
    }
    /* Without slabs there are no classes between which pages could move. */
    if (!settings_have_slab(s)) {
        setting_set(s, setting_find("slab_automove", strlen("slab_automove")), "off", false, why);
    }
    if (!s->like_memcached) { /* report the hash that is really used */
        setting_put_choice(s->hash_algorithm, "xxh3");
    }
    s->num_threads_per_udp = s->threads;
    s->lru_segmented = strcmp(s->policy, "lru") != 0;
    settings_settle_min_version(s);
    return settings_settle_protocol(s, why) && listen_list_check(s->inter, s->ssl_enabled, why) &&
           settings_check(s, why);
}

const char *settings_auth_file(const struct settings *s) {
    return strcmp(s->auth_file, "no") != 0 ? s->auth_file : NULL;
}

/* Checks the sizes of memory, items and chunks. */
static bool settings_check_sizes(const struct settings *s, char *why) {
    if (s->process_memory > 0 && s->process_memory < SETTINGS_PROCESS_MEMORY_MIN) {
        return setting_refuse(why, "process_memory wants at least %d megabytes, or 0 for no limit",
                              (int)(SETTINGS_PROCESS_MEMORY_MIN / SETTINGS_MIB));
    }
    if (s->item_size_max > s->maxbytes / 2) {
        return setting_refuse(
            why, "-I (%" PRIu64 " bytes) must be at most half of -m (%" PRIu64 " bytes)",
            s->item_size_max, s->maxbytes);
    }
    if (!s->no_chunked_items && s->slab_chunk_max > s->item_size_max) {
        return setting_refuse(
            why,
            "slab_chunk_max (%" PRIu64 " bytes) must not be larger than -I (%" PRIu64 " bytes)",
            s->slab_chunk_max, s->item_size_max);
    }
    if (s->item_size_max > s->slab_chunk_max && s->item_size_max % s->slab_chunk_max != 0) {
        return setting_refuse(
            why, "-I (%" PRIu64 " bytes) must be a multiple of slab_chunk_max (%" PRIu64 " bytes)",
            s->item_size_max, s->slab_chunk_max);
    }
    if (PAGE_BYTES % s->slab_chunk_max != 0) {
        return setting_refuse(
            why, "slab_chunk_max (%" PRIu64 " bytes) must divide a page of %u bytes",
            s->slab_chunk_max, PAGE_BYTES);
    }
    if ((uint64_t)s->chunk_size + ITEM_HEADER_MAX > s->slab_chunk_max) {
        return setting_refuse(
            why, "-n (%d bytes) must be smaller than slab_chunk_max (%" PRIu64 " bytes)",
            s->chunk_size, s->slab_chunk_max);
    }
    return true;
}

/* Checks that TLS has a TCP port and a certificate, and that UDP has no logins. */
static bool settings_check_transport(const struct settings *s, char *why) {
    if (s->ssl_enabled && (s->socketpath || s->port == 0)) {
        return setting_refuse(why, "-Z wants a TCP port: there is no TLS over a UNIX socket");
    }
    if (s->udpport != 0 && (settings_auth_file(s) || s->sasl)) {
        return setting_refuse(why, "-U does not go with %s: datagrams carry no login and no TLS",
                              s->sasl ? "-S" : "-Y");
    }
    if (s->ssl_enabled && !s->ssl_chain_cert) {
        return setting_refuse(why, "-Z wants a certificate: -o ssl_chain_cert=FILE, and "
                                   "ssl_key=FILE where that does not hold its key");
    }
    return true;
}

/* Checks settings that need the slab store. */
static bool settings_check_store(const struct settings *s, char *why) {
    if (settings_have_slab(s)) {
        return true;
    }
    if (settings_move_pages(s)) {
        return setting_refuse(why, "slab_automove needs --store=slab, this server has %s",
                              s->store);
    }
    if (s->like_memcached) {
        return setting_refuse(why, "like_memcached needs --store=slab, not %s", s->store);
    }
    if (s->takeover_socket) {
        return setting_refuse(why, "takeover_socket needs --store=slab, not %s", s->store);
    }
    if (s->memory_file) {
        return setting_refuse(
            why, "-e needs --store=slab: items of --store=%s cannot be kept in a file", s->store);
    }
    if (s->slab_sizes) {
        return setting_refuse(why, "slab_sizes needs --store=slab, not %s", s->store);
    }
    return true;
}

bool settings_parse_slab_sizes(const char *text, uint32_t chunk_bytes_max, unsigned class_most,
                               struct slab_sizes *sizes, char *why) {
    sizes->count = 0;
    for (const char *at = text;;) {
        uint64_t size;
        const char *end = at + number_digits(at, 10, &size);
        if (end == at || (*end != '-' && *end != '\0')) {
            return setting_refuse(
                why, "slab_sizes wants sizes in bytes with - between them, not \"%s\"", text);
        }
        if (size < SLAB_SIZES_LEAST_BYTES || size >= chunk_bytes_max) {
            return setting_refuse(
                why, "slab_sizes: %" PRIu64 " is not from %d to under slab_chunk_max (%u bytes)",
                size, SLAB_SIZES_LEAST_BYTES, chunk_bytes_max);
        }
        if (sizes->count > 0 && size < sizes->bytes[sizes->count - 1] + SLAB_SIZES_STEP_BYTES) {
            return setting_refuse(
                why, "slab_sizes: %" PRIu64 " must be at least %d more than the size before it",
                size, SLAB_SIZES_STEP_BYTES);
        }
        if (sizes->count == class_most - 1) {
            return setting_refuse(why, "slab_sizes holds at most %u sizes", class_most - 1);
        }
        sizes->bytes[sizes->count++] = (uint32_t)size;
        if (*end == '\0') {
            return true;
        }
        at = end + 1;
    }
}

bool settings_check(const struct settings *s, char *why) {
    if (strlen(s->prefix_delimiter) != 1) {
        return setting_refuse(why, "-D wants a single character, not \"%s\"", s->prefix_delimiter);
    }
    if (s->hot_lru_pct + s->warm_lru_pct > 80) {
        return setting_refuse(
            why, "hot_lru_pct (%d) and warm_lru_pct (%d) must not exceed 80 together",
            s->hot_lru_pct, s->warm_lru_pct);
    }
    if (s->partitions & (s->partitions - 1)) {
        return setting_refuse(why, "--partitions (%d) must be a power of two", s->partitions);
    }
    if (s->takeover && !s->takeover_socket) {
        return setting_refuse(
            why, "--takeover wants -o takeover_socket, where the server that runs is found");
    }
    if (!settings_check_sizes(s, why) || !settings_check_transport(s, why) ||
        !settings_check_store(s, why)) {
        return false;
    }
    struct slab_sizes sizes;
    return !s->slab_sizes || settings_parse_slab_sizes(s->slab_sizes, (uint32_t)s->slab_chunk_max,
                                                       (unsigned)s->slab_classes, &sizes, why);
}

static bool setting_is_default(const char *field, int value) {
    return value == (int)setting_find(field, strlen(field))->default_number;
}

const char *settings_policy(const struct settings *s) {
    bool own_numbers = !setting_is_default("s3fifo_small_percent", s->s3fifo_small_percent) ||
                       !setting_is_default("s3fifo_ghost_percent", s->s3fifo_ghost_percent) ||
                       !setting_is_default("s3fifo_promote_hits", s->s3fifo_promote_hits) ||
                       !setting_is_default("s3fifo_skip_percent", s->s3fifo_skip_percent);
    return strcmp(s->policy, "s3auto") == 0 && own_numbers ? "s3fifo" : s->policy;
}
