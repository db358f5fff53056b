-- SPDX-License-Identifier: BSD-3-Clause
-- The suites of other projects that `fetch` brings pass on slated as on memcached: run by `make test-clients`.

local suites = require("clients.suites")

describe("slated under the suites of other projects", function()
  for suite, folder in pairs({ django = "build/clients/django", pylibmc = "build/clients/pylibmc" }) do
    it("passes as many of " .. suite .. "'s tests as memcached", function()
      if not os.rename(folder, folder) then
        pending(suite .. "'s sources are not here; make test-clients fetches them where there is Python")
        return
      end
      local ours, theirs = suites.compare(suite, folder)
      assert.truthy(theirs, suite .. " did not run on memcached")
      assert.equal(theirs, ours)
    end)
  end
end)
