-- compile.lua - writes the C file that host.h describes: lua5.4 csrc/host/compile.lua FILE... > modules.c, where
-- each FILE lies below lua/ or scripts/. The compiled form has no line numbers and no names of locals, which are half
-- of its size. A file that is newer than the executable is read instead, and has both. SPDX-License-Identifier: MIT
local out = { '#include "host/host.h"\n\n' }
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
  local about = path == file and text:match("^%-%-%- [%w_]+: ([^\n]-)%.?\n") or ""
  local bytes = {}
  for at = 1, #code, 16 do
    bytes[#bytes + 1] = "\t" .. table.concat({ code:byte(at, math.min(at + 15, #code)) }, ", ") .. ",\n"
  end
  out[#out + 1] = ("static const unsigned char code%d[] = {\n%s};\n\n"):format(i, table.concat(bytes))
  entries[i] = ('\t{ "%s", "%s", %q, code%d, sizeof(code%d) },\n'):format(name, file, about, i, i)
end

out[#out + 1] = "const struct ks_module ks_modules[] = {\n" .. table.concat(entries) ..
  "\t{ NULL, NULL, NULL, NULL, 0 }\n};\n"
io.stdout:write(table.concat(out))
