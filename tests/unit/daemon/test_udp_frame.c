/* The frame of datagrams, how a reply is cut, and how much a forged address may be sent. */
#include <string.h>

#include "net/udp/udp_frame.h"
#include "tap.h"

TEST(test_read) {
    uint16_t id = 0;
    const unsigned char whole[] = {0x12, 0x34, 0, 9, 0, 1, 7, 7, 'x'};
    ok(udp_frame_read(whole, sizeof whole, &id) && id == 0x1234, "a datagram that is alone is a request");
    ok(!udp_frame_read(whole, UDP_FRAME_BYTES, &id), "a frame alone is none");
    ok(!udp_frame_read(whole, 3, &id) && !udp_frame_read(whole, 0, &id), "nor is less");
    const unsigned char parts[][9] = {{0, 1, 0, 0, 0, 2, 0, 0, 'x'}, {0, 1, 0, 0, 1, 1, 0, 0, 'x'}, {0, 1, 0, 0, 0, 0, 0, 0, 'x'}};
    for (size_t i = 0; i < 3; i++) {
        ok(!udp_frame_read(parts[i], sizeof parts[i], &id), "nor is a part of a larger one");
    }
}

TEST(test_error) {
    const char *errors[] = {"ERROR\r\n", "CLIENT_ERROR bad\r\n", "SERVER_ERROR busy\r\n"};
    const char *others[] = {"get ERROR\r\n", "ERRO", "error\r\n", "", "SERVER\r\n"};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        ok(udp_is_error(errors[i], strlen(errors[i])), "an error of a server: %.6s", errors[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ok(!udp_is_error(others[i], strlen(others[i])), "no error of a server: %.6s", others[i]);
    }
}

TEST(test_write) {
    unsigned char frame[UDP_FRAME_BYTES];
    const unsigned char want[] = {0xab, 0xcd, 0x01, 0x02, 0x03, 0x04, 0, 0};
    udp_frame_write(frame, 0xabcd, 0x0102, 0x0304);
    ok(memcmp(frame, want, sizeof frame) == 0, "id, sequence number, count and zero are big-endian");
    is(udp_parts(0), 1, "an empty reply is one datagram");
    is(udp_parts(1392), 1, "1,392 bytes are one");
    is(udp_parts(1393), 2, "one more are two");
}

TEST(test_bound) {
    ok(udp_reply_within_factor(1 << 30, 9, 0), "without a factor any reply may be sent");
    ok(udp_reply_within_factor(9, 17, 1), "a reply as long as its request may");
    ok(!udp_reply_within_factor(10, 17, 1), "a byte more may not");
    ok(udp_reply_within_factor(10, 18, 1), "unless the request is padded");
    ok(!udp_reply_within_factor(1393, 1401, 1), "the frame and headers of each datagram count");
    ok(udp_reply_within_factor(54, 17, 2) && !udp_reply_within_factor(55, 17, 2),
       "a factor of two doubles it, headers and all");
}

int main(void) { return tap_main(); }
