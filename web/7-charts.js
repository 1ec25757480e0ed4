// The charts that a person asks for by a selector, and the list of all kstats.

const MOST_SERIES = 16, MOST_PLOTS = 6, MOST_SHOWN = 200;
const FRESH = 0.3, STAY = 1.5; // the weight of a new value, and by how much one that is shown counts more

const charts = [];

function closeButton(onclick) {
  return element("button", { type: "button", class: "close", "aria-label": "Remove this chart", onclick }, "✕");
}

class Chart {
  constructor(selector) {
    this.selector = selector;
    this.card = card(document.getElementById("charts"), selector);
    this.card.place.firstChild.append(closeButton(() => this.remove()));
    this.plots = new Map();  // lines by unit
    this.heats = new Map();  // distributions by key
    this.known = new Set();  // keys whose metadata were asked for
    this.before = new Map(); // what was there in the round before
    charts.push(this);
    save();
  }

  remove() {
    charts.splice(charts.indexOf(this), 1);
    for (const { lines } of this.plots.values()) lines.remove();
    for (const d of this.heats.values()) d.remove();
    this.card.place.remove();
    save();
  }

  // Asks what statistics mean if there are kstats that it does not know.
  async learn(own) {
    const fresh = [...own.keys()].filter((key) => !this.known.has(key));
    if (!fresh.length) return;
    await learn([this.selector]);
    for (const key of fresh) this.known.add(key);
  }

  // Begins with what the server kept of the last hour.
  async begin() {
    const past = await askHistory([this.selector]).catch(() => []);
    for (const { kstats: own } of past) await this.learn(own).catch(() => {});
    this.before = replay(past, (time, own, before) => this.update(time, own, before));
  }

  // own: what the selector matched in this round, by key.
  update(time, own, before) {
    const found = new Map(); // values by unit: [label, value]
    let all = 0;
    for (const [key, k] of own) {
      const heats = histogramsOf(key, k.data);
      if (heats.length && (this.heats.has(key) || this.heats.size < MOST_PLOTS)) {
        if (!this.heats.has(key)) this.heats.set(key, new Distribution(this.card.place, k));
        this.heats.get(key).update(time, own, before);
      }
      for (const [name, value] of Object.entries(k.data)) {
        if (typeof value !== "number" || name === "crtime" || name === "snaptime") continue;
        const measure = measureOf(metaOf(key, name));
        if (!measure || /^[rw]lastupdate$/.test(name)) continue;
        all++;
        const v = valueOf(k, before.get(key), name, measure);
        if (!found.has(measure.unit)) found.set(measure.unit, []);
        const whose = k.publisher ? ` (${k.publisher.name})` : "";
        found.get(measure.unit).push([(own.size > 1 ? `${titleOf(key)}:${name}` : name) + whose, v]);
      }
    }
    let shown = 0;
    for (const [unit, list] of found) {
      if (this.plots.has(unit) || this.plots.size < MOST_PLOTS) shown += this.updatePlot(time, unit, list);
    }
    const more = all - shown;
    this.card.note.textContent = own.size === 0 ? "nothing matches now" :
      more > 0 ? `the greatest ${shown} of ${all} statistics` : `${all} statistics`;
  }

  // Returns how many series are shown.
  updatePlot(time, unit, list) {
    let plot = this.plots.get(unit);
    if (!plot) {
      plot = { lines: new Lines(this.card.place, [], { unit, legend: true, label: `${this.selector} in ${unit}` }), labels: [],
        sizes: new Map() };
      this.plots.set(unit, plot);
    }
    const values = new Map(list);
    if (chooseGreatest(plot, values)) plot.lines.setSeries(plot.labels.map((label) => ({ label })));
    plot.lines.push(time, plot.labels.map((label) => values.has(label) ? values.get(label) : null));
    return plot.labels.length;
  }
}

// Chooses the greatest values of a plot, by label; whether others are shown than before. What counts is a mean in which
// the newest values weigh most, and who is shown stays until somebody is clearly greater. A line keeps its colour.
function chooseGreatest(plot, values) {
  const { sizes } = plot;
  for (const [label, v] of values) {
    const was = sizes.get(label);
    if (v != null) sizes.set(label, was == null ? Math.abs(v) : was + FRESH * (Math.abs(v) - was));
  }
  for (const label of sizes.keys()) if (!values.has(label)) sizes.delete(label);
  const weight = ([label, size]) => plot.labels.includes(label) ? size * STAY : size;
  const chosen = [...sizes].sort((a, b) => weight(b) - weight(a)).slice(0, MOST_SERIES).map(([label]) => label);
  const fresh = chosen.filter((label) => !plot.labels.includes(label));
  if (!fresh.length) return false;
  plot.labels = plot.labels.map((label) => chosen.includes(label) || !fresh.length ? label : fresh.shift()).concat(fresh);
  return true;
}

const problem = document.getElementById("problem");

function complain(message) {
  problem.textContent = message;
  problem.hidden = !message;
}

