// What processes publish: queues in a table for each publisher, and distributions as heat maps and percentiles.

const MOST_QUEUES = 64, MOST_DISTRIBUTIONS = 6, MOST_ASKED = 100;

const published = document.getElementById("published");
const queueTables = new Map();
const distributions = new Map(); // by key

function publishedQueues() {
  return kstats.filter((k) => k.publisher && k.type === "io").slice(0, MOST_QUEUES);
}

parts.push({
  published: true,
  selectors: () => publishedQueues().map((k) => selectorOf(k)),
  update(time, now, before) {
    const rows = new Map([...queueTables.keys()].map((p) => [p, []]));
    for (const k of publishedQueues()) {
      const read = now.get(keyOf(k));
      if (!read) continue;
      const q = queueOf(read, before);
      if (!rows.has(k.publisher)) rows.set(k.publisher, []);
      rows.get(k.publisher).push({ name: k.name + (k.instance ? ` ${k.instance}` : ""), cells: [written("/s", q.done),
        lengthText(q.waiting), lengthText(q.active), written("seconds", q.wait), written("seconds", q.service),
        q.busy == null ? null : bar(q.busy, digits(q.busy * 100) + " %")] });
    }
    for (const [publisher, list] of rows) {
      if (!queueTables.has(publisher)) {
        queueTables.set(publisher, new Table(document.getElementById("queues"), `Queues of ${publisher}`,
          ["queue", "done", "waiting", "in service", "wait", "service", "busy"]));
      }
      queueTables.get(publisher).update(list);
    }
    published.hidden = ![...rows.values()].some((list) => list.length) && distributions.size === 0;
  },
});

// A card of everything that a kstat has of distributions: heat maps, and lines of percentiles where there is no
// histogram.
class Distribution {
  constructor(parent, k, onclose) {
    this.key = keyOf(k);
    this.card = card(parent, titleOf(this.key));
    if (onclose) this.card.place.firstChild.append(closeButton(onclose));
    this.maps = new Map();
    this.lines = new Map();
  }

  remove() {
    for (const part of [...this.maps.values(), ...this.lines.values()]) part.remove();
    this.card.place.remove();
  }

  update(time, now, before) {
    const k = now.get(this.key), was = before.get(this.key);
    if (!k) return;
    const fresh = !was || was.data.crtime !== k.data.crtime, histograms = histogramsOf(this.key, k.data);
    for (const h of histograms) {
      if (!this.maps.has(h.name)) this.maps.set(h.name, new Heat(this.card.place, h.meta, `${titleOf(this.key)} ${h.name}`));
      this.maps.get(h.name).push(time, h.lows, h.counts, fresh);
    }
    for (const [value, names] of percentilesOf(k.data)) {
      if (!histograms.some((h) => h.name === value)) this.updateLines(time, k, value, names);
    }
    const count = Object.keys(k.data).filter((n) => n.endsWith("_count")).map((n) => rateOf(k, was, n));
    this.card.now.textContent = sum(count) == null ? "" : UNITS["/s"].write(sum(count));
  }

  updateLines(time, k, value, names) {
    const measure = measureOf(metaOf(this.key, names[0])) || { unit: "count", factor: 1 };
    if (!this.lines.has(value)) {
      this.lines.set(value, new Lines(this.card.place, names.map((n) => ({ label: n.slice(value.length + 1) })),
        { unit: measure.unit, log: true, label: `percentiles of ${titleOf(this.key)} ${value}` }));
      this.card.note.textContent = "percentiles since the beginning";
    }
    this.lines.get(value).push(time, names.map((n) => k.data[n] > 0 ? k.data[n] * measure.factor : null));
  }
}

// The percentiles of a kstat's values: [value, its statistics].
function percentilesOf(data) {
  const found = new Map();
  for (const name of Object.keys(data)) {
    const parts_ = /^(.*)_p\d+$/.exec(name);
    if (parts_) found.set(parts_[1], [...(found.get(parts_[1]) || []), name]);
  }
  return found;
}

parts.push({
  published: true, hasPast: true,
  selectors: () => [...distributions.values()].map((d) => d.selector),
  update(time, now, before) {
    for (const d of distributions.values()) d.update(time, now, before);
  },
});

// Finds the published kstats that have distributions, among the first that may have some.
async function findDistributions() {
  const candidates = kstats.filter((k) => k.publisher && (k.type === "raw" || k.histogram) && !isRefuge(k));
  const unknown = candidates.slice(0, MOST_ASKED).filter((k) => !metadata.has(keyOf(k)));
  if (unknown.length) await learn(unknown.map((k) => selectorOf(k)));
  const there = new Set(candidates.map(keyOf));
  for (const [key, d] of distributions) {
    if (!there.has(key)) {
      d.remove();
      distributions.delete(key);
    }
  }
  for (const k of candidates) {
    const key = keyOf(k), meta = metadata.get(key);
    if (!meta || distributions.has(key) || distributions.size >= MOST_DISTRIBUTIONS) continue;
    if (meta.lows || Object.keys(meta.statistics).some((n) => /_(buckets|p\d+)$/.test(n))) {
      const d = new Distribution(document.getElementById("distributions"), k);
      d.selector = selectorOf(k);
      distributions.set(key, d);
    }
  }
}
