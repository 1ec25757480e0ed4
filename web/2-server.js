// The server: which kstats there are, what their statistics mean, and their data.

const MOST_QUERY = 4000, MOST_SELECTORS = 60; // characters and selectors of one request

function keyOf(k) {
  return `${k.module}:${k.instance}:${k.name}`;
}

// A selector of exactly this kstat, or of one that differs in characters that selectors give a meaning of their own.
function selectorOf(k, statistic) {
  const plain = (s) => s.replace(/[*?[\]\\:/]/g, "?");
  return `${plain(k.module)}:${k.instance}:${plain(k.name)}` + (statistic ? ":" + plain(statistic) : "");
}

// Answers to a request for selectors, in as many requests as their length needs.
async function ask(what, selectors) {
  const queries = [];
  selectors.forEach((s, i) => {
    const one = "select=" + encodeURIComponent(s), last = queries.length - 1;
    const fits = i % MOST_SELECTORS > 0 && queries[last].length + one.length < MOST_QUERY;
    if (fits) queries[last] += "&" + one;
    else queries.push(one);
  });
  return Promise.all(queries.map(async (query) => {
    const answer = await fetch(`${what}?${query}`, { cache: "no-store" });
    if (!answer.ok) throw Object.assign(new Error((await answer.text()).trim()), { status: answer.status });
    return answer.json();
  }));
}

// The data of what selectors match: a map of { module, instance, name, publisher, snaptime, data } by key.
async function askData(selectors) {
  const found = new Map();
  for (const list of await ask("kstat.json", selectors)) {
    for (const k of list) {
      const key = keyOf(k), same = found.get(key);
      if (same) Object.assign(same.data, k.data);
      else found.set(key, k);
    }
  }
  return found;
}

// Those of the machine, which nobody publishes.
function machineOf(map) {
  return new Map([...map].filter(([, k]) => !k.publisher));
}

// What statistics mean, by key; asked for once.
const metadata = new Map();

async function learn(selectors) {
  for (const answer of await ask("meta.json", selectors)) {
    for (const k of answer) {
      const known = metadata.get(keyOf(k));
      if (known) Object.assign(known.statistics, k.statistics);
      else metadata.set(keyOf(k), k);
    }
  }
}

function metaOf(key, statistic) {
  const k = metadata.get(key);
  return k && k.statistics[statistic];
}

// All kstats: { module, instance, name, class, type, publisher, uid, histogram }.
let kstats = [];

async function askList() {
  const answer = await fetch("list.json", { cache: "no-store" });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  kstats = await answer.json();
}

// The distributions of a kstat: { name, lows, counts } of each histogram, and { name, percentiles } of each value that
// has some.
function histogramsOf(key, data) {
  const found = [], meta = metadata.get(key);
  if (meta && meta.lows && Array.isArray(data.buckets)) {
    found.push({ name: "", lows: meta.lows, counts: data.buckets, meta: meta.statistics.buckets });
  }
  for (const [name, counts] of Object.entries(data)) {
    const value = name.endsWith("_buckets") && name.slice(0, -"_buckets".length), lows = value && data[value + "_bounds"];
    if (lows && Array.isArray(lows) && Array.isArray(counts)) {
      found.push({ name: value, lows, counts, meta: metaOf(key, value + "_bounds") });
    }
  }
  return found;
}