// Adds a chart, if the server takes the selector, or does not answer now.
async function addChart(selector) {
  if (!selector || charts.some((c) => c.selector === selector)) return;
  try {
    await learn([selector]);
  } catch (e) {
    if (!isSilence(e)) return complain(e.message);
  }
  complain("");
  await new Chart(selector).begin();
  poll();
}

document.getElementById("add").addEventListener("submit", (event) => {
  const field = document.getElementById("selector");
  event.preventDefault();
  addChart(field.value.trim());
  field.select();
});

// What is shown is kept in the address, so that it can be sent to others and comes again with the page.
function save() {
  const parameters = new URLSearchParams(charts.map((c) => ["chart", c.selector]));
  parameters.set("every", document.getElementById("every").value);
  parameters.set("window", document.getElementById("window").value);
  if (view.zoom) for (const [i, name] of ["from", "to"].entries()) parameters.set(name, view.zoom[i].toFixed(1));
  history.replaceState(null, "", "#" + parameters);
}

// --- all kstats -------------------------------------------------------------------------------

const listPlace = document.getElementById("kstats");
const open_ = new Map(); // by key: the kstats whose statistics are shown

class Shown {
  constructor(k, place) {
    this.k = k;
    this.body = element("tbody");
    this.rows = new Map();
    place.replaceChildren(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": keyOf(k) }, element("table", null, element("thead", null, element("tr", null,
      ...["statistic", "value", "per second", "", ""].map((t) => element("th", { scope: "col" }, t)))), this.body)));
    open_.set(keyOf(k), this);
    learn([selectorOf(k)]).then(poll, () => {});
  }

  update(now, before) {
    const key = keyOf(this.k), k = now.get(key);
    if (!k) return;
    for (const [name, value] of Object.entries(k.data)) {
      let row = this.rows.get(name);
      const meta = metaOf(key, name);
      if (!row) {
        const drawn = name.endsWith("buckets") || (typeof value === "number" && measureOf(meta));
        const button = drawn ? element("button", { type: "button",
          "aria-label": `Chart of ${name}`, onclick: () => addChart(selectorOf(this.k, name.endsWith("buckets") ? "" : name)) },
          "chart") : null;
        row = element("tr", null, element("th", { scope: "row" }, name), element("td"), element("td"),
          element("td", { class: "text" }, meta ? meta.description : ""), element("td", null, button));
        this.rows.set(name, row);
        this.body.append(row);
      }
      const measure = measureOf(meta), rate = measure && measure.rate ? valueOf(k, before.get(key), name, measure) : null;
      const text = Array.isArray(value) ? `${value.length} numbers` : String(value);
      row.children[1].textContent = text + (meta && meta.unit && meta.kind !== "time" && typeof value === "number" ? " " + meta.unit : "");
      row.children[2].textContent = rate == null ? "" : unitNamed(measure.unit).write(rate);
    }
  }
}

parts.push({
  published: true,
  selectors: () => [...open_.values()].map((s) => selectorOf(s.k)),
  update(time, now, before) {
    for (const s of open_.values()) s.update(now, before);
  },
});

function kstatEntry(k) {
  const inside = element("div", { class: "inside" });
  const entry = element("details", null, element("summary", { title: keyOf(k) }, titleOf(keyOf(k)),
    element("small", null, k.class + (k.publisher ? `, published by ${k.publisher}, user ${k.uid}` : ""))), inside);
  entry.addEventListener("toggle", () => {
    if (entry.open) {
      new Shown(k, inside);
    } else {
      open_.delete(keyOf(k));
    }
  });
  return entry;
}

// Entries of a list, the first MOST_SHOWN, and how many more there are.
function entries(list) {
  const shown = list.slice(0, MOST_SHOWN).map(kstatEntry);
  if (list.length > MOST_SHOWN) shown.push(element("p", null, `${list.length - MOST_SHOWN} more: type more of a name above`));
  return shown;
}

let listed = "";

// Shows the list again if it changed: by modules, or those that the filter finds.
function showList(force) {
  const filter = document.getElementById("filter").value.trim().toLowerCase();
  const now = filter + "\n" + kstats.map(keyOf).join("\n");
  if (now === listed && !force) return;
  listed = now;
  open_.clear();
  document.getElementById("count").textContent = `${kstats.length}`;
  const modules = new Map();
  for (const k of kstats) {
    if (!modules.has(k.module)) modules.set(k.module, []);
    modules.get(k.module).push(k);
  }
  document.getElementById("names").replaceChildren(...[...modules.keys()].slice(0, MOST_SHOWN).map((m) =>
    element("option", { value: m + ":::" })));
  if (filter) {
    const found = kstats.filter((k) => `${keyOf(k)} ${k.title || ""} ${k.class} ${k.publisher || ""}`.toLowerCase().includes(filter));
    listPlace.replaceChildren(...(found.length ? entries(found) : [element("p", null, "nothing matches")]));
    return;
  }
  listPlace.replaceChildren(...[...modules].sort().map(([module, list]) => {
    const entry = element("details", null, element("summary", null, module, element("small", null, `${list.length}`)));
    entry.addEventListener("toggle", () => {
      if (entry.open && entry.children.length === 1) entry.append(...entries(list));
    });
    return entry;
  }));
}
