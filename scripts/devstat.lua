--- devstat: FreeBSD's iostat(8) over the disks of this machine, or over a capture with kstatlua -r.
--
--     devstat [-CdhIKoTxz?] [-c count] [-n devs] [-t type,if,pass] [-w wait]
--             [drives] [wait [count]]
--
-- `kstatlua devstat --help` explains. Messages and exit statuses are those of iostat(8), but that a wrong option is
-- named, with exit status 2, and that it is 3 where the source cannot be read or the output not be written.
-- SPDX-License-Identifier: MIT
return require("kstat.devstat.iostat")
