// The server: which kstats there are, what their statistics mean, and their data.

const MOST_QUERY = 4000, MOST_SELECTORS = 60; // characters and selectors of one request
const MOST_WAIT = 5000; // ms for an answer

// An answer of the server. One that does not come in time is an error like one that cannot be had.
async function textOf(address) {
  const answer = await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(MOST_WAIT) });
  if (!answer.ok) throw Object.assign(new Error((await answer.text()).trim()), { status: answer.status });
  return answer.text();
}

async function answerOf(address) {
  return JSON.parse(await textOf(address));
}

function keyOf(k) {
  return `${k.module}:${k.instance}:${k.name}`;
}

// A selector of exactly this kstat, or of one that differs in characters that selectors give a meaning of their own.
function selectorOf(k, statistic) {
  const plain = (s) => s.replace(/[*?[\]\\:/]/g, "?");
  return `${plain(k.module)}:${k.instance}:${plain(k.name)}` + (statistic ? ":" + plain(statistic) : "");
}

// The addresses of a request for selectors, as many as their length needs.
function addressesOf(what, selectors) {
  const queries = [];
  selectors.forEach((s, i) => {
    const one = "select=" + encodeURIComponent(s), last = queries.length - 1;
    const fits = i % MOST_SELECTORS > 0 && queries[last].length + one.length < MOST_QUERY;
    if (fits) queries[last] += "&" + one;
    else queries.push(one);
  });
  return queries.map((query) => `${what}?${query}`);
}

async function ask(what, selectors) {
  return Promise.all(addressesOf(what, selectors).map(answerOf));
}

// A map of kstats by key, from lists of them.
function byKey(lists) {
  const found = new Map();
  for (const k of lists.flat()) {
    const same = found.get(keyOf(k));
    if (same) Object.assign(same.data, k.data);
    else found.set(keyOf(k), k);
  }
  return found;
}

// The data of what selectors match: a map of { module, instance, name, publisher, snaptime, data } by key.
async function askData(selectors) {
  return byKey(await ask("kstat.json", selectors));
}

let keepsHistory = true; // the server

// The last hour of the same, as the server kept it: [{ time, kstats }], the oldest first. An answer is a sequence of
// JSON texts (RFC 7464): the times, and the kstats of each. It is empty where a server keeps none.
async function askHistory(selectors) {
  const answers = selectors.length ? await Promise.all(addressesOf("history.json", selectors).map(textOf)) : [];
  keepsHistory = !answers.includes("");
  const moments = new Map();
  for (const answer of answers) {
    const [times = [], ...lists] = answer.split("\x1e").slice(1).map((text) => JSON.parse(text));
    times.forEach((time, i) => moments.set(time, [...(moments.get(time) || []), lists[i]]));
  }
  return [...moments].sort(([a], [b]) => a - b).map(([time, lists]) => ({ time, kstats: byKey(lists) }));
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

// All kstats: { module, instance, name, class, type, publisher, uid, histogram, title }, and the titles by key.
let kstats = [];
const titles = new Map();

// What a person reads for a key: the whole name where that of the kstat had to be cut.
function titleOf(key) {
  return titles.get(key) || key;
}

async function askList() {
  kstats = await answerOf("list.json");
  titles.clear();
  for (const k of kstats) if (k.title) titles.set(keyOf(k), `${k.module}:${k.instance}:${k.title}`);
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
