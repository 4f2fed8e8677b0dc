// Copy as: text on the page, a text that the server makes, or a picture of a figure.
//
//   <button data-copy="text">  <button data-copy-of="id of an element">  <button data-copy-from="/api/…">
//   <button data-png="#figure" data-name="slices">
import { say } from "./talk.js";
import { picture } from "./pictures.js";

for (const button of document.querySelectorAll("[data-copy], [data-copy-of]")) button.hidden = false;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-of], [data-copy-from], [data-png]");
  if (!button) return;
  try {
    if (button.dataset.png) say(await copyPicture(document.querySelector(button.dataset.png), button.dataset.name));
    else say(await copyText(await textOf(button)));
  } catch (error) {
    say(error.message);
  }
});

async function textOf({ dataset }) {
  if (!dataset.copyFrom) return dataset.copy || document.getElementById(dataset.copyOf)?.textContent || "";
  const answer = await fetch(dataset.copyFrom);
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer.text();
}

// Browsers allow copying on this machine and over https only.
async function copyText(text) {
  if (!navigator.clipboard) throw new Error("This browser copies over https or on this machine only. Select the text and copy it.");
  await navigator.clipboard.writeText(text);
  return "Copied.";
}

async function copyPicture(figure, name) {
  const made = await picture(figure);
  if (navigator.clipboard?.write && window.ClipboardItem) {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": made })]);
    return "Copied as a picture.";
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(made);
  link.download = `${name}.png`;
  link.click();
  URL.revokeObjectURL(link.href);
  return "Saved as a picture.";
}
