// The loop, the controls and the keys.

const LIST_EVERY = 10; // rounds

const every = document.getElementById("every"), windowChoice = document.getElementById("window");
const pauseButton = document.getElementById("pause"), state = document.getElementById("state");
let before = new Map(), rounds = 0, timer = null, paused = false, busy = false, answered = null;

function show(kind, text) {
  state.className = kind;
  if (state.textContent !== text) state.textContent = text;
}

// The kstats of a round that a chart's selector matched. Its answer is its own, so that a chart of one statistic does
// not get those that other parts asked for.
async function updateCharts(time) {
  await Promise.all(charts.slice().map(async (chart) => {
    const own = await askData([chart.selector]);
    await chart.learn(own);
    chart.update(time, own, chart.before);
    chart.before = own;
  }));
}

function selectorsOf(list) {
  return [...new Set(list.flatMap((p) => p.selectors()))];
}

// Gives parts what there is now. Those about the machine get the machine's kstats alone, whatever others publish under
// such names.
function updateParts(list, time, now, was) {
  const machine = machineOf(now), machineWas = machineOf(was);
  for (const part of list) {
    if (part.published) part.update(time, now, was);
    else part.update(time, machine, machineWas);
  }
}

async function askNames() {
  await askList();
  await findDistributions();
  showList();
}

async function round() {
  if (rounds++ % LIST_EVERY === 0) await askNames();
  const selectors = selectorsOf(parts), now = selectors.length ? await askData(selectors) : new Map();
  const time = Date.now() / 1000;
  updateParts(parts, time, now, before);
  before = now;
  await updateBusiest();
  await updateCharts(time);
}

// Whether nobody answered; any other error is an answer that says what is wrong.
function isSilence(e) {
  return e.name === "TimeoutError" || e instanceof TypeError && /fetch/i.test(e.message);
}

// One round, and the next one when its time has come. A round that lasts long delays the next.
async function poll() {
  if (busy) return;
  busy = true;
  clearTimeout(timer);
  const began = performance.now();
  view.gap = Math.max(3 * Number(every.value), view.leastGap) + 1;
  try {
    await round();
    answered = Date.now() / 1000;
    show(paused ? "" : "live", paused ? "paused" : keepsHistory ? "live" : "live, without a history");
  } catch (e) {
    rounds = 0;
    show("lost", isSilence(e) ? "no answer" + (answered ? " since " + clockText(answered) : "") : e.message);
  }
  busy = false;
  if (!paused && !document.hidden) {
    timer = setTimeout(poll, Math.max(Number(every.value) * 1000 - (performance.now() - began), 100));
  }
}

function pause(on) {
  paused = on;
  pauseButton.textContent = on ? "Go on" : "Pause";
  pauseButton.setAttribute("aria-pressed", String(on));
  clearTimeout(timer);
  if (on) show("", "paused");
  else poll();
}

function setWindow(secondsShown) {
  view.window = secondsShown;
  windowChoice.value = String(secondsShown);
  save();
  for (const chart of view.charts) chart.draw();
}

pauseButton.addEventListener("click", () => pause(!paused));
windowChoice.addEventListener("change", () => setWindow(Number(windowChoice.value)));
every.addEventListener("change", () => { save(); if (!paused) poll(); });
document.getElementById("filter").addEventListener("input", () => showList());
document.getElementById("help").addEventListener("click", () => document.getElementById("keys").showModal());
document.addEventListener("visibilitychange", () => { if (!document.hidden && !paused) poll(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const c of view.charts) c.build(); });

const KEYS = {
  "/": () => document.getElementById("selector").focus(),
  f: () => document.getElementById("filter").focus(),
  p: () => pause(!paused),
  "?": () => document.getElementById("keys").showModal(),
  1: () => setWindow(60), 2: () => setWindow(300), 3: () => setWindow(900), 4: () => setWindow(3600),
};

document.addEventListener("keydown", (event) => {
  const field = /^(INPUT|SELECT)$/.test(event.target.tagName);
  if (event.key === "Escape" && field) event.target.blur();
  else if (event.key === "Escape" && view.zoom && !document.getElementById("keys").open) zoomTo(null);
  if (field || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});

// Begins with what the server kept of the last hour, so that who opens or reloads the page sees it at once.
async function showPast() {
  const past = parts.filter((p) => p.hasPast);
  await askNames();
  before = replay(await askHistory(selectorsOf(past)), (time, now, was) => updateParts(past, time, now, was));
}

async function begin(given) {
  await showPast().catch(() => {}); // the round that follows says what is wrong
  await poll();
  for (const selector of given.getAll("chart")) await addChart(selector); // one after the other: they keep their order
}

document.getElementById("host").textContent = location.host;
{
  const given = new URLSearchParams(location.hash.slice(1)), zoom = ["from", "to"].map((name) => Number(given.get(name)));
  if ([...every.options].some((o) => o.value === given.get("every"))) every.value = given.get("every");
  if ([...windowChoice.options].some((o) => o.value === given.get("window"))) windowChoice.value = given.get("window");
  view.window = Number(windowChoice.value);
  begin(given).then(() => { if (zoom[0] > 0 && zoom[1] > zoom[0]) zoomTo(zoom); });
}
