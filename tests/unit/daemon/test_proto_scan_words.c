/* All claims of test_proto_scan.c on the word-at-a-time scan of machines without SSE2, tested on any. */
#define SLATE_SCAN_WORDS
#include "test_proto_scan.c"
