// One case after the other without loading a page each.
import { fetchPage, request } from "./talk.js";
import { typing } from "./keys.js";
import { markTarget } from "./samples.js";

const main = document.querySelector("main");
let turn = Promise.resolve();

async function show(address, { push = true, keep = false, top = 0 } = {}) {
  let page;
  try {
    page = await fetchPage(address);
  } catch {
    location.assign(address);
    return;
  }
  const at = keep ? scrollY : top;
  if (push) {
    history.replaceState({ top: scrollY }, "");
    history.pushState({ top: at }, "", address);
  }
  document.title = page.title;
  main.replaceChildren(...document.importNode(page.querySelector("main"), true).childNodes);
  if (keep) (main.querySelector("[data-view][aria-current]") ?? main.querySelector("h1")).focus({ preventScroll: true });
  else main.querySelector("h1").focus({ preventScroll: true });
  scrollTo(0, at);
  markTarget();
}

// Keys pressed faster than pages come are followed one after the other.
function go(link, options) {
  turn = turn.then(() => {
    const found = typeof link === "string" ? main.querySelector(link) : link;
    return found ? show(found.href, options) : undefined;
  });
}

addEventListener("keydown", (event) => {
  if (event.altKey || event.metaKey || event.ctrlKey || typing(event) || document.querySelector("dialog[open]")) return;
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (sideways && event.shiftKey) return;
  if (sideways) {
    const link = sideways < 0 ? "a[data-previous]" : "a[data-next]";
    if (!main.querySelector(link)) return;
    go(link);
  } else if (event.key === "v") {
    const views = [...main.querySelectorAll("a[data-view]")];
    const now = views.findIndex((view) => view.hasAttribute("aria-current"));
    if (views.length) go(views[(now + 1) % views.length], { keep: true });
  } else return;
  event.preventDefault();
}, true);

main.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link, { keep: link.closest(".forms") !== null || "keep" in link.dataset });
});

addEventListener("popstate", (event) => {
  turn = turn.then(() => show(location.href, { push: false, top: event.state?.top ?? 0 }));
});

// What the judge wrote is asked for when it is unfolded.
document.addEventListener("toggle", async (event) => {
  const box = event.target;
  if (!box.open || !box.dataset?.load || box.dataset.loaded) return;
  box.dataset.loaded = "yes";
  const place = document.createElement("div");
  place.textContent = "…";
  box.append(place);
  try {
    const { replies } = await request("GET", box.dataset.load);
    const shown = replies.map(({ sample, metric, repeat, attempt, reply, error }) => {
      const one = document.createElement("div");
      const title = document.createElement("p");
      title.className = "soft";
      title.textContent = [`sample ${sample + 1}`, metric, repeat && `judgement ${repeat + 1}`, attempt && `attempt ${attempt + 1}`, error]
        .filter(Boolean).join(" · ");
      const text = document.createElement("pre");
      text.textContent = reply ?? "no reply";
      one.append(title, text);
      return one;
    });
    place.replaceChildren(...shown);
    if (!shown.length) place.textContent = "No judge replied to this sample.";
  } catch (error) {
    place.textContent = error.message;
    delete box.dataset.loaded;
  }
}, true);

markTarget();
