std = "max"
max_line_length = 120
files["spec"].std = "max+busted"
exclude_files = { "build*", "lua/kstat/page/text.lua" }
files["examples"].read_globals = { "kstat" }
files["lua/kstat/nginx"].globals = { "ngx" }
files["bench/helper/shared_metrics.lua"].globals = { "ngx" }
