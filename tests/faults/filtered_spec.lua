-- SPDX-License-Identifier: BSD-3-Clause
-- The transcripts of tests/proto behind the filter of system calls.
require("support.proto_server").use("tests/faults/slated-filtered")
assert(loadfile("tests/spec/proto_spec.lua", "t", _ENV))()
