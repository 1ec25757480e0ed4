-- Makes the C file of modules.h: lua5.4 compile.lua FILE... > modules.c, in the directory that holds
-- kstat/, so that messages name a file as it stands below a directory of modules. SPDX-License-Identifier: MIT
local out = { '#include "host/modules.h"\n\n' }
local entries = {}

for i, path in ipairs(arg) do
  local code = string.dump(assert(loadfile(path, "t")))
  local name = path:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
  local bytes = {}
  for at = 1, #code, 16 do
    bytes[#bytes + 1] = "\t" .. table.concat({ code:byte(at, math.min(at + 15, #code)) }, ", ") .. ",\n"
  end
  out[#out + 1] = ("static const unsigned char code%d[] = {\n%s};\n\n"):format(i, table.concat(bytes))
  entries[i] = ('\t{ "%s", "%s", code%d, sizeof(code%d) },\n'):format(name, path, i, i)
end

out[#out + 1] = "const struct ks_module ks_modules[] = {\n" .. table.concat(entries) ..
  "\t{ NULL, NULL, NULL, 0 }\n};\n"
io.stdout:write(table.concat(out))
