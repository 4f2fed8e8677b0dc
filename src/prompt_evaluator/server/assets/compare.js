// The comparison of two runs: drag over the scatter to filter, and a key that swaps the runs.
import { typing } from "./keys.js";

const svg = document.querySelector("[data-scatter]");
if (svg) brush(svg);

function brush(picture) {
  const { left, top, side, low, high } = Object.fromEntries(
    Object.entries(picture.dataset).map(([name, value]) => [name, Number(value)]),
  );
  const frame = document.createElementNS(picture.namespaceURI, "rect");
  frame.setAttribute("class", "selected dragged");
  let from = null;

  // A place in the picture, in its own units, inside the square of the scores.
  function place(event) {
    const box = picture.getBoundingClientRect();
    const ratio = picture.viewBox.baseVal.width / box.width;
    const within = (value) => Math.max(0, Math.min(side, value));
    return [within((event.clientX - box.left) * ratio - left), within((event.clientY - box.top) * ratio - top)];
  }

  function show(to) {
    const [x, y] = [Math.min(from[0], to[0]), Math.min(from[1], to[1])];
    frame.setAttribute("x", left + x);
    frame.setAttribute("y", top + y);
    frame.setAttribute("width", Math.abs(to[0] - from[0]));
    frame.setAttribute("height", Math.abs(to[1] - from[1]));
  }

  picture.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    from = place(event);
    picture.setPointerCapture(event.pointerId);
    picture.append(frame);
    show(from);
  });
  picture.addEventListener("pointermove", (event) => from && show(place(event)));
  picture.addEventListener("pointercancel", () => { from = null; frame.remove(); });
  picture.addEventListener("pointerup", (event) => {
    if (!from) return;
    const to = place(event);
    const start = from;
    from = null;
    if (Math.hypot(to[0] - start[0], to[1] - start[1]) < 4) { frame.remove(); return; }
    const score = (pixels) => low + ((high - low) * pixels) / side;
    const [x1, x2] = [start[0], to[0]].sort((one, other) => one - other);
    const [y1, y2] = [side - start[1], side - to[1]].sort((one, other) => one - other);
    filter({ a_from: score(x1), a_to: score(x2), b_from: score(y1), b_to: score(y2) });
  });

  // The fields below say the same in numbers; the server turns them into words of the filter.
  function filter(bounds) {
    const form = document.querySelector("form.bounds");
    const places = Math.max(0, 2 - Math.floor(Math.log10(high - low || 1)));
    for (const [name, value] of Object.entries(bounds)) {
      const whole = name.endsWith("from") ? value <= low : value >= high;
      form.elements[name].value = whole ? "" : value.toFixed(places);
    }
    form.requestSubmit();
  }
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "s" || event.ctrlKey || event.metaKey || event.altKey || typing(event)) return;
  if (document.querySelector("dialog[open]")) return;
  const swap = document.querySelector("#swap");
  if (swap) location.assign(swap.href);
});
