// The view that all charts share: which time they show, and the moment under the cursor.

const HISTORY = 3600, LEAST_SPAN = 30; // seconds

// gap: seconds without values that break a line, at least leastGap, three samples of the server's history; zoom: what
// is shown, [from, to], or null, the last `window` seconds; quiet: values of the past come, and nothing is drawn between;
// pointer: the chart that has it.
const view = { window: 300, gap: 16, leastGap: 15, charts: new Set(), zoom: null, quiet: false, pointer: null };

// The times that a chart shows that has values from `first` to `end`: what there is, up to what was chosen.
function shownTimes(first, end) {
  if (view.zoom) return view.zoom;
  return [end - Math.min(view.window, Math.max(end - first || 0, LEAST_SPAN)), end];
}

function drawAll() {
  for (const chart of view.charts) chart.draw();
}

// Puts the cursor of all charts but the one that has it at a time; null: nowhere.
function pointAll(time, source) {
  for (const chart of view.charts) if (chart !== source) chart.pointAt(time);
}

// Shows moments of the past, [{ time, kstats }], as f(time, now, before) does it for one, and draws when all are there.
// Returns the last moment's kstats, before which nothing is known of the first ones that come now.
function replay(moments, f) {
  const { length } = moments;
  let before = new Map();
  view.quiet = true;
  if (length > 1) view.leastGap = Math.max(15, 3 * (moments[length - 1].time - moments[0].time) / (length - 1));
  view.gap = view.leastGap + 1;
  try {
    for (const { time, kstats: now } of moments) {
      f(time, now, before);
      before = now;
    }
  } finally {
    view.quiet = false;
  }
  drawAll();
  return before;
}

const whole = document.getElementById("whole");

// Shows these times, [from, to], in all charts; null: what comes in, as before.
function zoomTo(times) {
  view.zoom = times;
  whole.hidden = !times;
  if (times) whole.textContent = `${clockText(times[0])} – ${clockText(times[1])} ✕`;
  drawAll();
  save();
}

whole.addEventListener("click", () => zoomTo(null));

// The text of a time on an axis whose marks are `step` seconds apart.
function axisText(time, step) {
  return clockText(time).slice(0, step < 60 ? 8 : 5);
}
