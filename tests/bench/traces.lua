-- SPDX-License-Identifier: BSD-3-Clause
--- The access traces that the comparisons play, each with the sizes that make 64 MB a sensible share of its keys.
-- TRACES names their folder, `NAME.txt.gz` with a `key size` or a `key` a line.

local compare = require("compare")

local M = {}

local FOLDER <const> = os.getenv("TRACES") or "../shared/traces"

-- `values` are for lines without a size: a number, or log-normal with median and sigma; `scale` multiplies all.
local ROWS <const> = {
  { name = "cdn", trace = "adaptsize_cdn", values = "100", scale = 1 }, -- 64 MB are 23 % of the values' bytes
  { name = "cdn x2.1", trace = "adaptsize_cdn", values = "100", scale = 2.1 }, -- 64 MB are 10 %
  { name = "cpio", trace = "cloudphysics_io", values = "100", scale = 1 }, -- 64 MB are 3 %
  { name = "cpio x3.15", trace = "cloudphysics_io", values = "100", scale = 3.15 }, -- 64 MB are 1 %
  { name = "scarab", trace = "scarab_recs", values = "l1500,1", scale = 1 }, -- 64 MB are 10 %
  { name = "web12", trace = "cache2k_web12", values = "l28000,1", scale = 1 }, -- 64 MB are 10 %
  { name = "corda", trace = "corda_vault", values = "l4300,1", scale = 1 }, -- 64 MB are 10 %
  { name = "loop", trace = "lirs_loop", values = "83000", scale = 1 }, -- 64 MB are 76 %
  { name = "kvreg", trace = "meta_kvreg_syn", values = "100", scale = 1 }, -- 64 MB are nearly all
  { name = "kvreg x4", trace = "meta_kvreg_syn", values = "100", scale = 4 }, -- 64 MB are a quarter
}

--- The rows whose trace exists, with its `path`; prints the skipped ones.
function M.rows()
  local found = {}
  for _, row in ipairs(ROWS) do
    row.path = ("%s/%s.txt.gz"):format(FOLDER, row.trace)
    if compare.exists(row.path) then
      found[#found + 1] = row
    else
      print(("%s skipped: there is no %s (TRACES names the folder)"):format(row.name, row.path))
    end
  end
  return found
end

return M
