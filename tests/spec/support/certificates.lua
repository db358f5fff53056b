-- SPDX-License-Identifier: BSD-3-Clause
--- Certificates for specs, made by openssl.
local M = {}

--- Whether there is an openssl to make them.
function M.available() return os.execute("command -v openssl >/dev/null") and true or false end

--- Writes NAME.key and NAME.pem to `folder`, signed by ISSUER.pem or self-signed, valid for so many days (2). Newer
-- openssl makes no certificate that expires before it begins; an expired one gets two dates there. names: alternative
-- names, as openssl writes them: DNS:x,URI:y.
function M.make(folder, name, issuer, days, names)
    local subject = ("-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=%s"):format(name)
    subject = names and ("%s -addext subjectAltName=%s"):format(subject, names) or subject
    local files = ("-keyout %s/%s.key -out %s/%s"):format(folder, name, folder, name)
    if not issuer then
        return assert(os.execute(("openssl req -x509 -days 2 %s %s.pem 2>/dev/null"):format(subject, files)))
    end
    assert(os.execute(("openssl req %s %s.csr 2>/dev/null"):format(subject, files)))
    local line = ("openssl x509 -req -in %s/%s.csr -CA %s/%s.pem -CAkey %s/%s.key -CAcreateserial -out %s/%s.pem%s")
        :format(folder, name, folder, issuer, folder, issuer, folder, name, names and " -copy_extensions copy" or "")
    local lasts = (" -days %d 2>/dev/null"):format(days or 2)
    local past = " -not_before 20200101000000Z -not_after 20200102000000Z 2>/dev/null"
    assert(os.execute(line .. lasts) or (days or 2) < 0 and os.execute(line .. past))
end

return M
