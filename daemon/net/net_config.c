#include "net/net_config.h"

#include <string.h>

#include "server/config/settings.h"

void net_config_of(const struct settings *s, struct net_config *net, struct tls_config *tls) {
    *tls = (struct tls_config){
        .chain_file = s->ssl_chain_cert,
        .key_file = s->ssl_key,
        .ca_file = s->ssl_ca_cert,
        .key_is_der = s->ssl_keyformat == 2,
        .verify_mode = (unsigned)s->ssl_verify_mode,
        .ciphers = s->ssl_ciphers,
        .min_version = s->ssl_min_version,
        .session_cache = s->ssl_session_cache,
        .kernel = s->ssl_kernel_tls,
        .write_bytes = s->ssl_wbuf_size,
        .handshake_s = (uint32_t)s->ssl_handshake_timeout,
    };
    *net = (struct net_config){
        .listen = s->inter,
        .tls = s->ssl_enabled ? tls : NULL,
        .port = s->port,
        .open_to_all = s->public,
        .udp_port = s->udpport,
        .udp_factor = (uint32_t)s->udp_reply_factor,
        .unix_path = s->socketpath,
        .unix_mode = (unsigned)s->access_mask,
        .backlog = s->backlog,
        .worker_count = (unsigned)s->threads,
        .value_timeout_s = (uint32_t)s->value_timeout,
        .held_bytes_most = s->read_buf_mem_limit,
        .handover_path = s->takeover_socket,
        .handover_fd = -1,
        .takes_over = s->takeover,
        .answers_at_start = s->memory_file && strcmp(s->starting, "answer") == 0,
    };
}
