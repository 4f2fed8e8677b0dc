// Everything here adds to a page that can be read without it: the theme switch, copying, and drawing charts.
"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const THEMES = ["system", "light", "dark"];
  const KEY = "prompt-evaluator-theme";
  const NARROW = 460;

  // Pages opened from disk may have no storage; touching it then throws.
  const remembered = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem(KEY, theme); } catch { /* chosen for this visit only */ } };

  let theme = THEMES.includes(remembered()) ? remembered() : "system";
  const shown = () => (theme === "system" ? (dark.matches ? "dark" : "light") : theme);

  function apply() {
    if (theme === "system") delete root.dataset.theme; else root.dataset.theme = theme;
    root.dataset.shown = shown();
    const button = document.getElementById("theme");
    if (button) button.textContent = `Theme: ${theme}`;
  }
  apply();

  function switchTheme() {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    remember(theme);
    apply();
    drawAll(shown());
  }

  async function copy(button) {
    const text = button.parentElement.querySelector("pre").textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.parentElement.querySelector("pre"));
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }

  const read = (id) => JSON.parse(document.getElementById(id).textContent);

  // The same chart, narrower by so many pixels; panels beside each other go below each other.
  const NARROWEST = 100;
  const NARROWEST_STEP = 48;
  const MOST_SHRUNK = 1.45;
  function narrower(chart, by) {
    const panels = chart.vconcat ? "vconcat" : chart.concat ? "concat" : null;
    if (chart.columns > 1) return { ...chart, columns: 1 };
    if (panels) return { ...chart, [panels]: chart[panels].map((each) => narrower(each, by)) };
    if (chart.width?.step > NARROWEST_STEP) return { ...chart, width: { step: NARROWEST_STEP } };
    return chart.width > NARROWEST ? { ...chart, width: Math.max(NARROWEST, chart.width - by) } : chart;
  }

  async function draw(figure, look) {
    const host = figure.querySelector(".chart");
    if (host.querySelector(`.for-${look}`)) return;
    const place = document.createElement("div");
    place.className = `for-${look}`;
    host.append(place);
    const embed = (chart) => window.vegaEmbed(place, chart, {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false,
      tooltip: { disableDefaultStyle: true }, config: read("chart-themes")[look],
    });
    try {
      const chart = read(`${figure.dataset.chart}-data`);
      await embed(chart);
      const width = () => place.querySelector("svg").width.baseVal.value;
      figure.classList.toggle("narrow", width() < NARROW); // two fit on paper
      if (width() > figure.clientWidth) await embed(narrower(chart, Math.ceil(width() - figure.clientWidth)));
      if (width() < figure.clientWidth * MOST_SHRUNK) place.classList.add("shrunk"); // still large enough to read
    } catch (error) {
      place.textContent = "This chart could not be drawn. The numbers below say the same.";
      console.error(error);
    }
  }

  async function drawAll(look) {
    if (!window.vegaEmbed) return;
    for (const figure of document.querySelectorAll("figure[data-chart]")) await draw(figure, look);
  }

  // What is folded on the screen is printed, and folded again afterwards.
  let opened = [];
  function unfold() {
    opened = [...document.querySelectorAll("details:not([open], .numbers)")];
    for (const each of opened) each.open = true;
  }
  function foldAgain() {
    for (const each of opened) each.open = false;
    opened = [];
  }

  // A link to a part that is folded opens it.
  function openTarget() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  }

  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", foldAgain);
  addEventListener("hashchange", openTarget);
  dark.addEventListener("change", () => { apply(); drawAll(shown()); });
  addEventListener("DOMContentLoaded", async () => {
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", switchTheme);
    for (const each of document.querySelectorAll(".copy")) {
      each.hidden = false;
      each.addEventListener("click", () => copy(each));
    }
    apply();
    openTarget();
    await drawAll(shown());
    await drawAll("light"); // what is printed
    root.dataset.ready = "";
  });
})();
