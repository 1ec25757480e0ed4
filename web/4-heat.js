// Heat maps: how many values fell into each bucket of a histogram, by time, with percentiles above.

const SHARES = [0.5, 0.9, 0.99];
const RAMPS = {
  light: ["#eef4fb", "#bcd6f2", "#7fb2e5", "#3f86d0", "#1b58a6", "#0a2f6b"],
  dark: ["#1b2a3f", "#1f4a78", "#2477a8", "#2fa8a0", "#9ccf62", "#fbe46b"],
};

function isDark() {
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// The colour of a share of the greatest count. Small counts are told apart best.
function heat(share, ramp) {
  return ramp[Math.min(ramp.length - 1, Math.floor(Math.sqrt(share) * ramp.length))];
}

// Values below which shares of all counts lie; inside a bucket they count as spread evenly.
function percentiles(lows, counts) {
  const total = counts.reduce((a, b) => a + b, 0);
  return SHARES.map((share) => {
    let below = 0;
    for (let i = 0; total > 0 && i < counts.length; i++) {
      if (counts[i] > 0 && below + counts[i] >= share * total) {
        const high = i + 1 < lows.length ? lows[i + 1] : lows[i];
        return { row: i + (share * total - below) / counts[i],
          value: lows[i] + (high - lows[i]) * (share * total - below) / counts[i] };
      }
      below += counts[i];
    }
    return null;
  });
}

class Heat {
  // meta: of the values
  constructor(parent, meta, label) {
    this.measure = measureOf(meta && { ...meta, kind: "gauge" }) || { unit: "count", factor: 1 };
    this.unit = unitNamed(this.measure.unit);
    this.columns = [];
    this.canvas = element("canvas", { class: "heat", role: "img", "aria-label": "latency heat map of " + label,
      onpointermove: (e) => this.point(e), onpointerleave: () => this.leave() });
    this.legend = element("ul", { class: "legend" });
    this.note = element("div", { class: "note" });
    this.place = element("div", { class: "plot" }, this.canvas, this.legend, this.note);
    this.numbers = SHARES.map((share, i) => {
      const mark = element("i"), number = element("b");
      this.legend.append(element("li", null, element("button", { type: "button", tabindex: -1 }, mark, `p${share * 100} `, number)));
      return { mark, number, i };
    });
    parent.append(this.place);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.canvas);
    view.charts.add(this);
  }

  remove() {
    view.charts.delete(this);
    this.resized.disconnect();
    this.place.remove();
  }

  build() {
    this.draw();
  }

  lines() {
    return isDark() ? ["#ffffff", "#ffb3d1", "#ff7a7a"] : ["#111827", "#b3176b", "#e23b2e"];
  }

  // Adds what was counted since the last time.
  push(time, lows, counts, fresh) {
    const same = this.last && !fresh && this.last.length === counts.length;
    const column = same && counts.map((c, i) => Math.max(c - this.last[i], 0));
    this.last = counts.slice();
    this.lows = lows;
    if (column) this.columns.push({ time, counts: column, shares: percentiles(lows, column) });
    while (this.columns.length && this.columns[0].time < time - HISTORY) this.columns.shift();
    if (view.quiet) return;
    this.draw();
    this.write();
  }

  // Where things lie: the rows that have counts in what is shown, and the pixels.
  layout() {
    const newest = this.columns.length ? this.columns[this.columns.length - 1].time : 0;
    const [from, end] = shownTimes(this.columns.length ? this.columns[0].time : newest, newest);
    const shown = this.columns.filter((c) => c.time >= from && c.time <= end);
    let first = Infinity, last = -1, most = 1;
    for (const c of shown) {
      c.counts.forEach((n, i) => {
        if (n > 0) {
          first = Math.min(first, i);
          last = Math.max(last, i);
          most = Math.max(most, n);
        }
      });
    }
    if (last < 0) [first, last] = [0, (this.lows ? this.lows.length : 1) - 1];
    first = Math.max(0, first - 1);
    last = Math.min((this.lows ? this.lows.length : 1) - 1, last + 1);
    const box = this.canvas.getBoundingClientRect(), left = 66, bottom = 22;
    return { shown, span: end - from, first, last, most, end, left, width: box.width - left - 22,
      height: box.height - bottom - 6, top: 6, row: (box.height - bottom - 6) / (last - first + 1) };
  }

  x(l, time) {
    return l.left + l.width * (1 - (l.end - time) / l.span);
  }

  y(l, row) {
    return l.top + l.height - (row - l.first) * l.row;
  }

  draw() {
    const box = this.canvas.getBoundingClientRect(), scale = devicePixelRatio || 1, c = this.canvas.getContext("2d");
    if (!(box.width > 0)) return;
    this.canvas.width = Math.round(box.width * scale);
    this.canvas.height = Math.round(box.height * scale);
    c.scale(scale, scale);
    this.numbers.forEach((n, i) => { n.mark.style.background = this.lines()[i]; });
    if (!this.lows) return;
    const l = this.layout();
    this.drawAxes(c, l);
    this.drawCells(c, l);
    SHARES.forEach((_, i) => this.drawLine(c, l, i));
    if (this.cursor != null) this.drawCursor(c, l);
  }

  drawCursor(c, l) {
    const x = this.x(l, this.cursor);
    if (x < l.left || x > l.left + l.width) return;
    c.setLineDash([4, 3]);
    c.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--weak").trim();
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(x, l.top);
    c.lineTo(x, l.top + l.height);
    c.stroke();
  }

  drawAxes(c, l) {
    const style = getComputedStyle(document.documentElement);
    c.font = "11px system-ui, sans-serif";
    c.fillStyle = style.getPropertyValue("--weak").trim();
    c.textAlign = "right";
    c.textBaseline = "middle";
    const every = Math.max(1, Math.ceil((l.last - l.first + 1) / Math.max(2, Math.floor(l.height / 26))));
    for (let row = l.first; row <= l.last; row += every) {
      const low = this.lows[row];
      if (low != null) c.fillText(Math.abs(low) > 1e300 ? "–" : this.unit.write(low * this.measure.factor), l.left - 8, this.y(l, row) - 2);
    }
    c.textBaseline = "alphabetic";
    c.textAlign = "center";
    for (let i = 1; i < 4; i++) {
      const time = l.end - l.span * (1 - i / 4);
      c.fillText(axisText(time, l.span / 4), this.x(l, time), l.top + l.height + 16);
    }
    c.strokeStyle = style.getPropertyValue("--grid").trim();
    c.strokeRect(l.left + 0.5, l.top + 0.5, l.width - 1, l.height - 1);
  }

  drawCells(c, l) {
    const ramp = RAMPS[isDark() ? "dark" : "light"];
    l.shown.forEach((column, i) => {
      const before = i > 0 ? l.shown[i - 1].time : column.time - 2;
      const x0 = Math.max(this.x(l, Math.max(before, column.time - 30)), l.left), x1 = this.x(l, column.time);
      for (let row = l.first; row <= l.last; row++) {
        if (column.counts[row] > 0) {
          c.fillStyle = heat(column.counts[row] / l.most, ramp);
          c.fillRect(x0, this.y(l, row + 1), x1 - x0 + 0.5, l.row + 0.5);
        }
      }
    });
  }

  drawLine(c, l, i) {
    c.strokeStyle = this.lines()[i];
    c.lineWidth = 1.5;
    c.beginPath();
    let going = false;
    for (const column of l.shown) {
      const share = column.shares[i];
      if (share && going) c.lineTo(this.x(l, column.time), this.y(l, share.row));
      else if (share) c.moveTo(this.x(l, column.time), this.y(l, share.row));
      going = share != null;
    }
    c.stroke();
  }

  // The percentiles of a column, by default the last.
  write(column) {
    const of = column || this.columns[this.columns.length - 1];
    this.numbers.forEach(({ number, i }) => {
      number.textContent = of && of.shares[i] ? this.unit.write(of.shares[i].value * this.measure.factor) : "–";
    });
    if (!column) this.note.textContent = of ? `${digits(of.counts.reduce((a, b) => a + b, 0))} values in the last interval` : "";
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect(), l = this.layout();
    const time = l.end - (1 - (event.clientX - box.left - l.left) / l.width) * l.span;
    const row = Math.floor(l.first + (l.top + l.height - (event.clientY - box.top)) / l.row);
    const column = l.shown.find((c) => c.time >= time);
    view.pointer = this;
    pointAll(time, this);
    if (!column || !(row >= l.first && row <= l.last)) return this.write();
    const bound = (i) => this.unit.write(this.lows[i] * this.measure.factor);
    const range = row + 1 < this.lows.length ? `from ${bound(row)} to ${bound(row + 1)}` : `from ${bound(row)}`;
    this.write(column);
    this.note.textContent = `${clockText(column.time)}: ${column.counts[row]} values ${range}`;
  }

  leave() {
    this.write();
    pointAll(null, this);
  }

  // Another chart has the cursor.
  pointAt(time) {
    this.cursor = time;
    this.draw();
    this.write(time == null ? null : this.columns.find((c) => c.time >= time));
  }
}
