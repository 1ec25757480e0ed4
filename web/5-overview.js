// The machine at a glance: cards of charts, and tables of disks, links and file systems. Each part says which
// selectors it needs and gets the data of a round: now and before, maps of kstats by key. One that is `published` gets
// all of them; the others are about the machine, and get its kstats.

const MOST_ROWS = 24; // of a table

function card(parent, title) {
  const now = element("span", { class: "now" }), note = element("div", { class: "note" });
  const place = element("article", { class: "card" }, element("header", null, element("h3", null, title), now), note);
  parent.append(place);
  return { place, now, note };
}

// Kstats of a map with this module and name.
function* those(map, module, name) {
  for (const k of map.values()) if (k.module === module && (name == null || k.name === name)) yield k;
}

// Sum over kstats of the rate of a statistic.
function totalRate(list, before, name) {
  return sum(list.map((k) => rateOf(k, before.get(keyOf(k)), name)));
}

const overview = document.getElementById("overview");
const parts = [];

// more: `parent`, where the card goes, and `published` of its part.
function chartCard(title, series, options, selectors, update, more = {}) {
  const c = card(more.parent || overview, title);
  let chart = null;
  parts.push({
    published: more.published, selectors, hasPast: true,
    update(time, now, before) {
      const { values, headline, note } = update(now, before);
      c.place.hidden = !values || (c.place.hidden && values.every((v) => v == null));
      if (!values) return;
      if (!chart) chart = new Lines(c.place, series, { ...options, label: title });
      chart.push(time, values);
      c.now.textContent = headline;
      c.note.textContent = note;
      chart.place.setAttribute("aria-label", `${title}: ${headline}`);
    },
  });
}

const MODES = [["user", ["nsec_user", "nsec_nice"]], ["system", ["nsec_system"]], ["interrupts", ["nsec_irq", "nsec_softirq"]],
  ["waits for I/O", ["nsec_iowait"]], ["stolen", ["nsec_steal"]]];

chartCard("CPU", MODES.map(([label]) => ({ label })), { unit: "share", stacked: true }, () => ["cpu::time"], (now, before) => {
  const cpus = [...those(now, "cpu", "time")];
  if (!cpus.length) return {};
  const values = MODES.map(([, names]) => {
    const rate = sum(names.map((n) => totalRate(cpus, before, n)));
    return rate == null ? null : rate / cpus.length / 1e7;
  });
  const busy = sum(values.filter((_, i) => i !== 3));
  return { values, headline: busy == null ? "" : digits(Math.min(busy, 100)) + " %", note: `of ${cpus.length} CPUs` };
});

chartCard("Load", [{ label: "1 min" }, { label: "5 min" }, { label: "15 min" }, { label: "CPUs", dash: [4, 4] }],
  { unit: "count" }, () => ["unix:0:system_misc"], (now) => {
    const k = now.get("unix:0:system_misc"), d = k && k.data;
    if (!d) return {};
    const loads = ["avenrun_1min", "avenrun_5min", "avenrun_15min"].map((n) => d[n] == null ? null : d[n] / 256);
    const up = d.boot_time ? `, up ${duration(Date.now() / 1000 - d.boot_time)}` : "";
    return { values: [...loads, d.ncpus], headline: loads[0] == null ? "" : loads[0].toFixed(2), note: `${d.nproc} processes${up}` };
  });

chartCard("Memory", [{ label: "in use" }, { label: "can be freed" }, { label: "free" }], { unit: "bytes", stacked: true },
  () => ["unix:0:meminfo:/^(MemTotal|MemFree|MemAvailable|SwapTotal|SwapFree)$/"], (now) => {
    const k = now.get("unix:0:meminfo"), d = k && k.data;
    if (!d || d.MemTotal == null) return {};
    const available = d.MemAvailable == null ? d.MemFree : d.MemAvailable, size = UNITS.bytes.write;
    const swap = d.SwapTotal ? `, swap ${size(d.SwapTotal - d.SwapFree)} of ${size(d.SwapTotal)}` : "";
    return { values: [d.MemTotal - available, Math.max(available - d.MemFree, 0), Math.min(d.MemFree, available)],
      headline: size(d.MemTotal - available), note: `of ${size(d.MemTotal)}${swap}` };
  });

