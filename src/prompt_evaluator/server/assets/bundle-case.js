// A case in a bundle: the next and the previous one of the list that the reader came from.
import { asked, drawn, load, number } from "./bundle-data.js";
import { matcher, ordered, readFilter } from "./bundle-filter.js";
import { markTarget } from "./samples.js";

const HAS_PAGE = 16;
const stepper = document.querySelector(".stepper[data-bundle]");
const { q = "", sort = "position" } = asked();
const incomplete = stepper?.querySelector("[data-previous]:not([href]), [data-next]:not([href])");
const isOther = stepper && (q || sort !== "position" || incomplete);
Promise.resolve(isOther ? follow() : null).catch(() => {}).finally(drawn); // without it, the next case is that of the dataset
markTarget();

async function follow() {
  const base = stepper.dataset.bundle;
  const data = await load(`${base}cases.js`);
  const matches = await matcher(base, data, readFilter(q, data));
  const list = (await ordered(base, data, sort)).filter(matches);
  const own = list.findIndex((place) => data.cases[place][0] === stepper.dataset.case);
  const readable = (places) => places.find((place) => data.cases[place][1] & HAS_PAGE);
  const before = own < 0 ? undefined : readable(list.slice(0, own).reverse());
  const next = readable(list.slice(own + 1));
  const place = stepper.querySelector("[data-place]");
  place.textContent = (own < 0 ? `not among the ${number(list.length)}` : `${number(own + 1)} of ${number(list.length)}`) + (q ? ` in «${q.slice(0, 60)}»` : "");
  stepper.replaceChildren(step(data, before, "previous", "←"), place, step(data, next, "next", "→"));
  for (const link of document.querySelectorAll(".crumbs a[href*='index.html'][href*='#cases']")) link.href = link.href.replace(/(\?[^#]*)?#/, `${location.search}#`);
}

function step(data, place, way, arrow) {
  const made = document.createElement(place === undefined ? "span" : "a");
  made.className = place === undefined ? "chip off" : "chip";
  made.textContent = arrow;
  if (place === undefined) {
    made.setAttribute("aria-hidden", "true");
    return made;
  }
  made.href = `${place + 1}.html${location.search}`;
  made.rel = way === "next" ? "next" : "prev";
  made.title = data.cases[place][0];
  made.dataset[way] = "";
  made.setAttribute("aria-label", way === "next" ? "Next case" : "Previous case");
  return made;
}
