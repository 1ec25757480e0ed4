-- Makes the C file of modules.h: lua5.4 csrc/host/compile.lua FILE... > modules.c, each FILE below lua/ or scripts/.
-- Without line numbers and the names of locals: these are half of what would have to be loaded. A file that is
-- newer than the executable is read in place of this, and then has them. SPDX-License-Identifier: MIT
local out = { '#include "host/modules.h"\n\n' }
local entries = {}

for i, path in ipairs(arg) do
  local f = assert(io.open(path, "rb"))
  local text = f:read("a")
  f:close()
  local file = path:gsub("^lua/", "")
  local code = string.dump(assert(load(text, "@" .. file, "t")), true)
  local name = file:gsub("%.lua$", ""):gsub("/init$", "")
  if path ~= file then
    name = name:gsub("/", ".")
  end
  local bytes = {}
  for at = 1, #code, 16 do
    bytes[#bytes + 1] = "\t" .. table.concat({ code:byte(at, math.min(at + 15, #code)) }, ", ") .. ",\n"
  end
  out[#out + 1] = ("static const unsigned char code%d[] = {\n%s};\n\n"):format(i, table.concat(bytes))
  entries[i] = ('\t{ "%s", "%s", code%d, sizeof(code%d) },\n'):format(name, file, i, i)
end

out[#out + 1] = "const struct ks_module ks_modules[] = {\n" .. table.concat(entries) ..
  "\t{ NULL, NULL, NULL, 0 }\n};\n"
io.stdout:write(table.concat(out))