function isDisk(k) {
  return k.class === "disk" && k.type === "io" && !k.publisher && !/^(loop|ram|fd|zram)$/.test(k.module);
}

// One selector, since a request may have few regular expressions.
function diskSelectors() {
  const modules = [...new Set(kstats.filter(isDisk).map((k) => k.module.replace(/\W/g, ".")))].slice(0, MOST_ROWS);
  return modules.length ? [`/^(${modules.join("|")})$/::/^[^,]+$/`] : [];
}

function disksOf(now) {
  return kstats.filter(isDisk).map((k) => now.get(keyOf(k))).filter(Boolean);
}

chartCard("Disks", [{ label: "read" }, { label: "written" }], { unit: "bytes/s" }, diskSelectors, (now, before) => {
  const disks = disksOf(now);
  if (!disks.length) return {};
  const values = [totalRate(disks, before, "nread"), totalRate(disks, before, "nwritten")], total = sum(values);
  const work = sum([totalRate(disks, before, "reads"), totalRate(disks, before, "writes")]);
  return { values, headline: total == null ? "" : UNITS["bytes/s"].write(total),
    note: work == null ? "" : `${UNITS["/s"].write(work)} operations` };
});

const LINKS = "link:::/^([ro]bytes64|[io]packets64|[io]errors|no(rcv|xmt)buf|link_state)$/";

chartCard("Network", [{ label: "received" }, { label: "sent" }], { unit: "bytes/s" }, () => [LINKS], (now, before) => {
  const links = [...those(now, "link")].filter((k) => k.name !== "lo");
  if (!links.length) return {};
  const values = [totalRate(links, before, "rbytes64"), totalRate(links, before, "obytes64")], total = sum(values);
  const packets = sum([totalRate(links, before, "ipackets64"), totalRate(links, before, "opackets64")]);
  return { values, headline: total == null ? "" : UNITS["bytes/s"].write(total),
    note: packets == null ? "" : `${UNITS["/s"].write(packets)} packets, without lo` };
});

chartCard("Pressure", [{ label: "CPU" }, { label: "memory" }, { label: "I/O" }], { unit: "%" },
  () => ["pressure:0::some_nsec"], (now, before) => {
    const found = ["cpu", "memory", "io"].map((name) => now.get("pressure:0:" + name));
    if (!found.some(Boolean)) return {};
    const values = found.map((k) => k ? totalRate([k], before, "some_nsec") : null).map((x) => x == null ? null : x / 1e7);
    const most = Math.max(...values.filter((v) => v != null));
    return { values, headline: Number.isFinite(most) ? digits(most) + " %" : "", note: "of the time something waited" };
  });

// --- tables ---------------------------------------------------------------------------------

const tables = document.getElementById("tables");

// A table that keeps its rows: update(rows), each { name, cells }, where a cell is a text or an element.
class Table {
  constructor(parent, title, columns) {
    const c = card(parent, title);
    this.card = c;
    this.body = element("tbody");
    this.rows = new Map();
    c.place.append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, element("table", null,
      element("thead", null, element("tr", null, ...columns.map((t) => element("th", { scope: "col" }, t)))), this.body)));
  }

  update(rows, note) {
    const shown = rows.slice(0, MOST_ROWS), names = new Set(shown.map((r) => r.name));
    for (const [name, row] of this.rows) {
      if (!names.has(name)) {
        row.remove();
        this.rows.delete(name);
      }
    }
    for (const [place, { name, cells }] of shown.entries()) {
      let row = this.rows.get(name);
      if (!row) {
        row = element("tr", null, element("th", { scope: "row", title: name }, name), ...cells.map(() => element("td")));
        this.rows.set(name, row);
      }
      if (this.body.children[place] !== row) this.body.insertBefore(row, this.body.children[place] || null);
      cells.forEach((cell, i) => row.children[i + 1].replaceChildren(cell == null ? "–" : cell));
    }
    const more = rows.length - shown.length;
    this.card.place.hidden = rows.length === 0;
    this.card.note.textContent = [note, more > 0 && `${more} more are not shown`].filter(Boolean).join("; ");
  }
}

