#!/bin/sh
# What the programs of `kstatlua latency` cost: the kernel's own account of their time, which includes 50 ns or so of
# accounting for each run, beside biolatency and runqlat of libbpf-tools where these are installed and run. It takes
# root, BPF, a free loop device and bpftool. SPDX-License-Identifier: MIT
set -eu
load=$KSTAT_BUILD/spec/latency_load
dir=$(mktemp -d) && export KSTAT_DIR="$dir"
before=$(cat /proc/sys/kernel/bpf_stats_enabled 2>/dev/null || echo none)
device= pid=
finish() {
	[ -z "$pid" ] || kill -INT "$pid" 2>/dev/null || :
	[ -z "$device" ] || losetup -d "$device"
	[ "$before" = none ] || echo "$before" > /proc/sys/kernel/bpf_stats_enabled
	rm -rf "$dir"
}
trap finish EXIT
if [ "$(id -u)" -ne 0 ] || [ "$before" = none ] || ! command -v bpftool > /dev/null; then
	echo "pending: takes root, BPF and bpftool"
	exit 0
fi
make -s --no-print-directory BUILD="$KSTAT_BUILD" "${load#"$PWD"/}"
truncate -s 64M "$dir/disk"
device=$(losetup --show -f "$dir/disk")

# Prints the time of the programs of a process since they were loaded, by run of the one named $2, which runs once for each event.
report() {
	programs=$(cat /proc/"$pid"/fdinfo/* 2>/dev/null | sed -n 's/^prog_id:[[:space:]]*//p' | sort -u)
	for id in $programs; do bpftool prog show id "$id"; done | awk -v name="$2" -v what="$1" '
		/name/ { for (i = 1; i < NF; i++) { if ($i == "run_time_ns") t = $(i + 1); if ($i == "run_cnt") n = $(i + 1) }
			if (index($0, " run_time_ns")) { if (!name || index($0, "name " name " ")) events = n > events ? n : events; sum += t; t = 0 } }
		END { if (events) printf "%-44s %6.0f ns in all, of %d\n", what, sum / events, events }'
}

# Runs a program that loads BPF, makes a load, and reports: what, the event's program, the load, the program.
measure() {
	what=$1 name=$2 work=$3
	shift 3
	"$@" > "$dir/out" 2>&1 & pid=$!
	sleep 2
	kill -0 "$pid" 2>/dev/null || { echo "$what: pending: $(head -n 1 "$dir/out")"; pid=; return; }
	echo 1 > /proc/sys/kernel/bpf_stats_enabled
	eval "$work"
	echo 0 > /proc/sys/kernel/bpf_stats_enabled
	report "$what" "$name"
	kill -INT "$pid"
	wait "$pid" 2>/dev/null || :
	pid=
}
reads='"$load" disk "$device" read 8 100000'
switches='taskset -c 0 "$load" ping 100000'
exits='"$load" storm parent child 5000'
kstatlua=$KSTAT_BUILD/bin/kstatlua
measure "a request of a disk, kstatlua latency disk" disk_start "$reads" "$kstatlua" latency disk
command -v biolatency > /dev/null && measure "a request of a disk, biolatency -Q" "" "$reads" biolatency -Q 60 1
measure "a switch of tasks, kstatlua latency cpu" cpu_switch "$switches" "$kstatlua" latency cpu
command -v runqlat > /dev/null && measure "a switch of tasks, runqlat" "" "$switches" runqlat 60 1
measure "an exit, kstatlua latency exits" exit_process "$exits" "$kstatlua" latency exits
"$kstatlua" latency 0.1 & pid=$!
sleep 3
cpu() { awk '{ print $14 + $15 }' "/proc/$pid/stat"; }
a=$(cpu) && sleep 10 && b=$(cpu)
echo "the process at 10 Hz, all four, $(nproc) CPUs: $(echo "$a $b" | awk '{ printf "%.1f", ($2 - $1) / 10 }') % of a CPU," \
    "$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status") kB of its own memory"
