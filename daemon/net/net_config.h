/* The settings of the network. */
#ifndef SLATE_NET_NET_CONFIG_H
#define SLATE_NET_NET_CONFIG_H
#include <stdbool.h>
#include <stdint.h>

#include "net/tls.h"

struct handover_fds;
struct settings;

struct net_config {
    /* Comma-separated addresses to listen on: host, host:port, [v6]:port, or * for every interface.
     * The words of server/config/listen_list.h may stand before an address. NULL or empty:
     * 127.0.0.1. All addresses of a host are taken. An address and port given twice is taken
     * once. */
    const char *listen;
    /* the port of addresses without one: 1..65535; 0: no TCP; -1: any free port */
    int         port;
    int         udp_port;       /* the same for UDP; 0: no UDP */
    uint32_t    udp_factor;     /* net/udp/udp.h; 0: replies may have any length */
    const char *unix_path;      /* listen on this UNIX socket and not on TCP; NULL: TCP */
    unsigned    unix_mode;      /* permissions of the UNIX socket; 0700: for its owner alone */
    int         backlog;
    unsigned    worker_count;   /* 1..SERVER_WORKERS_MAX */
    bool        open_to_all;    /* other machines may connect without a password or certificate */
    const struct tls_config *tls; /* NULL: no TLS */
    /* refuse a value of which nothing has come for so long; 0: only while others wait for memory */
    uint32_t    value_timeout_s;
    /* what the connections of all workers may hold in memory (net/buffer.h); 0: no limit */
    uint64_t    held_bytes_most;
    const char *handover_path;  /* the socket to which the next process connects; NULL: none */
    int         handover_fd;    /* that socket, if the previous process handed it over, else -1 */
    struct handover_fds *inherited; /* sockets of the previous process; NULL: none */
    /* until net_takeover_done, the paths of sockets belong to another process */
    bool        takes_over;
    /* write "TCP INET: port" lines to this file (MEMCACHED_PORT_FILENAME); NULL: write none */
    const char *port_file;
    /* answer clients before net_begin (net/listen/startup_responder.h); false: clients wait */
    bool        answers_at_start;
};

/* Fills both from the settings. Both borrow texts of the settings; with -Z the first points to the
 * second. Members that come from another process or from the environment are left out. */
void net_config_of(const struct settings *, struct net_config *, struct tls_config *);
#endif