function bar(share, text) {
  const fill = element("i", { class: share > 0.95 ? "full" : share > 0.8 ? "high" : "" });
  fill.style.width = Math.min(Math.max(share, 0), 1) * 100 + "%";
  return element("span", null, element("span", { class: "bar" }, fill), text);
}

function written(unit, x) {
  return x == null ? null : unitNamed(unit).write(x);
}

// An average length of a queue.
function lengthText(x) {
  return x == null ? null : x < 0.001 ? "0" : UNITS.count.write(x);
}

// What a queue did: the rates of an I/O kstat. Times per operation are those that it waited and was served.
function queueOf(k, before) {
  const was = before.get(keyOf(k)), rate = (name) => rateOf(k, was, name);
  const done = sum([rate("reads"), rate("writes")]), waiting = rate("wlentime"), served = rate("rlentime");
  return { done, read: rate("nread"), wrote: rate("nwritten"),
    waiting: waiting == null ? null : waiting / 1e9, active: served == null ? null : served / 1e9,
    wait: done > 0 ? waiting / 1e9 / done : null, service: done > 0 ? served / 1e9 / done : null,
    busy: rate("rtime") == null ? null : Math.min(rate("rtime") / 1e9, 1) };
}

const diskTable = new Table(tables, "Disks", ["disk", "ops", "read", "written", "queue", "per op", "busy"]);
parts.push({
  selectors: diskSelectors,
  update(time, now, before) {
    diskTable.update(disksOf(now).map((k) => {
      const q = queueOf(k, before);
      return { name: k.name, cells: [written("/s", q.done), written("bytes/s", q.read), written("bytes/s", q.wrote),
        lengthText(sum([q.waiting, q.active])), written("seconds", sum([q.wait, q.service])),
        q.busy == null ? null : bar(q.busy, digits(q.busy * 100) + " %")] };
    }));
  },
});

const linkTable = new Table(tables, "Networks", ["link", "received", "sent", "packets in", "packets out", "errors", "drops"]);
parts.push({
  selectors: () => [LINKS],
  update(time, now, before) {
    const links = [...those(now, "link")].filter((k) => k.data.link_state || k.data.rbytes64 > 0 || k.data.obytes64 > 0);
    linkTable.update(links.map((k) => {
      const rate = (...names) => sum(names.map((n) => rateOf(k, before.get(keyOf(k)), n)));
      return { name: k.name, cells: [written("bytes/s", rate("rbytes64")), written("bytes/s", rate("obytes64")),
        written("/s", rate("ipackets64")), written("/s", rate("opackets64")), written("/s", rate("ierrors", "oerrors")),
        written("/s", rate("norcvbuf", "noxmtbuf"))] };
    }));
  },
});

const NO_STORAGE = /^(tmpfs|devtmpfs|proc|sysfs|cgroup2?|squashfs|overlay|ramfs|devpts|mqueue|securityfs|debugfs|tracefs|bpf)$/;
const fsTable = new Table(tables, "File systems", ["mount point", "size", "free", "used"]);
parts.push({
  selectors: () => ["fs:::/^(capacity|available|used|fs_type|mount_point)$/"],
  update(time, now) {
    const systems = [...those(now, "fs")].filter((k) => k.data.capacity > 0 && !NO_STORAGE.test(k.data.fs_type));
    fsTable.update(systems.map(({ data: d }) => ({ name: d.mount_point, cells: [UNITS.bytes.write(d.capacity),
      UNITS.bytes.write(d.available), bar(d.used / (d.used + d.available), digits(100 * d.used / (d.used + d.available)) + " %")] })));
  },
});
