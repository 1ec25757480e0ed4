// nginx with kstat.nginx: cards of requests, times and connections, and tables of servers, upstreams and stream. Rows
// have their labels as texts, which a person reads in place of a name that had to be cut.

const MOST_NGINX = 4, MOST_LABELLED = 600; // instances; kstats of an instance that are asked for whole

const nginxSection = element("section", { "aria-labelledby": "nginx-title", hidden: true },
  element("h2", { id: "nginx-title" }, "nginx"));
const nginxCards = element("div", { class: "grid" }), nginxTables = element("div", { class: "grid wide" });
nginxSection.append(nginxCards, nginxTables);
document.getElementById("published").before(nginxSection);

function nginxModules() {
  return [...new Set(kstats.filter((k) => k.name === "nginx,server" && k.class === "nginx").map((k) => k.module))]
    .slice(0, MOST_NGINX);
}

function isSmall(module) {
  return kstats.filter((k) => k.module === module).length <= MOST_LABELLED;
}

// All of a small instance; of one with many rows, which would cost nginx too much each time, what it has once.
function nginxSelectors() {
  return nginxModules().flatMap((module) => {
    const plain = selectorOf({ module, instance: 0, name: "" });
    return [isSmall(module) ? plain : plain + "nginx,connections"];
  });
}

// Whether the labels of a row are refused ones. Such a row is there from the start.
function isRefuge(k) {
  return /^(http|upstream|stream|app_)/.test(k.class) && /^(up,|stream,|app,\w+,)?other(,other)*(,time|,le|,in|,out)?$/.test(k.name);
}

function isIdle(k) {
  return Object.entries(k.data).every(([name, v]) => v === 0 || !/^[1-5](xx|\d\d)$|_sum$|^sum$/.test(name));
}

// Kstats of a class, of those instances, without rows of refused labels that were never needed, and without the buckets
// that there are beside percentiles.
function nginxRows(now, name) {
  const modules = new Set(nginxModules().filter((module) => name === "nginx" || isSmall(module)));
  return [...now.values()].filter((k) => modules.has(k.module) && k.class === name && !k.name.endsWith(",le") && !(isRefuge(k) && isIdle(k)));
}

// The labels of a row as a person reads them.
function labelsOf(k) {
  const texts = Object.values(k.data).filter((v) => typeof v === "string" && v !== "");
  return (nginxModules().length > 1 ? k.module + " " : "") + (texts.join(" ") || "all");
}

// Rates of requests by the first digit of their code; [0]: all.
function codeRates(list, before) {
  const rates = [null, null, null, null, null, null];
  for (const k of list) {
    for (const name of Object.keys(k.data)) {
      const rate = /^[1-5](xx|\d\d)$/.test(name) ? rateOf(k, before.get(keyOf(k)), name) : null;
      for (const i of [0, Number(name[0])]) if (rate != null) rates[i] = (rates[i] || 0) + rate;
    }
  }
  return rates;
}

// The least values of a distribution's buckets, and the end of the last one: of an exponential histogram they grow by
// 2 ** (1 / steps) behind the first, which holds 0.
function boundsOf(data, value) {
  if (data.type !== "exponential") return data[value + "_bounds"];
  const steps = 2 ** data.stepping, first = Math.ceil(Math.log2(data.range_min) * steps - 1e-9) - 1;
  return [0, ...data.buckets.map((n, i) => 2 ** ((first + i) / steps))];
}

// What distributions of one form counted since the last round: { lows, counts, total, sum } in microseconds, or null.
function countedOf(list, before, value) {
  let all = null;
  for (const k of list) {
    const prefix = k.data.type === "exponential" ? "" : value + "_", was = before.get(keyOf(k));
    const lows = boundsOf(k.data, value), counts = k.data[prefix + "buckets"], earlier = was && was.data[prefix + "buckets"];
    if (![lows, counts, earlier].every(Array.isArray) || was.data.crtime !== k.data.crtime ||
      (all && all.lows.length !== lows.length)) continue;
    all = all || { lows, counts: counts.map(() => 0), total: 0, sum: 0 };
    counts.forEach((n, i) => { all.counts[i] += Math.max(n - earlier[i], 0); });
    all.sum += Math.max(k.data[prefix + "sum"] - was.data[prefix + "sum"], 0);
  }
  if (all) all.total = sum(all.counts);
  return all && all.total > 0 ? all : null;
}

// A quantile in seconds, on a straight line within its bucket; null: nothing was counted.
function quantileOf(all, q) {
  if (!all) return null;
  let rest = q * all.total;
  for (let i = 0; i < all.counts.length; i++) {
    const low = all.lows[i], high = all.lows[i + 1] == null ? low : all.lows[i + 1] - 1;
    if (rest <= all.counts[i]) return (low + Math.max(high - low, 0) * rest / all.counts[i]) / 1e6;
    rest -= all.counts[i];
  }
  return all.lows[all.lows.length - 1] / 1e6;
}

