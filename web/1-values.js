// Values: what a statistic measures, how it is written, and how it becomes a rate.

const COLOURS = 8;

// Makes an element; attributes whose names begin with "on" are listeners. Texts are never read as HTML.
function element(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value != null) e.setAttribute(name, value);
  }
  e.append(...children.filter((c) => c != null));
  return e;
}

function colour(i) {
  const style = getComputedStyle(document.documentElement);
  return i < COLOURS ? style.getPropertyValue(`--c${i + 1}`).trim() : `hsl(${(i * 67) % 360} 55% 55%)`;
}

// Three digits, as in 0.123, 1.23, 12.3 and 123.
function digits(x) {
  const size = Math.abs(x);
  if (size === 0) return "0";
  if (size < 0.001) return x.toExponential(1);
  const text = x.toFixed(size < 1 ? 3 : size < 10 ? 2 : size < 100 ? 1 : 0);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function scaled(x, step, names) {
  let i = 0;
  while (Math.abs(x) >= step * 0.9995 && i < names.length - 1) {
    x /= step;
    i++;
  }
  return digits(x) + (names[i] ? " " + names[i] : "");
}

function seconds(x) {
  const size = Math.abs(x);
  if (size === 0) return "0 s";
  if (size < 1e-6) return digits(x * 1e9) + " ns";
  if (size < 1e-3) return digits(x * 1e6) + " µs";
  if (size < 1) return digits(x * 1e3) + " ms";
  if (size < 7200) return digits(x) + " s";
  return size < 172800 ? digits(x / 3600) + " h" : digits(x / 86400) + " d";
}

// How long something has lasted, in its two greatest units.
function duration(x) {
  const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]], whole_ = Math.max(0, Math.floor(x));
  const first = Math.max(0, parts.findIndex(([, size]) => whole_ >= size));
  return parts.slice(first, first + 2).map(([name, size], i) => {
    const above = i > 0 ? parts[first][1] : Infinity;
    return `${Math.floor(whole_ % above / size)} ${name}`;
  }).join(" ");
}

// The units that charts have, by name: how a value is written, and on an axis if that differs; the steps of an axis and
// its fixed end.
const BINARY = Array.from({ length: 60 }, (_, i) => 2 ** i);
const UNITS = {
  bytes: { write: (x) => scaled(x, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]), steps: BINARY },
  "bytes/s": { write: (x) => scaled(x, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]) + "/s", steps: BINARY },
  seconds: { write: seconds },
  "%": { write: (x) => digits(x) + " %" },
  share: { write: (x) => digits(x) + " %", end: 100 },
  Hz: { write: (x) => scaled(x, 1000, ["Hz", "kHz", "MHz", "GHz"]) },
  count: { write: (x) => scaled(x, 1000, ["", "k", "M", "G", "T", "P", "E"]) },
  "/s": { write: (x) => scaled(x, 1000, ["", "k", "M", "G", "T"]) + "/s" },
};

function unitNamed(name) {
  return UNITS[name] || { write: (x) => UNITS.count.write(x) + " " + name, axis: UNITS.count.write };
}

const BY_UNIT = { ns: ["seconds", 1e-9], us: ["seconds", 1e-6], "µs": ["seconds", 1e-6], ms: ["seconds", 1e-3],
  s: ["seconds", 1], seconds: ["seconds", 1], bytes: ["bytes", 1], B: ["bytes", 1], KiB: ["bytes", 1024],
  MiB: ["bytes", 1048576], "%": ["%", 1], "1/100 %": ["%", 0.01], Hz: ["Hz", 1], kHz: ["Hz", 1e3], MHz: ["Hz", 1e6],
  "1/256": ["count", 1 / 256] };
const BY_TYPE = { celsius: "°C", rpm: "rpm", volt: "V", watt: "W", ampere: "A", percent: "%", bytes: "bytes", hertz: "Hz",
  duration: "seconds", "accumulated time": "seconds", bits: "bits" };

// The unit of a chart and the factor from what is stored: by the unit's name, else by what the statistic measures.
function unitOf(meta) {
  const scale = meta.scale || 1;
  if (BY_UNIT[meta.unit]) return BY_UNIT[meta.unit];
  if (BY_TYPE[meta.type]) return [BY_TYPE[meta.type], scale];
  return meta.unit && scale === 1 ? [meta.unit, 1] : ["count", scale];
}

// What a statistic is on a chart: { rate, unit, factor }. null: no number.
function measureOf(meta) {
  if (!meta) return { rate: false, unit: "count", factor: 1 };
  if (meta.kind === "text" || meta.kind === "time") return null;
  const [unit, factor] = unitOf(meta);
  if (meta.kind !== "counter") return { rate: false, unit, factor };
  if (unit === "seconds") return { rate: true, unit: "%", factor: factor * 100 };
  return { rate: true, unit: unit === "count" ? "/s" : unit + "/s", factor };
}

// Change per second of a counter between two readings of its kstat. One that was made anew counts from then, and one
// that fell counts as unchanged.
function rateOf(now, before, name) {
  if (!before || typeof now.data[name] !== "number") return null;
  if (now.data.crtime !== before.data.crtime) {
    const age = now.snaptime - now.data.crtime;
    return age > 0 ? now.data[name] / age : null;
  }
  const elapsed = now.snaptime - before.snaptime, was = before.data[name];
  if (!(elapsed > 0) || typeof was !== "number") return null;
  return Math.max(now.data[name] - was, 0) / elapsed;
}

function valueOf(now, before, name, measure) {
  const v = measure.rate ? rateOf(now, before, name) : now.data[name];
  return typeof v === "number" ? v * measure.factor : null;
}

// Adds up what is known; null if nothing is.
function sum(values) {
  let total = null;
  for (const v of values) if (v != null) total = (total || 0) + v;
  return total;
}

function clockText(time) {
  const d = new Date(time * 1000), two = (n) => String(n).padStart(2, "0");
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}
