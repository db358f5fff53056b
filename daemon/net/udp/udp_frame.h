/* The frame of memcached's datagrams, and the bound of replies to addresses that may be forged.
 * Pure functions. */
#ifndef SLATE_NET_UDP_UDP_FRAME_H
#define SLATE_NET_UDP_UDP_FRAME_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    UDP_FRAME_BYTES = 8,
    UDP_DATAGRAM_BYTES = 1400, /* of a reply, with its frame */
    UDP_PART_BYTES = UDP_DATAGRAM_BYTES - UDP_FRAME_BYTES,
    UDP_HEADERS_BYTES = 28, /* of IPv4 and UDP; IPv6's are longer, which favours nobody */
};

/* True: the datagram is longer than its frame, and the only one of its request. */
static inline bool udp_frame_read(const unsigned char *datagram, size_t n, uint16_t *id) {
    if (n <= UDP_FRAME_BYTES || datagram[4] != 0 || datagram[5] != 1) {
        return false;
    }
    *id = (uint16_t)(datagram[0] << 8 | datagram[1]);
    return true;
}

/* True: the text is a server's error and no request. The reply would be an error again, and after
 * one forged datagram two servers would send errors to each other for ever. Any other reply that
 * comes as a request ends after a hop or two, in an error or in no reply. */
static inline bool udp_is_error(const char *text, size_t n) {
    static const char *const errors[] = {"ERROR", "CLIENT_ERROR", "SERVER_ERROR"};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        size_t bytes = strlen(errors[i]);
        if (n >= bytes && memcmp(text, errors[i], bytes) == 0) {
            return true;
        }
    }
    return false;
}

static inline void udp_frame_write(unsigned char frame[UDP_FRAME_BYTES], uint16_t id,
                                   uint16_t sequence, uint16_t count) {
    const uint16_t words[] = {id, sequence, count, 0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        frame[2 * i] = (unsigned char)(words[i] >> 8);
        frame[2 * i + 1] = (unsigned char)words[i];
    }
}

/* Returns the number of datagrams of a reply; at least one. */
static inline size_t udp_parts(size_t reply_bytes) {
    return reply_bytes == 0 ? 1 : (reply_bytes + UDP_PART_BYTES - 1) / UDP_PART_BYTES;
}

/* True: the reply, with all its frames and headers, is at most `factor` times as long as its
 * request. Factor 0: always true. */
static inline bool udp_reply_within_factor(size_t reply_bytes, size_t datagram_bytes,
                                           uint32_t factor) {
    size_t sent = reply_bytes + udp_parts(reply_bytes) * (UDP_FRAME_BYTES + UDP_HEADERS_BYTES);
    return factor == 0 || sent <= (size_t)factor * (datagram_bytes + UDP_HEADERS_BYTES);
}
#endif
