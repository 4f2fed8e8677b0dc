// Draws charts once the page is shown: each `figure[data-chart]` has its specification as JSON.
const figures = [...document.querySelectorAll("figure[data-chart]")];
const settings = document.querySelector("#chart-themes");
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const shown = () => root.dataset.theme ?? (dark.matches ? "dark" : "light");
const views = new Map();
const NARROW = 560;
const SHORT_TEXT = 80;

function load(address) {
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = done;
    script.onerror = () => failed(new Error("The script that draws charts could not be loaded."));
    document.head.append(script);
  });
}

const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

// Words in a narrow chart would lie on each other: signs are enough, and the table has the rest.
function shortened(chart) {
  for (const { mark, data } of chart.layer ?? []) {
    if (mark.type === "text" && mark.limit) mark.limit = SHORT_TEXT;
    for (const row of data.values) {
      if (row.sign) row.sign = row.sign.slice(0, 1);
      if (row.what) row.what = "";
    }
  }
  return chart;
}

async function draw(figure, look, kind) {
  const host = figure.querySelector(".chart");
  const place = document.createElement("div");
  place.className = kind;
  const whole = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
  const chart = host.clientWidth < NARROW ? shortened(whole) : whole;
  const { view } = await window.vegaEmbed(
    place,
    { ...chart, width: host.clientWidth, height: host.clientHeight, autosize: { type: "fit", contains: "padding" } },
    {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", defaultStyle: false,
      tooltip: { disableDefaultStyle: true }, config: JSON.parse(settings.textContent)[look],
    },
  );
  host.querySelector(`.${kind}`)?.remove();
  host.append(place);
  host.dataset.drawn = look;
  return view;
}

// Marks with a link open it; with Ctrl, in another tab.
function follow(view) {
  view.addEventListener("click", (event, item) => {
    const link = item?.datum?.link;
    if (typeof link !== "string" || !/^\/(runs\/|compare\?)/.test(link)) return;
    if (event.ctrlKey || event.metaKey) open(link);
    else location.assign(link);
  });
}

async function drawAll() {
  const look = shown();
  for (const figure of figures) {
    try {
      views.get(figure)?.finalize();
      const view = await draw(figure, look, "for-screen");
      views.set(figure, view);
      follow(view);
      await draw(figure, "light", "for-print");
      figure.querySelector(".chart").dataset.drawn = look;
    } catch (error) {
      const said = document.createElement("p");
      said.className = "soft";
      said.textContent = "This chart could not be drawn. The table says the same.";
      figure.append(said);
      console.warn(error);
    }
  }
}

let drawing = Promise.resolve();
const again = () => (drawing = drawing.then(drawAll));

async function start() {
  await painted();
  try {
    await load(settings.dataset.script);
  } catch {
    return; // the table says the same
  }
  await again();
  new MutationObserver(again).observe(root, { attributeFilter: ["data-theme"] });
  dark.addEventListener("change", () => root.dataset.theme || again());
  let width = root.clientWidth;
  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { if (root.clientWidth !== width) { width = root.clientWidth; again(); } }, 150);
  });
}

if (figures.length && settings) start();
