// Charts of lines, and of areas that are stacked: uPlot with a history and a legend of its own.

// Where the lines of a logarithmic axis are: at the powers of ten.
function decades(_plot, _axis, least, most) {
  const first = Math.round(Math.log10(least)), last = Math.round(Math.log10(most));
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
}

class Lines {
  // series: [{ label, dash }]; options: { unit, stacked, log, height, label }
  constructor(parent, series, options) {
    this.options = options;
    this.unit = unitNamed(options.unit);
    this.place = element("div", { class: "plot", role: "img", "aria-label": options.label });
    this.place.addEventListener("mousemove", () => { view.pointer = this; }, true); // before uPlot moves its cursor
    this.legend = element("ul", { class: "legend" });
    parent.append(this.place, this.legend);
    this.times = [];
    this.series = [];
    this.setSeries(series);
    this.resized = new ResizeObserver(() => this.resize());
    this.resized.observe(this.place);
    view.charts.add(this);
  }

  remove() {
    view.charts.delete(this);
    this.resized.disconnect();
    if (this.plot) this.plot.destroy();
    this.place.remove();
    this.legend.remove();
  }

  // Gives the chart these series; those that it has by the same label keep their past.
  setSeries(series) {
    const past = new Map(this.series.map((s) => [s.label, s]));
    this.series = series.map((s) => past.get(s.label) ||
      { ...s, values: this.times.map(() => null), shown: true });
    this.build();
  }

  add(time, values) {
    this.times.push(time);
    this.series.forEach((s, i) => s.values.push(values[i] == null ? null : values[i]));
  }

  // Adds a value for each series, behind a gap if there was no value for long.
  push(time, values) {
    const last = this.times[this.times.length - 1];
    if (time - last > view.gap) this.add(last + 0.001, []);
    this.add(time, values);
    let old = 0;
    while (this.times[old] < time - HISTORY) old++;
    if (old > 60) {
      this.times.splice(0, old);
      for (const s of this.series) s.values.splice(0, old);
    }
    if (!view.quiet) this.draw();
  }

  // The arrays that uPlot draws: stacked ones are sums of the shown series up to each.
  data() {
    if (!this.options.stacked) return [this.times, ...this.series.map((s) => s.values)];
    const total = this.times.map(() => 0);
    return [this.times, ...this.series.map((s) => s.values.map((v, i) => {
      if (s.shown && v != null) total[i] += v;
      return v == null ? null : total[i];
    }))];
  }

  // Makes the plot anew; between values of the past that waits until it is drawn.
  build() {
    this.stale = view.quiet && this.plot != null;
    if (this.stale) return;
    if (this.plot) this.plot.destroy();
    const style = getComputedStyle(document.documentElement), weak = style.getPropertyValue("--weak").trim();
    const axis = { stroke: weak, font: "11px system-ui, sans-serif", grid: { stroke: style.getPropertyValue("--grid").trim(),
      width: 1 }, ticks: { show: false } };
    const stacked = this.options.stacked;
    this.plot = new uPlot({
      width: Math.max(this.place.clientWidth, 100), height: this.options.height || 150, padding: [8, 22, 0, 0],
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false, setScale: false } },
      scales: {
        x: { time: true, range: () => this.span() },
        y: { distr: this.options.log ? 3 : 1, range: (_, least, most) => this.range(least, most) },
      },
      axes: [
        { ...axis, size: 24, space: 70, values: (_, times, _axis, _space, step) => times.map((t) => axisText(t, step)) },
        { ...axis, size: 66, space: 34, ...(this.options.log ? { splits: decades } : { incrs: this.unit.steps }),
          values: (_, values) => values.map((v) => v == null ? "" : (this.unit.axis || this.unit.write)(v)) },
      ],
      series: [{}, ...this.series.map((s, i) => ({
        show: stacked || s.shown, stroke: s.stroke || colour(i), width: 1.5, dash: s.dash, points: { show: false },
        fill: stacked ? this.tint(i) : undefined, spanGaps: false,
      }))],
      bands: stacked ? this.series.slice(1).map((_, i) => ({ series: [i + 2, i + 1], fill: this.tint(i + 1) })) : [],
      hooks: { setCursor: [(u) => this.pointed(u)], setSelect: [(u) => this.selected(u)] },
    }, this.data(), this.place);
    this.buildLegend();
  }

  tint(i) {
    const c = colour(i);
    return c.startsWith("#") ? c + "8c" : c.replace(")", " / 55%)");
  }

  span() {
    const end = this.times.length ? this.times[this.times.length - 1] : Date.now() / 1000;
    return shownTimes(this.times[0], end);
  }

  // The cursor of this chart moved, by the pointer or as its axis moved below it. The others follow the one that has the
  // pointer.
  pointed(plot) {
    this.write(plot.cursor.idx);
    if (view.pointer !== this) return;
    this.follows = null;
    pointAll(plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : null, this);
  }

  // Another chart has the cursor.
  pointAt(time) {
    this.follows = time;
    const left = time == null ? -10 : this.plot.valToPos(time, "x");
    this.plot.setCursor({ left, top: left < 0 ? -10 : 0 }, false);
    this.write(this.plot.cursor.idx);
  }

  // A part was marked by dragging; a narrow one was a click.
  selected(plot) {
    const { left, width } = plot.select;
    if (width < 5) return;
    const times = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    zoomTo(times);
  }

  range(least, most) {
    if (this.options.log) return most > 0 ? [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(most * 1.01))] : [1, 10];
    if (this.unit.end && !(most > this.unit.end)) return [0, this.unit.end];
    if (least == null || most == null || (least === 0 && most === 0)) return [0, 1];
    return [Math.min(0, least * 1.1), Math.max(0, most * 1.1)];
  }

  buildLegend() {
    this.numbers = this.series.map(() => element("b"));
    this.legend.replaceChildren(...this.series.map((s, i) => {
      const mark = element("i");
      mark.style.background = s.stroke || colour(i);
      const button = element("button", { type: "button", "aria-pressed": String(s.shown), onclick: () => this.toggle(i) },
        mark, s.label, " ", this.numbers[i]);
      return element("li", null, button);
    }));
    this.legend.hidden = this.series.length < 2 && !this.options.legend;
    this.write();
  }

  toggle(i) {
    const s = this.series[i];
    s.shown = !s.shown;
    this.legend.children[i].firstChild.setAttribute("aria-pressed", String(s.shown));
    if (!this.options.stacked) this.plot.setSeries(i + 1, { show: s.shown });
    this.draw();
  }

  // The values in the legend: those under the cursor, else the last ones.
  write(index) {
    const at = index == null ? this.times.length - 1 : index;
    this.series.forEach((s, i) => {
      const v = s.values[at];
      this.numbers[i].textContent = v == null ? "–" : this.unit.write(v);
    });
  }

  draw() {
    if (this.stale) return this.build();
    this.plot.setData(this.data());
    queueMicrotask(() => { if (this.follows) this.pointAt(this.follows); }); // when uPlot has moved its axis
    this.write(this.plot.cursor.idx);
  }

  resize() {
    const width = this.place.clientWidth;
    if (width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: this.options.height || 150 });
  }
}
