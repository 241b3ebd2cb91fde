
"use strict";
(function () {
  var settings = JSON.parse(document.getElementById("settings").textContent);
  var root = document.documentElement;
  var system = window.matchMedia("(prefers-color-scheme: dark)");
  var figures = [];

  function dark() {
    var chosen = root.getAttribute("data-theme");
    return chosen ? chosen === "dark" : system.matches;
  }

  // Options hold the colours of a light ground; on a dark one each has a counterpart.
  function tinted(value) {
    if (typeof value === "string") return dark() && settings.dark[value] || value;
    if (Array.isArray(value)) return value.length && typeof value[0] === "number" ? value : value.map(tinted);
    if (value === null || typeof value !== "object") return value;
    var copy = {};
    Object.keys(value).forEach(function (k) { copy[k] = tinted(value[k]); });
    return copy;
  }

  function number(v) {
    if (typeof v !== "number" || !isFinite(v)) return "–";
    var a = Math.abs(v);
    if (a >= 100) return v.toFixed(0);
    if (a >= 10) return v.toFixed(1);
    if (a >= 0.1 || a === 0) return v.toFixed(2);
    return String(Number(v.toPrecision(2)));
  }

  function plain(v) { return String(Number(v.toPrecision(3))); }

  function color(name) { return getComputedStyle(root).getPropertyValue(name).trim(); }

  // styled adds what depends on the page: colours of text and lines, and formatters,
  // which JSON cannot hold. Tooltips stay ECharts' own, which escape names.
  function styled(figure) {
    var option = tinted(figure.option);
    var ink = color("--ink"), soft = color("--soft"), line = color("--line"), panel = color("--ground");
    var font = getComputedStyle(document.body).fontFamily;
    option.textStyle = { fontFamily: font, color: ink };
    // The legend is as high as it needs to be, so that no name is cut.
    var wide = option.series.reduce(function (sum, s) { return sum + 52 + 7 * s.name.length; }, 0);
    var rows = Math.ceil(1.15 * wide / figure.plot.offsetWidth);
    [].concat(option.grid).forEach(function (grid) { grid.top = 34 + 20 * (rows > 6 ? 1 : rows); });
    option.legend = Object.assign({}, option.legend, {
      type: rows > 6 ? "scroll" : "plain",
      textStyle: { color: ink, fontSize: 12 }, inactiveColor: soft, pageTextStyle: { color: soft }, pageIconColor: soft, itemGap: 14
    });
    // Where lines differ in style, the legend shows it.
    if (option.series.some(function (s) { return s.type === "line" && s.lineStyle && s.lineStyle.type !== "solid"; })) {
      delete option.legend.icon;
      Object.assign(option.legend, { itemWidth: 26, itemHeight: 8 });
    }
    option.tooltip = Object.assign({}, option.tooltip, {
      confine: true, backgroundColor: panel, borderColor: line, textStyle: { color: ink, fontSize: 12 },
      valueFormatter: function (v) { return number(Array.isArray(v) ? v[1] : v) + " " + figure.unit; },
      axisPointer: { type: "line", label: {
        backgroundColor: soft, formatter: function (p) { return typeof p.value === "number" ? number(p.value) + (figure.axis === "plain" ? "" : " s") : String(p.value); } } }
    });
    (option.xAxis || []).forEach(function (axis) {
      axis.axisLine = { lineStyle: { color: soft } };
      axis.axisTick = { show: false };
      axis.splitLine = { show: false };
      axis.nameTextStyle = { color: soft };
      axis.axisLabel = { color: soft, hideOverlap: true };
      if (axis.type === "log") axis.axisLabel.formatter = plain;
      if (axis.min === "dataMin") axis.axisLabel = { color: soft, hideOverlap: true, showMinLabel: false, showMaxLabel: false };
    });
    (option.yAxis || []).forEach(function (axis) {
      axis.axisLabel = { color: soft };
      axis.splitLine = { lineStyle: { color: line } };
      if (axis.type === "log") axis.axisLabel.formatter = plain;
    });
    (option.series || []).forEach(function (s) { s.emphasis = { focus: "series" }; });
    return option;
  }

  function draw(figure) {
    if (figure.chart) figure.chart.dispose();
    figure.chart = null;
    if (!figure.plot.offsetWidth) return; // folded away
    figure.option = figure.option || JSON.parse(figure.source.textContent);
    figure.chart = window.echarts.init(figure.plot, null, { renderer: "svg" });
    figure.chart.setOption(styled(figure));
  }

  var button = document.getElementById("theme");
  function repaint() {
    button.textContent = dark() ? "Light" : "Dark";
    if (window.echarts) figures.forEach(draw);
  }
  button.hidden = false;
  button.addEventListener("click", function () {
    root.setAttribute("data-theme", dark() ? "light" : "dark");
    repaint();
  });
  system.addEventListener("change", repaint);

  if (!window.echarts) {
    document.getElementById("blank").hidden = false;
    repaint();
    return;
  }
  document.querySelectorAll("[data-chart]").forEach(function (plot) {
    var id = plot.getAttribute("data-chart");
    var source = document.querySelector('[data-option="' + id + '"]');
    plot.hidden = false;
    plot.parentNode.querySelector(".data").open = false;
    figures.push({ plot: plot, source: source, unit: plot.getAttribute("data-unit"), axis: plot.getAttribute("data-axis") });
  });
  repaint();
  document.querySelectorAll("details.more").forEach(function (more) {
    more.addEventListener("toggle", function () { figures.forEach(function (f) { if (!f.chart) draw(f); }); });
  });
  // What a link leads to is opened.
  var target = location.hash && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") target.open = true;
  var pending = 0;
  window.addEventListener("resize", function () {
    clearTimeout(pending);
    pending = setTimeout(function () { figures.forEach(function (f) { if (f.chart) f.chart.resize(); }); }, 120);
  });
  // Paper is white, and narrower than the window.
  var before = null;
  window.addEventListener("beforeprint", function () {
    before = root.getAttribute("data-theme");
    root.setAttribute("data-theme", "light");
    repaint();
    figures.forEach(function (f) { if (f.chart) f.chart.resize({ width: f.plot.closest(".charts").children.length > 1 ? 440 : 960 }); });
  });
  window.addEventListener("afterprint", function () {
    if (before) root.setAttribute("data-theme", before); else root.removeAttribute("data-theme");
    repaint();
  });
})();
