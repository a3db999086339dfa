// The map beside the 3-D view: the same colours flat, values under the pointer, levels of merging, before and after,
// regions to look at. The two views talk through events of the stage: "recolour" says what the surface wears, "mark" and
// "point" where somebody points.

// Packed arrays: gzip in base64; numbers are differences to the one before, the high bytes of all of them first.
const packed = {
  async unpack(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  },
  planes(bytes, at, n, width) {
    const out = new { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[width](n);
    for (let i = 0, last = 0; i < n; i++) {
      let change = 0;
      for (let b = 0; b < width; b++) change = change * 256 + bytes[at + b * n + i];
      out[i] = last + change; // wraps around
      last = out[i];
    }
    return out;
  },
};

(() => {
  "use strict";
  const element = (id) => document.getElementById(id);
  const stage = element("stage"), map = element("map"), marks = element("marks"), reading = element("reading");
  if (!stage || !map) return;
  const about = JSON.parse(element("maps-about").textContent);
  const { rows, columns, step, height, width } = about;
  const pen = map.getContext("2d"), ink = marks.getContext("2d");
  const choices = [...document.querySelectorAll("input[name=mode]")];
  const level = element("level"), pair = element("wipe-pair"), wipe = element("wipe");
  const idle = reading.textContent;
  let data = null, place = null, region = 0;

  // ---- data -------------------------------------------------------------------------------------------------------
  async function load() {
    const bytes = await packed.unpack("maps");
    const n = rows * columns, m = about.components;
    let at = 0;
    const next = (count, size) => { at += count * size; return packed.planes(bytes, at - count * size, count, size); };
    const values = about.maps.map((one) => next(n, one.bytes));
    const component = next(n, 4), regions = next(n, 1);
    const colors = bytes.slice(at, (at += 3 * m));
    const names = next(m, 4);
    const whole = about.levels.map(() => next(m, 4));
    data = { values, component, regions, colors, names, whole };
  }

  function value(k, i) {
    const { low, high, log, steps } = about.maps[k], code = data.values[k][i];
    if (!code) return null;
    if (log && code === 1) return 0;
    const t = (code - (log ? 2 : 1)) / steps;
    return log ? low ** (1 - t) * high ** t : low + t * (high - low);
  }
  const told = (x, digits) => {
    const size = Math.abs(x);
    const text = size && (size < 1e-3 || size >= 1e6) ? x.toExponential(digits - 1) : String(Number(x.toPrecision(digits)));
    return text.replace("-", "−");
  };

  // ---- the map ----------------------------------------------------------------------------------------------------
  const chosen = () => choices.find((c) => c.checked) || choices[0];
  const isComponents = () => chosen().dataset.texture.startsWith("picture-level");
  const pictures = () => (pair.value ? pair.value.split(" ").map(element) : [element(chosen().dataset.texture)]);

  function grid(color) { // a small canvas with a pixel for each point
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [columns, rows];
    const image = new ImageData(columns, rows);
    for (let i = 0; i < rows * columns; i++) image.data.set(color(i), 4 * i);
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }
  const overAll = (canvas) => {
    pen.imageSmoothingEnabled = false;
    pen.drawImage(canvas, 0, 0, (columns * step * map.width) / width, (rows * step * map.height) / height);
  };

  function paint() {
    const shown = pictures(), last = shown[shown.length - 1];
    const components = !pair.value && isComponents() && data;
    [map.width, map.height] = components ? [columns, rows] : [last.naturalWidth || 1, last.naturalHeight || 1];
    map.classList.toggle("rough", Boolean(components) || Math.max(map.width, map.height) < 200);
    if (components) {
      const whole = data.whole[Number(level.value)];
      pen.drawImage(grid((i) => {
        const c = data.component[i];
        return c ? [...data.colors.slice(3 * whole[c - 1], 3 * whole[c - 1] + 3), 255] : [0, 0, 0, 0];
      }), 0, 0);
    } else {
      pen.drawImage(last, 0, 0);
      if (pair.value) {
        const border = Math.round((map.width * wipe.value) / 100);
        pen.clearRect(0, 0, border, map.height);
        if (border) pen.drawImage(shown[0], 0, 0, border, map.height, 0, 0, border, map.height);
      }
    }
    if (region && data) {
      pen.globalCompositeOperation = "source-atop";
      overAll(grid((i) => (data.regions[i] === region ? [0, 0, 0, 0] : [128, 132, 138, 205])));
      pen.globalCompositeOperation = "source-over";
    }
    const shade = pair.value || region ? 3 : Number(chosen().value);
    stage.dispatchEvent(new CustomEvent("recolour", { detail: { shade, sharp: Boolean(components) } }));
    markAll();
  }

  // ---- marks over the map, which the surface does not wear --------------------------------------------------------
  function frame() { // where the map lies in its box
    const scale = Math.min(map.clientWidth / map.width, map.clientHeight / map.height) || 1;
    return { x: (map.clientWidth - scale * map.width) / 2, y: (map.clientHeight - scale * map.height) / 2,
      w: scale * map.width, h: scale * map.height };
  }
  function markAll() {
    const density = Math.min(window.devicePixelRatio || 1, 2);
    [marks.width, marks.height] = [map.clientWidth * density, map.clientHeight * density];
    ink.scale(density, density);
    const { x, y, w, h } = frame();
    const style = getComputedStyle(document.documentElement);
    const line = (path, color, thick) => { ink.strokeStyle = color; ink.lineWidth = thick; ink.stroke(path); };
    const both = (path) => { line(path, style.getPropertyValue("--panel"), 4); line(path, style.getPropertyValue("--accent"), 2); };
    if (pair.value) {
      const path = new Path2D(), at = x + (w * wipe.value) / 100;
      path.moveTo(at, y); path.lineTo(at, y + h);
      both(path);
    }
    if (region && data) {
      let [top, left, bottom, right] = [rows, columns, -1, -1];
      data.regions.forEach((r, i) => {
        if (r !== region) return;
        const [v, u] = [Math.floor(i / columns), i % columns];
        [top, left, bottom, right] = [Math.min(top, v), Math.min(left, u), Math.max(bottom, v), Math.max(right, u)];
      });
      if (bottom >= 0) {
        const path = new Path2D(), [sx, sy] = [(w * step) / width, (h * step) / height];
        const [x0, y0] = [Math.max(2, x + left * sx - 4), Math.max(2, y + top * sy - 4)];
        const [x1, y1] = [Math.min(map.clientWidth - 2, x + (right + 1) * sx + 4), Math.min(map.clientHeight - 2, y + (bottom + 1) * sy + 4)];
        path.rect(x0, y0, x1 - x0, y1 - y0);
        both(path);
      }
    }
    if (place) {
      const path = new Path2D();
      path.arc(x + ((place.column * step + 0.5) * w) / width, y + ((place.row * step + 0.5) * h) / height, 6, 0, 7);
      both(path);
    }
  }

  // ---- reading ----------------------------------------------------------------------------------------------------
  function point(row, column) { // of the points that the maps have
    if (!data || row < 0 || column < 0 || row >= rows || column >= columns) return leave();
    place = { row, column };
    const i = row * columns + column, parts = [["Column", about.first[1] + column * step], ["row", about.first[0] + row * step]];
    const solid = data.component[i] > 0;
    if (solid) {
      about.maps.forEach((one, k) => { const x = value(k, i); if (x !== null) parts.push([one.name, told(x, one.digits) + one.unit]); });
      const k = Number(level.value);
      parts.push([`Component of Q${about.levels[k][0]}`, data.names[data.whole[k][data.component[i] - 1]]]);
    } else parts.push(["no surface here", ""]);
    reading.replaceChildren(...parts.flatMap(([name, text]) => {
      const span = document.createElement("span"), strong = document.createElement("b");
      strong.textContent = text;
      span.append(`${name} `, strong);
      return [span, " "];
    }));
    stage.dispatchEvent(new CustomEvent("mark", { detail: { row: row * step, column: column * step, solid } }));
    markAll();
  }
  function leave() {
    place = null;
    reading.textContent = idle;
    stage.dispatchEvent(new CustomEvent("mark", { detail: { solid: false } }));
    markAll();
  }
  function under(e) {
    const box = map.getBoundingClientRect(), { x, y, w, h } = frame();
    const [u, v] = [(e.clientX - box.left - x) / w, (e.clientY - box.top - y) / h];
    if (pair.value && e.buttons) { wipe.value = 100 * u; paint(); }
    if (u < 0 || v < 0 || u >= 1 || v >= 1) leave();
    else point(Math.min(rows - 1, Math.floor((v * height) / step)), Math.min(columns - 1, Math.floor((u * width) / step)));
  }
  map.addEventListener("pointermove", under);
  map.addEventListener("pointerdown", under);
  map.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse") leave(); });
  map.addEventListener("keydown", (e) => {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (e.key === "Escape") return leave();
    if (!moves[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    const pace = e.shiftKey ? 10 : 1, from = place || { row: rows >> 1, column: columns >> 1 };
    const inside = (x, n) => Math.max(0, Math.min(n - 1, x));
    point(inside(from.row + pace * moves[e.key][0], rows), inside(from.column + pace * moves[e.key][1], columns));
  });
  stage.addEventListener("point", (e) => {
    if (e.detail) point(Math.round(e.detail.row / step), Math.round(e.detail.column / step));
    else leave();
  });

  // ---- controls ---------------------------------------------------------------------------------------------------
  for (const choice of choices) choice.addEventListener("change", () => { pair.value = ""; wipe.disabled = true; paint(); });
  level.addEventListener("input", () => {
    const [number, count] = about.levels[Number(level.value)];
    element("level-name").textContent = `Q${number}: ${count.toLocaleString("en")} component${count === 1 ? "" : "s"}`;
    const mode = choices.find((c) => c.dataset.texture.startsWith("picture-level"));
    if (mode) mode.checked = true;
    pair.value = ""; wipe.disabled = true;
    paint();
    if (place) point(place.row, place.column);
  });
  pair.addEventListener("change", () => { wipe.disabled = !pair.value; paint(); });
  wipe.addEventListener("input", paint);
  for (const button of document.querySelectorAll("[data-region]")) {
    button.addEventListener("click", () => {
      const number = Number(button.dataset.region);
      region = region === number ? 0 : number;
      for (const b of document.querySelectorAll("[data-region]")) b.setAttribute("aria-pressed", String(Number(b.dataset.region) === region));
      if (region) element("flat-stage").scrollIntoView({ block: "nearest", behavior: "smooth" });
      paint();
    });
  }
  stage.addEventListener("ready", paint);
  new ResizeObserver(markAll).observe(map);
  const start = () => {
    paint();
    if (!window.DecompressionStream) { reading.textContent = "This browser is too old to unpack the values, so none can be read."; return; }
    load().then(() => { map.dataset.ready = "yes"; paint(); });
  };
  if (document.readyState === "complete") start();
  else window.addEventListener("load", start);
})();
