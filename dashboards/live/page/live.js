// The script of the live page. All text from outside is set as text. What is kept is bounded:
// each line has a fixed number of points, which are made once and used again.
"use strict";
(() => {
  const byID = id => document.getElementById(id);
  const text = (id, s) => { const e = byID(id); if (e.textContent !== s) e.textContent = s; };
  const show = (id, on) => { byID(id).hidden = !on; };
  const version = document.querySelector("meta[name=page]").content;
  const night = matchMedia("(prefers-color-scheme: dark)");
  const DRAW_GAP = 200; // ms between two drawings
  const POLL = 500, RECONNECT = 2000; // ms between two questions

  let setup, views = [], boot = "", next = 0, newest = null, seen = 0, lost = 0;

  // ---- figures
  const at = (frame, path) => path.split(".").reduce((x, k) => x == null ? null : x[k], frame);
  const short = x => x == null ? "–" : x >= 100 || x === 0 ? Math.round(x).toLocaleString("en") : Number(x.toPrecision(3)).toString();
  const clock = ms => new Date(ms).toLocaleTimeString();

  // ---- charts
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function themed(option) {
    let source = JSON.stringify(option);
    if (night.matches) source = source.replace(/#[0-9a-f]{6}/g, c => setup.dark[c] || c);
    const o = JSON.parse(source);
    const soft = css("--soft"), line = css("--line"), ink = css("--ink");
    o.textStyle = { fontFamily: css("--sans"), color: ink };
    for (const axis of [].concat(o.xAxis || [], o.yAxis || [])) {
      axis.axisLabel = Object.assign({}, axis.axisLabel, { color: soft });
      axis.axisLine = { lineStyle: { color: line } };
      axis.splitLine = { show: axis.type === "value", lineStyle: { color: line } };
    }
    if (o.legend) for (const l of [].concat(o.legend)) l.textStyle = { color: ink };
    o.tooltip = Object.assign({}, o.tooltip, { backgroundColor: css("--panel"), borderColor: line, textStyle: { color: ink, fontSize: 12 }, confine: true, transitionDuration: 0 });
    return o;
  }

  class View {
    constructor(c) {
      this.c = c;
      this.box = byID("chart-" + c.id);
      this.box.hidden = true;
      this.clear();
    }
    open() {
      if (this.chart || this.box.hidden || !window.echarts) return;
      this.chart = echarts.init(this.box, null, { renderer: "canvas" });
      const option = themed(this.c.option);
      this.chart.setOption(option);
    }
    restyle() {
      if (this.chart) { this.chart.dispose(); this.chart = null; }
      this.dirty = true;
    }
    known() {
      if (!this.box.hidden) return;
      this.box.hidden = false;
      show("empty-" + this.c.id, false);
    }
    forget() {
      this.box.hidden = true;
      show("empty-" + this.c.id, true);
      if (this.chart) { this.chart.dispose(); this.chart = null; }
    }
    draw() {
      this.open();
      if (!this.chart || !this.dirty) return;
      this.dirty = false;
      this.paint();
    }
  }

  class Lines extends View {
    clear() { this.data = this.c.series.map(() => []); this.forget(); }
    add(f) {
      this.c.series.forEach((s, i) => {
        const all = this.data[i], v = at(f, s.path);
        const point = all.length < setup.history ? [0, null] : all.shift();
        point[0] = f.t;
        point[1] = v == null ? null : v * s.scale;
        all.push(point);
        if (v != null) this.known();
      });
      this.dirty = true;
    }
    paint() { this.chart.setOption({ series: this.data.map(data => ({ data })) }, { lazyUpdate: true, silent: true }); }
  }

  // ---- text
  const FIGURES = [
    ["Received", f => f.received, "events/s"], ["Sent", f => f.sent, "events/s"], ["Coalesced", f => f.coalesced, "events/s"], ["Dropped", f => f.dropped, "events/s"],
    ["Writer queue", f => f.writer, "events"], ["Handler queues", f => f.handlers, "events"], ["In flight", f => f.inFlight, "requests"],
    ["Storage p50", f => at(f, "latency.p50"), "ms", 1000], ["Storage p90", f => at(f, "latency.p90"), "ms", 1000], ["Storage p99", f => at(f, "latency.p99"), "ms", 1000],
    ["Freshness p50", f => at(f, "freshness.p50"), "s"], ["Freshness p99", f => at(f, "freshness.p99"), "s"], ["Oldest unsent", f => f.oldest, "s"],
    ["CPU", f => f.cpu, "cores"], ["Memory", f => f.memory, "MiB", 1 / 1048576], ["Network in", f => f.netIn, "KiB/s", 1 / 1024], ["Network out", f => f.netOut, "KiB/s", 1 / 1024],
  ];
  function figures() {
    for (const [i, [name]] of FIGURES.entries()) {
      const row = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name;
      dd.id = "figure-" + i;
      dd.textContent = "–";
      row.append(dt, dd);
      byID("figures").append(row);
    }
  }
  function tell(f) {
    for (const [i, [name, of, unit, scale]] of FIGURES.entries()) {
      const v = of(f);
      let s = v == null ? "–" : short(v * (scale || 1)) + " " + unit;
      if (v > 0 && name === "Oldest unsent" && f.oldestKind) s += " (" + f.oldestKind + ")";
      text("figure-" + i, s);
    }
    const b = f.bottleneck, line = byID("bottleneck");
    line.replaceChildren("Bottleneck: ");
    if (b) {
      const strong = document.createElement("strong");
      strong.textContent = b.where;
      strong.className = b.where === "none" ? "none" : "";
      line.append(strong, " – " + b.why);
    } else line.append("not known");
    const out = f.unreachable;
    problem(out ? `No reading since ${clock(out.since)}: ${out.why}` : "");
    tellRun(f.run);
    if (byID("queues").open) queues(f);
  }
  let told = "";
  function problem(s) { if (!lost) { text("problem", s); show("problem", s !== ""); } }
  function tellRun(run) {
    show("run", !!run);
    show("verdicts", !!run && !!run.verdicts && run.verdicts.length > 0);
    if (!run) return;
    text("run-title", "Run of " + run.scenario);
    text("run-cell", run.cell ? `${run.cell} (${run.number} of ${run.of})` : "–");
    text("run-phase", run.ended ? "the run has ended" : (run.phase || "–") + (run.note ? ` (${run.note})` : ""));
    text("run-fault", run.fault || "none");
    const key = JSON.stringify(run.verdicts || []);
    if (key === told) return;
    told = key;
    text("verdicts-count", `${run.judged === 1 ? "1 cell" : (run.judged || 0) + " cells"} judged, ${run.failed || 0} failed`);
    byID("verdicts-list").start = run.judged || 0;
    byID("verdicts-list").replaceChildren(...(run.verdicts || []).slice().reverse().map(v => {
      const li = document.createElement("li"), state = document.createElement("span");
      state.textContent = v.state;
      state.className = "state " + (["passed", "failed", "invalid"].includes(v.state) ? v.state : "");
      li.append(state, ` ${v.cell}: ${v.text}`);
      return li;
    }));
  }
  function queues(f) {
    byID("queues-body").replaceChildren(...(f.queues || []).map(q => {
      const tr = document.createElement("tr");
      for (const s of [q.n, short(q.d), short(q.c)]) { const td = document.createElement("td"); td.textContent = s; tr.append(td); }
      return tr;
    }));
    show("queues-more", !!f.moreQueues);
    text("queues-more", `${f.moreQueues || 0} more queues are not shown.`);
  }

  // ---- drawing
  let due = false, drawn = 0;
  function plan() {
    if (due) return;
    due = true;
    setTimeout(() => requestAnimationFrame(() => { due = false; drawn = performance.now(); draw(); }), Math.max(0, DRAW_GAP - (performance.now() - drawn)));
  }
  function draw() {
    if (newest) tell(newest);
    if (!lost && newest && newest.t) text("status", `Last reading ${clock(newest.t)}`);
    for (const v of views) v.draw();
  }

  // ---- frames
  function add(f) {
    seen++;
    if (f.state) { newest = Object.assign({}, newest, { run: f.run }); return; }
    newest = f;
    for (const v of views) v.add(f);
  }
  function clear() {
    newest = null;
    for (const v of views) v.clear();
    tell({});
  }
  function away() {
    if (lost) return;
    lost = Date.now();
    text("problem", `Not connected to watchbench since ${clock(lost)}; trying again.`);
    show("problem", true);
  }
  // poll asks for the frames that the page lacks.
  async function poll() {
    try {
      const answer = await fetch(`/frames?boot=${encodeURIComponent(boot)}&next=${next}`);
      if (!answer.ok) throw new Error(answer.statusText);
      const n = await answer.json();
      if (n.page !== version) { location.reload(); return; }
      lost = 0;
      problem("");
      if (n.reset) { clear(); text("status", "Connected; waiting for a reading"); }
      boot = n.boot;
      next = n.next;
      n.frames.forEach(add);
      plan();
    } catch (e) { away(); }
    setTimeout(poll, lost ? RECONNECT : POLL);
  }

  async function start() {
    setup = await (await fetch("/options.json")).json();
    views = setup.charts.map(c => new Lines(c));
    figures();
    night.addEventListener("change", () => { for (const v of views) v.restyle(); plan(); });
    let resizing = 0;
    addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(() => { for (const v of views) if (v.chart) v.chart.resize(); }, 100); });
    byID("queues").addEventListener("toggle", () => { if (newest) queues(newest); });
    document.documentElement.dataset.ready = "true";
    poll();
  }
  // What the tests look at.
  window.live = { state: () => ({ seen, boot, next, points: views.map(v => ({ id: v.c.id, n: (v.c.kind === "lines" ? v.data[0] : v.data).length, drawn: !!v.chart })) }), views: () => views };
  start().catch(e => { text("status", "The page did not start: " + e.message); });
})();