// The cells of a row's distribution: its mean, or a quantile.
function timeOf(k, now, before, value, q) {
  const times = now.get(keyOf(k) + ",time"), all = times && countedOf([times], before, value);
  return all && written("seconds", q ? quantileOf(all, q) : all.sum / all.total / 1e6);
}

const NGINX = { parent: nginxCards, published: true };

chartCard("Requests", [{ label: "2xx" }, { label: "3xx" }, { label: "4xx" }, { label: "5xx" }, { label: "1xx" }, { label: "any" }],
  { unit: "/s", stacked: true }, nginxSelectors, (now, before) => {
    const rows = nginxRows(now, "http"), once = nginxRows(now, "nginx");
    nginxSection.hidden = !nginxModules().length;
    if (!rows.length) {
      const all = totalRate(once, before, "requests");
      return once.length ? { values: [null, null, null, null, null, all], headline: all == null ? "" : UNITS["/s"].write(all),
        note: "too many rows for this page: /metrics has them" } : {};
    }
    const rates = codeRates(rows, before), bytes = ["request_bytes", "response_bytes"].map((n) => totalRate(rows, before, n));
    return { values: [rates[2], rates[3], rates[4], rates[5], rates[1], null], headline: rates[0] == null ? "" : UNITS["/s"].write(rates[0]),
      note: bytes[0] == null ? "" : bytes.map((b, i) => UNITS["bytes/s"].write(b) + (i ? " sent" : " received")).join(", ") };
  }, NGINX);

chartCard("Failures", [{ label: "4xx" }, { label: "5xx" }], { unit: "%" }, nginxSelectors, (now, before) => {
  const rows = nginxRows(now, "http"), rates = codeRates(rows, before);
  if (!rows.length) return {};
  const share = (rate) => rates[0] > 0 ? 100 * (rate || 0) / rates[0] : null;
  return { values: [share(rates[4]), share(rates[5])], headline: rates[0] > 0 ? digits(share(rates[5])) + " %" : "",
    note: "of requests; the number is that of the server's" };
}, NGINX);

chartCard("Time of a request", [{ label: "p50" }, { label: "p90" }, { label: "p99" }], { unit: "seconds" }, nginxSelectors,
  (now, before) => {
    const times = nginxRows(now, "http_time");
    if (!times.length) return {};
    const all = countedOf(times, before, "time"), values = [0.5, 0.9, 0.99].map((q) => quantileOf(all, q));
    return { values, headline: values[2] == null ? "" : seconds(values[2]), note: "the number is the p99 of the last interval" };
  }, NGINX);

chartCard("Connections", [{ label: "reading" }, { label: "writing" }, { label: "waiting" }], { unit: "count", stacked: true },
  nginxSelectors, (now, before) => {
    const list = nginxRows(now, "nginx").filter((k) => k.name === "nginx,connections");
    if (!list.length) return {};
    const total = (name) => sum(list.map((k) => k.data[name])), accepted = totalRate(list, before, "accepted");
    return { values: ["reading", "writing", "waiting"].map(total), headline: UNITS.count.write(total("active")),
      note: accepted == null ? "" : `${UNITS["/s"].write(accepted)} accepted` };
  }, NGINX);

// A table of the rows of a class, the busiest first. cells: function(row, now, before, rates by code).
function nginxTable(title, name, columns, cells) {
  const table = new Table(nginxTables, title, columns);
  parts.push({
    published: true, selectors: nginxSelectors,
    update(time, now, before) {
      const rows = nginxRows(now, name).filter((k) => labelsOf(k) && Object.values(k.data).some((v) => typeof v === "string"));
      table.update(rows.map((k) => [k, codeRates([k], before)]).sort((a, b) => (b[1][0] || 0) - (a[1][0] || 0))
        .map(([k, rates]) => ({ name: labelsOf(k), cells: cells(k, now, before, rates) })));
    },
  });
}

nginxTable("Requests by label", "http", ["labels", "requests", "4xx", "5xx", "mean time", "p99", "sent"], (k, now, before, rates) =>
  [...[0, 4, 5].map((i) => written("/s", rates[i])), timeOf(k, now, before, "time"),
    timeOf(k, now, before, "time", 0.99), written("bytes/s", rateOf(k, before.get(keyOf(k)), "response_bytes"))]);

nginxTable("Upstreams", "upstream", ["upstream", "attempts", "4xx", "5xx", "connect", "header", "response"],
  (k, now, before, rates) => [...[0, 4, 5].map((i) => written("/s", rates[i])),
    ...["connect", "header", "response"].map((value) => timeOf(k, now, before, value))]);

nginxTable("Sessions of stream", "stream", ["server", "sessions", "4xx", "5xx", "mean time", "received", "sent"],
  (k, now, before, rates) => [...[0, 4, 5].map((i) => written("/s", rates[i])), timeOf(k, now, before, "time"),
    ...["received", "sent"].map((n) => written("bytes/s", rateOf(k, before.get(keyOf(k)), n)))]);
