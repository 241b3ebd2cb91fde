// The script of the live page. All text from outside is set as text. What is kept is bounded:
// each line has a fixed number of points, which are made once and used again.
"use strict";
(() => {
  const byID = id => document.getElementById(id);
  const text = (id, s) => { const e = byID(id); if (e.textContent !== s) e.textContent = s; };
  const show = (id, on) => { byID(id).hidden = !on; };
  const meta = name => document.querySelector(`meta[name=${name}]`).content;
  const boot = meta("boot"), history = Number(meta("history"));
  const night = matchMedia("(prefers-color-scheme: dark)");
  const DRAW_GAP = 200; // ms between two drawings
  const POLL = 500, RECONNECT = 2000; // ms between two questions

  let views = [], next = 0, newest = null, seen = 0, lost = 0;

  // The charts, and of each line its name, its path in a frame, its color and its scale. docs/dashboard.md explains them.
  const CHARTS = [
    ["rates", "Events", "events/s", "Events per second: received from the API server, taken by storage, merged with a later one, lost.",
      ["received", "received", "blue"], ["sent", "sent", "green"], ["coalesced", "coalesced", "violet"], ["dropped", "dropped", "red"]],
    ["depth", "Waiting", "events", "Events that wait in the Writer queue and in all handler queues together, and requests that storage is answering.",
      ["Writer", "writer", "orange"], ["handlers", "handlers", "blue"], ["in flight", "inFlight", "green"]],
    ["latency", "Storage latency", "ms", "From the request to the answer of writes, retries within a call included.",
      ["p50", "latency.p50", "green", 1000], ["p90", "latency.p90", "blue", 1000], ["p99", "latency.p99", "orange", 1000]],
    ["freshness", "Freshness", "s", "From the receipt of a change until storage has it, and the age of the oldest change that it lacks.",
      ["p50", "freshness.p50", "green"], ["p99", "freshness.p99", "orange"], ["oldest unsent", "oldest", "red"]],
    ["cpu", "CPU", "cores", "CPU time of the watcher.", ["CPU", "cpu", "blue"]],
    ["memory", "Memory", "MiB", "Resident memory of the watcher.", ["memory", "memory", "violet", 1 / 1048576]],
  ];

  // ---- figures
  const at = (frame, path) => path.split(".").reduce((x, k) => x == null ? null : x[k], frame);
  const short = x => x == null ? "–" : x >= 100 || x === 0 ? Math.round(x).toLocaleString("en") : Number(x.toPrecision(3)).toString();
  const clock = ms => new Date(ms).toLocaleTimeString();

  // ---- charts
  const css = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  function option(lines) {
    const soft = css("soft"), ground = css("line"), ink = css("ink");
    const axis = type => ({ type, axisLabel: { color: soft, hideOverlap: true }, axisLine: { lineStyle: { color: ground } }, splitLine: { show: type === "value", lineStyle: { color: ground } } });
    return {
      animation: false, aria: { enabled: true }, textStyle: { fontFamily: css("sans"), color: ink },
      grid: { left: 8, right: 16, top: 34, bottom: 8, containLabel: true },
      xAxis: { ...axis("time"), splitNumber: 4 }, yAxis: { ...axis("value"), min: 0 },
      legend: { top: 0, left: 0, icon: "roundRect", itemWidth: 14, itemHeight: 4, textStyle: { color: ink } },
      tooltip: { trigger: "axis", backgroundColor: css("panel"), borderColor: ground, textStyle: { color: ink, fontSize: 12 }, confine: true, transitionDuration: 0 },
      series: lines.map(([name, , color]) => ({ type: "line", name, showSymbol: false, lineStyle: { width: 1.5, color: css(color) }, itemStyle: { color: css(color) } })),
    };
  }

  function element(tag, className, text) {
    const e = document.createElement(tag);
    e.className = className;
    if (text) e.textContent = text;
    return e;
  }

  class View {
    constructor([id, title, unit, caption, ...lines]) {
      this.id = id;
      this.lines = lines;
      this.data = lines.map(() => []);
      const figure = element("figure", "panel"), words = document.createElement("figcaption"), head = element("h2", "", title + " ");
      head.append(element("span", "unit", unit));
      words.append(head, element("p", "", caption));
      this.box = element("div", "chart");
      this.box.setAttribute("role", "img");
      this.box.setAttribute("aria-label", title + ": " + caption);
      this.box.hidden = true;
      this.empty = element("p", "empty", "Nothing known yet.");
      figure.append(words, this.box, this.empty);
      byID("charts").append(figure);
    }
    add(f) {
      this.lines.forEach(([, path, , scale], i) => {
        const all = this.data[i], v = at(f, path);
        const point = all.length < history ? [0, null] : all.shift();
        point[0] = f.t;
        point[1] = v == null ? null : v * (scale || 1);
        all.push(point);
        if (v != null) { this.box.hidden = false; this.empty.hidden = true; }
      });
      this.dirty = true;
    }
    restyle() {
      if (this.chart) { this.chart.dispose(); this.chart = null; }
      this.dirty = true;
    }
    draw() {
      if (!this.chart && !this.box.hidden && window.echarts) {
        this.chart = echarts.init(this.box, null, { renderer: "canvas" });
        this.chart.setOption(option(this.lines));
      }
      if (!this.chart || !this.dirty) return;
      this.dirty = false;
      this.chart.setOption({ series: this.data.map(data => ({ data })) }, { lazyUpdate: true, silent: true });
    }
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
  function away() {
    if (lost) return;
    lost = Date.now();
    text("problem", `Not connected to watchbench since ${clock(lost)}; trying again.`);
    show("problem", true);
  }
  // poll asks for the frames that the page lacks.
  async function poll() {
    try {
      const answer = await fetch(`/frames?next=${next}`);
      if (!answer.ok) throw new Error(answer.statusText);
      const n = await answer.json();
      if (n.boot !== boot) { location.reload(); return; } // another server, with other frames
      lost = 0;
      problem("");
      if (!seen) text("status", "Connected; waiting for a reading");
      next = n.next;
      n.frames.forEach(add);
      plan();
    } catch (e) { away(); }
    setTimeout(poll, lost ? RECONNECT : POLL);
  }

  function start() {
    views = CHARTS.map(c => new View(c));
    figures();
    night.addEventListener("change", () => { for (const v of views) v.restyle(); plan(); });
    let resizing = 0;
    addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(() => { for (const v of views) if (v.chart) v.chart.resize(); }, 100); });
    byID("queues").addEventListener("toggle", () => { if (newest) queues(newest); });
    document.documentElement.dataset.ready = "true";
    poll();
  }
  // What the tests look at.
  window.live = { state: () => ({ seen, boot, next }), views: () => views };
  start();
})();
