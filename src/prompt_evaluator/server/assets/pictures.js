// Draws what is on the page to a canvas: an SVG as it is, a table cell by cell. Nothing is asked of the server.
const SCALE = 2;
const EDGE = 12;
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linecap",
  "font-size", "font-family", "font-weight", "text-anchor", "opacity"];

export async function picture(figure) {
  const box = figure.getBoundingClientRect();
  const canvas = document.createElement("canvas");
  const [width, height] = figure instanceof SVGElement ? [box.width, box.height] : [figure.scrollWidth, figure.scrollHeight];
  canvas.width = Math.ceil((width + 2 * EDGE) * SCALE);
  canvas.height = Math.ceil((height + 2 * EDGE) * SCALE);
  const pen = canvas.getContext("2d");
  pen.scale(SCALE, SCALE);
  pen.fillStyle = getComputedStyle(document.body).backgroundColor;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.translate(EDGE, EDGE);
  if (figure instanceof SVGElement) await drawSvg(pen, figure, width, height);
  else drawTable(pen, figure, box);
  return new Promise((done, failed) => {
    canvas.toBlob((made) => (made ? done(made) : failed(new Error("The figure is too large for a picture."))), "image/png");
  });
}

// A picture has no style sheet: what the page's one says is written into every element.
async function drawSvg(pen, svg, width, height) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  to.forEach((element, at) => {
    const style = getComputedStyle(from[at]);
    for (const name of STYLES) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
  await image.decode();
  pen.drawImage(image, 0, 0, width, height);
}

function drawTable(pen, table, box) {
  const line = getComputedStyle(document.documentElement).getPropertyValue("--line");
  for (const cell of table.querySelectorAll("th, td")) {
    const place = cell.getBoundingClientRect();
    const [x, y] = [place.left - box.left, place.top - box.top];
    const style = getComputedStyle(cell);
    pen.fillStyle = style.backgroundColor;
    pen.fillRect(x, y, place.width, place.height);
    if (style.backgroundImage !== "none") hatch(pen, x, y, place, getComputedStyle(cell).color);
    pen.fillStyle = style.borderBottomColor || line;
    pen.fillRect(x, y + place.height - 1, place.width, 1);
  }
  drawTexts(pen, table, box);
}

function hatch(pen, x, y, { width, height }, colour) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, width, height);
  pen.clip();
  pen.globalAlpha = 0.2;
  pen.strokeStyle = colour;
  pen.beginPath();
  for (let at = -height; at < width; at += 8) {
    pen.moveTo(x + at, y + height);
    pen.lineTo(x + at + height, y);
  }
  pen.stroke();
  pen.restore();
}

function drawTexts(pen, root, box) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  pen.textBaseline = "middle";
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.data.trim() || element.closest(".unseen")) continue;
    range.selectNodeContents(node);
    const place = range.getBoundingClientRect();
    const style = getComputedStyle(element);
    pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    pen.fillStyle = style.color;
    const text = node.data.replace(/\s+/g, " ");
    const shown = pen.measureText(text).width < place.width + 1 ? text : text.trim(); // a space at the end of a line is not drawn
    pen.fillText(shown, place.left - box.left, place.top - box.top + place.height / 2);
  }
}
