// Runs of a table that are selected to be compared.
const compare = document.querySelector("#compare-selected");
const boxes = [...document.querySelectorAll("input[name=run]")];

function showSelected() {
  const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
  compare.setAttribute("aria-disabled", String(chosen.length < 2));
  compare.textContent = chosen.length < 2 ? "Compare: select two runs" : `Compare ${chosen.length} selected`;
  const [baseline, ...others] = chosen.reverse(); // the last of the table first: the oldest, or the lowest
  compare.href = chosen.length < 2 ? "/compare" : `/compare?a=${baseline}${others.map((id) => `&b=${id}`).join("")}`;
}
boxes.forEach((box) => box.addEventListener("change", showSelected));
if (compare) showSelected();
