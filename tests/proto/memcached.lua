-- SPDX-License-Identifier: BSD-3-Clause
--- Transcripts to which some memcacheds reply otherwise than 1.6.45 and slated, each with the other reply.
--
--     [NAME] = { since = VERSION, line = NUMBER, says = REPLY }
--
-- `since`: of the tested versions (1.6.18, 1.6.38 and 1.6.45) the first with the transcript's replies. `line`: of the
-- transcript, the first reply that differs in those before. `says`: the first line that they send instead.
--
-- Most of them have one of these reasons. Before 1.6.45 a command line with too few or too many words is ERROR, where
-- the reply is now CLIENT_ERROR bad command line format, or the words too many are ignored; a dump does not begin with
-- OK; a flag that a meta command does not know is refused. Before 1.6.38 meta commands have no E, and a command may
-- come before a dump or watch.

local M = {}

--- The newest memcached that the transcripts were held against.
M.NEWEST = "1.6.45"

--- Transcripts that only slated passes.
M.SLATED = {
    ["admin-slabs-need-the-slab-store"] = "it starts a server with another store",
}

M.DIFFERENT = {
    ["admin-dumps-after-mn"] = { since = "1.6.45", line = 7, says = "END" },
    ["admin-dumps-must-come-first-in-a-packet"] = { since = "1.6.38", line = 6, says = "END" },
    ["admin-lru-crawler-crawl-bad-class"] = { since = "1.6.38", line = 19, says = "ERROR" },
    ["admin-lru-crawler-m-is-metadump"] = { since = "1.6.45", line = 5, says = "ERROR" },
    ["admin-lru-crawler-metadump"] = { since = "1.6.45", line = 8, says = "key=…" },
    ["admin-lru-crawler-metadump-empty"] = { since = "1.6.45", line = 5, says = "END" },
    ["admin-lru-crawler-metadump-hash-empty"] = { since = "1.6.45", line = 5, says = "END" },
    ["admin-lru-crawler-metadump-shows-fetch-and-expiry"] = { since = "1.6.45", line = 12, says = "key=…" },
    ["admin-lru-crawler-mgdump"] = { since = "1.6.45", line = 8, says = "mg key" },
    ["admin-lru-crawler-mgdump-empty"] = { since = "1.6.45", line = 5, says = "EN" },
    ["admin-lru-crawler-mgdump-hash"] = { since = "1.6.45", line = 8, says = "mg Zm9v b" },
    ["admin-lru-crawler-off-at-start"] = { since = "1.6.38", line = 11, says = "ERROR" },
    ["admin-slabs-automove"] = { since = "1.6.45", line = 20, says = "OK" },
    ["admin-slabs-automove-errors"] = { since = "1.6.45", line = 22, says = "OK" },
    ["admin-watch-after-mn"] = { since = "1.6.38", line = 7, says = "OK" },
    ["admin-watch-errors"] = { since = "1.6.45", line = 12, says = "(nothing)" },
    ["admin-watch-must-come-first-in-a-packet"] = { since = "1.6.38", line = 6, says = "OK" },
    ["admin-words-may-be-cut-short"] = { since = "1.6.45", line = 4, says = "ERROR" },
    ["classic-cas-needs-a-number"] = { since = "1.6.45", line = 7, says = "ERROR" },
    ["classic-cas-of-0-matches-no-item"] = { since = "1.6.45", line = 34, says = "ERROR" },
    ["classic-delete-ignores-extra-words"] = { since = "1.6.45", line = 9,
        says = "CLIENT_ERROR bad command line format.  Usage:…" },
    ["classic-get-needs-a-key"] = { since = "1.6.45", line = 3, says = "ERROR" },
    ["classic-incr-refuses-a-bad-delta"] = { since = "1.6.45", line = 17, says = "ERROR" },
    ["classic-noreply-as-a-key"] = { since = "1.6.45", line = 4, says = "NOT_FOUND" },
    ["classic-noreply-is-not-for-reading"] = { since = "1.6.45", line = 24, says = "DELETED" },
    ["classic-noreply-must-be-the-last-word"] = { since = "1.6.45", line = 5, says = "ERROR" },
    ["classic-noreply-silences-failure"] = { since = "1.6.45", line = 21, says = "ERROR" },
    ["classic-noreply-silences-success"] = { since = "1.6.38", line = 36, says = "VALUE l 0 1" },
    ["classic-noreply-unknown-command-is-silent"] = { since = "1.6.45", line = 6, says = "ERROR" },
    ["classic-shutdown-needs-its-option"] = { since = "1.6.45", line = 3, says = "ERROR: shutdown not enabled" },
    ["classic-touch-answers-touched-or-not-found"] = { since = "1.6.45", line = 19, says = "ERROR" },
    ["classic-version-and-verbosity"] = { since = "1.6.45", line = 15, says = "ERROR" },
    ["data-bad-chunk-removes-nothing-but-stores-nothing"] = { since = "1.6.45", line = 6, says = "ERROR" },
    ["data-bad-chunk-tail-is-parsed-as-a-command"] = { since = "1.6.45", line = 9, says = "ERROR" },
    ["data-bad-exptime"] = { since = "1.6.45", line = 7, says = "ERROR" },
    ["data-bad-flags"] = { since = "1.6.45", line = 7, says = "ERROR" },
    ["data-bad-length"] = { since = "1.6.45", line = 3, says = "ERROR" },
    ["data-bad-length-with-noreply-is-reported"] = { since = "1.6.45", line = 3, says = "ERROR" },
    ["data-line-end-must-be-crlf"] = { since = "1.6.45", line = 4, says = "ERROR" },
    ["limit-http-words-elsewhere-are-harmless"] = { since = "1.6.45", line = 3, says = "(hangs up)" },
    ["limit-key-of-251-bytes-is-refused"] = { since = "1.6.45", line = 4, says = "(nothing)" },
    ["limit-noreply-hides-an-overlong-key"] = { since = "1.6.45", line = 5, says = "ERROR" },
    ["limit-overlong-key-spoils-the-whole-multi-get"] = { since = "1.6.45", line = 7, says = "(nothing)" },
    ["limit-short-lines"] = { since = "1.6.45", line = 3, says = "ERROR" },
    ["limit-spaces-between-words"] = { since = "1.6.45", line = 30, says = "END" },
    ["limit-unknown-commands"] = { since = "1.6.45", line = 17, says = "END" },
    ["meta-arithmetic"] = { since = "1.6.45", line = 23, says = "CLIENT_ERROR invalid or duplicate flag" },
    ["meta-arithmetic-compares-cas"] = { since = "1.6.38", line = 3, says = "CLIENT_ERROR invalid flag" },
    ["meta-arithmetic-errors"] = { since = "1.6.45", line = 21, says = "CLIENT_ERROR invalid or duplicate flag" },
    ["meta-arithmetic-quiet"] = { since = "1.6.38", line = 3, says = "CLIENT_ERROR invalid flag" },
    ["meta-bad-delta-and-initial-value"] = { since = "1.6.45", line = 13,
        says = "CLIENT_ERROR invalid or duplicate flag" },
    ["meta-bad-tokens-of-number-flags"] = { since = "1.6.45", line = 29, says = "HD" },
    ["meta-base64-errors"] = { since = "1.6.45", line = 15, says = "CLIENT_ERROR invalid or duplicate flag" },
    ["meta-base64-keys"] = { since = "1.6.38", line = 19, says = "CLIENT_ERROR invalid flag" },
    ["meta-commands-need-a-key"] = { since = "1.6.45", line = 3, says = "ERROR" },
    ["meta-delete"] = { since = "1.6.38", line = 5, says = "CLIENT_ERROR invalid flag" },
    ["meta-delete-drops-the-value-with-x"] = { since = "1.6.38", line = 3, says = "CLIENT_ERROR invalid flag" },
    ["meta-delete-invalidates-with-I"] = { since = "1.6.38", line = 3, says = "CLIENT_ERROR invalid flag" },
    ["meta-delete-invalidation-compares-cas"] = { since = "1.6.38", line = 3, says = "CLIENT_ERROR invalid flag" },
    ["meta-delete-quiet-hides-success"] = { since = "1.6.38", line = 3, says = "CLIENT_ERROR invalid flag" },
    ["meta-duplicate-flags-are-refused"] = { since = "1.6.45", line = 11,
        says = "CLIENT_ERROR invalid or duplicate flag" },
    ["meta-flags-that-are-no-letters-are-malformed"] = { since = "1.6.45", line = 3,
        says = "CLIENT_ERROR invalid flag" },
    ["meta-get-of-stale-and-empty-items-by-classic-commands"] = { since = "1.6.38", line = 19,
        says = "CLIENT_ERROR invalid or duplicate flag" },
    ["meta-invalid-flags-are-refused"] = { since = "1.6.45", line = 15,
        says = "CLIENT_ERROR invalid or duplicate flag" },
    ["meta-me-takes-a-base64-key-with-a-further-word"] = { since = "1.6.45", line = 5,
        says = "ME Zm9v exp=-1 la=0 cas=2 fetch=no cls=1 size=63" },
    ["meta-mg-accepts-flags-of-other-commands"] = { since = "1.6.38", line = 5, says = "CLIENT_ERROR invalid flag" },
    ["meta-mg-returns-metadata-in-request-order"] = { since = "1.6.38", line = 3, says = "CLIENT_ERROR invalid flag" },
    ["meta-mg-vivified-item-takes-an-explicit-cas"] = { since = "1.6.38", line = 3,
        says = "CLIENT_ERROR invalid flag" },
    ["meta-mg-withholds-the-value-with-an-equal-C"] = { since = "1.6.45", line = 5, says = "VA 2 c55" },
    ["meta-mset-bad-data-chunk"] = { since = "1.6.45", line = 7, says = "ERROR" },
    ["meta-mset-bad-tokens"] = { since = "1.6.38", line = 9, says = "CLIENT_ERROR invalid flag" },
    ["meta-mset-compares-cas-with-C"] = { since = "1.6.38", line = 5, says = "CLIENT_ERROR invalid flag" },
    ["meta-mset-invalidation-keeps-time-and-win"] = { since = "1.6.38", line = 3, says = "CLIENT_ERROR invalid flag" },
    ["meta-mset-invalidation-with-I"] = { since = "1.6.38", line = 3, says = "CLIENT_ERROR invalid flag" },
    ["meta-mset-mode-append-and-prepend"] = { since = "1.6.38", line = 20, says = "HD" },
    ["meta-mset-mode-set"] = { since = "1.6.45", line = 12, says = "CLIENT_ERROR incorrect length for M token" },
    ["meta-mset-quiet-hides-success"] = { since = "1.6.38", line = 8, says = "CLIENT_ERROR invalid flag" },
    ["meta-mset-returns-its-cas"] = { since = "1.6.38", line = 3, says = "CLIENT_ERROR invalid flag" },
    ["meta-mset-stores"] = { since = "1.6.38", line = 8, says = "CLIENT_ERROR invalid flag" },
    ["meta-win-token-of-a-stale-item"] = { since = "1.6.38", line = 3, says = "CLIENT_ERROR invalid flag" },
    ["option-C-cas-values-are-zero"] = { since = "1.6.38", line = 28, says = "CLIENT_ERROR invalid flag" },
    ["option-X-forbids-dumps"] = { since = "1.6.38", line = 9, says = "ERROR" },
    ["stats-detail-may-be-cut-short"] = { since = "1.6.45", line = 3,
        says = "CLIENT_ERROR usage: stats detail on|off|dump" },
    ["stats-count-commands"] = { since = "1.6.45", line = 135, says = "STAT slab_reassign_running 0" },
    ["stats-general"] = { since = "1.6.45", line = 66, says = "STAT slab_reassign_running 0" },
    ["stats-reset-zeroes-counters"] = { since = "1.6.45", line = 127, says = "STAT slab_reassign_running 0" },
    ["stats-sizes-disabled"] = { since = "1.6.38", line = 6, says = "STAT sizes_status enabled" },
    ["stats-proxy"] = { since = "1.6.45", line = 3, says = "END" },
    ["stats-subcommands-may-be-cut-short"] = { since = "1.6.45", line = 3, says = "ERROR" },
}

return M
