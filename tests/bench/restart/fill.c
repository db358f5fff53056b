/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fill SOCKET FIRST COUNT BYTES      stores COUNT keys from number FIRST on, and prints when the last reply came fill SOCKET FIRST COUNT
 * get        reads them, and prints the number found */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BATCH = 1000 };

static char buffer[1 << 20];

static void send_all(int fd, const char *from, size_t n) {
    while (n > 0) {
        ssize_t sent = write(fd, from, n);
        if (sent <= 0) {
            perror("write");
            exit(1);
        }
        from += sent;
        n -= (size_t)sent;
    }
}

/* Reads until "MN\r\n"; returns the lines that begin with HD. */
static unsigned long hits_until_mn(int fd) {
    size_t end = 0;
    unsigned long hits = 0;
    do {
        ssize_t got = read(fd, buffer + end, sizeof buffer - end);
        if (got <= 0) {
            perror("read");
            exit(1);
        }
        end += (size_t)got;
    } while (end < 4 || memcmp(buffer + end - 4, "MN\r\n", 4) != 0);
    for (const char *p = buffer; (p = memchr(p, 'H', (size_t)(buffer + end - p))) != NULL; p++) {
        hits += p[1] == 'D';
    }
    return hits;
}

int main(int argc, char **argv) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (argc != 5) {
        fprintf(stderr, "usage: fill SOCKET FIRST COUNT BYTES|get\n");
        return 1;
    }
    snprintf(at.sun_path, sizeof at.sun_path, "%s", argv[1]);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        perror(argv[1]);
        return 1;
    }
    unsigned long first = strtoul(argv[2], NULL, 10), count = strtoul(argv[3], NULL, 10), hits = 0;
    int reads = strcmp(argv[4], "get") == 0, bytes = reads ? 0 : atoi(argv[4]);
    static char value[8192], request[BATCH * 8400];
    memset(value, 'v', sizeof value);
    for (unsigned long done = 0; done < count;) {
        char *p = request;
        for (int i = 0; i < BATCH && done < count; i++, done++) {
            p += reads ? sprintf(p, "mg memtier-%016lu\r\n", first + done)
                       : sprintf(p, "ms memtier-%016lu %d q\r\n%.*s\r\n", first + done, bytes, bytes, value);
        }
        p += sprintf(p, "mn\r\n");
        send_all(fd, request, (size_t)(p - request));
        hits += hits_until_mn(fd);
    }
    if (reads) {
        printf("%lu\n", hits);
    }
    return 0;
}
