-- SPDX-License-Identifier: BSD-3-Clause
-- The transcripts of tests/proto with short and interrupted transfers.
require("support.proto_server").use("tests/faults/slated-dribble")
assert(loadfile("tests/spec/proto_spec.lua", "t", _ENV))()
