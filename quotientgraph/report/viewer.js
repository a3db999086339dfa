// The 3-D view: plain WebGL 1 on one canvas. Orbit by dragging, pan with a second button or finger, zoom by wheel or
// pinch. The mesh arrives as an implicit grid (see viewer_mesh.py, `pack`); triangles are built here. What the surface wears
// is told by maps.js, which also unpacks the arrays.
(async () => {
  "use strict";
  const canvas = document.getElementById("view");
  const stage = document.getElementById("stage");
  if (!canvas || !stage) return;

  const fail = (why) => {
    stage.classList.add("flat"); // as without scripts: a still picture
    document.getElementById("view-message").textContent = why;
  };
  const gl = canvas.getContext("webgl", { antialias: true, alpha: true });
  if (!gl) return fail("This browser offers no WebGL, so the surface is shown as a still picture.");
  if (!gl.getExtension("OES_element_index_uint")) {
    return fail("This graphics driver lacks 32-bit indices, so the surface is shown as a still picture.");
  }

  // ---- mesh -------------------------------------------------------------------------------------------------------
  const numbers = (name) => canvas.dataset[name].split(" ").map(Number);
  const [rows, columns, step, height, width] = numbers("grid");
  if (!window.DecompressionStream) return fail("This browser is too old to unpack the surface, so it is a still picture.");
  const mesh = triangles(await packed.unpack("mesh"));

  function triangles(bytes) {
    const nBits = Math.ceil((rows * columns) / 8);
    const nCells = Math.max(rows - 1, 0) * Math.max(columns - 1, 0);
    const name = new Int32Array(rows * columns).fill(-1);
    let n = 0;
    for (let i = 0; i < name.length; i++) if ((bytes[i >> 3] >> (i & 7)) & 1) name[i] = n++;
    const at = nBits + nCells;
    const position = new Uint16Array(3 * n), normal = new Int8Array(3 * n);
    for (let k = 0; k < 3; k++) {
      packed.planes(bytes, at + 2 * k * n, n, 2).forEach((x, i) => { position[3 * i + k] = x; });
      packed.planes(bytes, at + (6 + k) * n, n, 1).forEach((x, i) => { normal[3 * i + k] = x; });
    }
    const uv = new Uint16Array(2 * n);
    for (let i = 0; i < name.length; i++) {
      if (name[i] < 0) continue;
      uv[2 * name[i]] = Math.min(65535, (65535 * ((i % columns) * step + 0.5)) / width);
      uv[2 * name[i] + 1] = Math.min(65535, (65535 * (Math.floor(i / columns) * step + 0.5)) / height);
    }
    // Counter-clockwise seen from the camera. Key: which of the corners a b / c d may be joined.
    const fan = { 15: [0, 2, 1, 1, 2, 3], 7: [0, 2, 1], 11: [0, 3, 1], 13: [0, 2, 3], 14: [1, 2, 3] };
    const index = [];
    for (let i = 0; i < nCells; i++) {
      const corners = fan[bytes[nBits + i]];
      if (!corners) continue;
      const a = Math.floor(i / (columns - 1)) * columns + (i % (columns - 1));
      const quad = [a, a + 1, a + columns, a + columns + 1];
      for (const c of corners) index.push(name[quad[c]]);
    }
    return { n, name, position, normal, uv, index: new Uint32Array(index) };
  }

  // ---- drawing ----------------------------------------------------------------------------------------------------
  const vertexShader = `
    attribute vec3 position; attribute vec3 normal; attribute vec2 uv;
    uniform mat4 view; uniform mat4 lens; uniform vec3 low; uniform vec3 span; uniform vec2 depth; uniform float dot_size;
    varying vec3 v_normal; varying vec3 v_turned; varying vec3 v_eye; varying float v_depth; varying vec2 v_uv;
    void main() {
      vec3 p = low + position * span;
      vec4 eye = view * vec4(p, 1.0);
      v_normal = normal; v_turned = mat3(view) * normal; v_eye = eye.xyz; v_uv = uv;
      v_depth = (p.z - depth.x) / (depth.y - depth.x);
      gl_Position = lens * eye; gl_PointSize = dot_size;
    }`;
  const fragmentShader = `
    precision highp float;
    uniform int mode; uniform sampler2D colors;
    varying vec3 v_normal; varying vec3 v_turned; varying vec3 v_eye; varying float v_depth; varying vec2 v_uv;
    void main() {
      vec3 n = normalize(v_turned);
      bool back = dot(n, v_eye) > 0.0;
      if (back) n = -n;
      float key = max(dot(n, normalize(vec3(-0.55, 0.65, 0.62))), 0.0);
      float fill = max(dot(n, normalize(vec3(0.5, -0.2, 0.8))), 0.0);
      vec3 half_way = normalize(normalize(vec3(-0.55, 0.65, 0.62)) - normalize(v_eye));
      float gleam = pow(max(dot(n, half_way), 0.0), 28.0);
      vec3 light = 0.18 + 0.62 * key * vec3(1.0, 0.985, 0.95) + 0.24 * fill * vec3(0.92, 0.97, 1.0);
      vec3 color = vec3(0.93, 0.91, 0.885);
      if (mode == 1) { color = normalize(v_normal) * 0.5 + 0.5; light = vec3(1.0); gleam = 0.0; }
      if (mode == 2) { color = texture2D(colors, vec2(clamp(v_depth, 0.002, 0.998), 0.5)).rgb; light = 0.35 + 0.75 * light; }
      if (mode == 3) { color = texture2D(colors, v_uv).rgb; light = 0.35 + 0.75 * light; gleam *= 0.3; }
      color = pow(color * light + 0.06 * gleam, vec3(mode == 1 ? 1.0 : 0.8));
      if (back) color = mix(color * 0.55, vec3(0.30, 0.33, 0.38), 0.35);
      gl_FragColor = vec4(color, 1.0);
    }`;

  let program, where, worn, ramp, stale = true, wear = { shade: 0, sharp: false };

  function setUp() {
    program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertexShader], [gl.FRAGMENT_SHADER, fragmentShader]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      fail("The graphics driver refused the shaders, so the surface is shown as a still picture.");
      return false;
    }
    gl.useProgram(program);
    const attribute = (name, size, type, data, normalized) => {
      const place = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, type, normalized, 0, 0);
    };
    attribute("position", 3, gl.UNSIGNED_SHORT, mesh.position, true);
    attribute("normal", 3, gl.BYTE, mesh.normal, true);
    attribute("uv", 2, gl.UNSIGNED_SHORT, mesh.uv, true);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, mesh.index, gl.STATIC_DRAW);
    where = (name) => gl.getUniformLocation(program, name);
    gl.uniform3fv(where("low"), numbers("low"));
    gl.uniform3fv(where("span"), numbers("span"));
    gl.uniform2fv(where("depth"), numbers("depth"));
    gl.enable(gl.DEPTH_TEST);
    [worn, ramp, stale] = [gl.createTexture(), gl.createTexture(), true];
    fill(ramp, document.getElementById("ramp-image"), false);
    return true;
  }

  function fill(texture, source, sharp) {
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, source);
    const filter = sharp ? gl.NEAREST : gl.LINEAR;
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, filter);
    for (const edge of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, edge, gl.CLAMP_TO_EDGE);
  }

  function dress() { // the surface wears what the map shows
    if (wear.shade === 2) return gl.bindTexture(gl.TEXTURE_2D, ramp);
    if (stale) fill(worn, document.getElementById("map"), wear.sharp);
    gl.bindTexture(gl.TEXTURE_2D, worn);
    stale = false;
  }

  // The first view: turned a little, moved and far enough away that the turned points fill the canvas.
  const f = 3.2; // a long lens: little distortion
  const home = { yaw: -0.42, pitch: 0.2, zoom: 1, x: 0, y: 0 };
  const turned = (() => {
    const [low, span, m] = [numbers("low"), numbers("span"), rotation(home)];
    const step = 3 * Math.max(1, Math.floor(mesh.n / 4000)), out = [];
    for (let i = 0; i < 3 * mesh.n; i += step) {
      const p = [0, 1, 2].map((k) => low[k] + (span[k] * mesh.position[i + k]) / 65535);
      out.push([0, 1, 2].map((r) => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2]));
    }
    return out;
  })();
  const share = (values, q) => values.sort((a, b) => a - b)[Math.round(q * (values.length - 1))] || 0;
  home.x = -0.5 * (share(turned.map((p) => p[0]), 0.003) + share(turned.map((p) => p[0]), 0.997));
  home.y = -0.5 * (share(turned.map((p) => p[1]), 0.003) + share(turned.map((p) => p[1]), 0.997));
  const distance = (aspect) => Math.max(0.2, share(turned.map(
    ([x, y, z]) => z + 1.2 * f * Math.max(Math.abs(x + home.x) / aspect, Math.abs(y + home.y))), 0.998));

  // Column-major: yaw about y, then pitch about x.
  function rotation({ yaw, pitch }) {
    const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
    return [cy, sp * sy, -cp * sy, 0, 0, cp, sp, 0, sy, -sp * cy, cp * cy, 0];
  }
  let eye = { ...home };
  let waiting = false, alive = true;

  function draw() {
    waiting = false;
    if (!alive) return;
    const density = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.max(1, Math.round(canvas.clientWidth * density));
    const height = Math.max(1, Math.round(canvas.clientHeight * density));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    gl.viewport(0, 0, width, height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    const aspect = width / height;
    const away = distance(aspect) / eye.zoom;
    const near = Math.max(0.01, away - 25), far = away + 25;
    // The small entry lifts the picture a little above the controls.
    const lens = [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, -0.07, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
    const view = [...rotation(eye), eye.x, eye.y, -away, 1];
    gl.uniformMatrix4fv(where("lens"), false, lens);
    gl.uniformMatrix4fv(where("view"), false, view);
    gl.uniform1i(where("mode"), wear.shade);
    gl.uniform1f(where("dot_size"), 6 * density);
    if (wear.shade >= 2) dress();
    if (mesh.index.length) gl.drawElements(gl.TRIANGLES, mesh.index.length, gl.UNSIGNED_INT, 0);
    else gl.drawArrays(gl.POINTS, 0, mesh.n); // isolated pixels: nothing to join
    seen = { view, lens };
    pinDown();
    stage.dataset.drawn = "yes";
  }

  // ---- pointing ---------------------------------------------------------------------------------------------------
  const pin = document.getElementById("pin");
  const box = { low: numbers("low"), span: numbers("span") };
  let seen = null, marked = -1;
  function project(i) { // pixels in the canvas, and the distance from the eye
    const p = [0, 1, 2].map((k) => box.low[k] + (box.span[k] * mesh.position[3 * i + k]) / 65535), { view, lens } = seen;
    const [x, y, z] = [0, 1, 2].map((r) => view[r] * p[0] + view[4 + r] * p[1] + view[8 + r] * p[2] + view[12 + r]);
    return [(0.5 - (0.5 * lens[0] * x) / z) * canvas.clientWidth, (0.5 + (0.5 * (lens[5] * y + lens[9] * z)) / z) * canvas.clientHeight, -z];
  }
  function pinDown() {
    pin.hidden = marked < 0;
    if (marked < 0) return;
    const [x, y] = project(marked);
    [pin.style.left, pin.style.top] = [`${x}px`, `${y}px`];
  }
  stage.addEventListener("mark", (e) => {
    const [r, c] = [Math.round(e.detail.row / step), Math.round(e.detail.column / step)];
    marked = e.detail.solid && r < rows && c < columns ? mesh.name[r * columns + c] : -1;
    if (seen) pinDown();
  });
  function pick(x, y) { // the nearest to the eye of the points under the pointer
    let best = -1, nearest = Infinity;
    const { view, lens } = seen, at = mesh.position, [w, h] = [canvas.clientWidth, canvas.clientHeight];
    const row = (r) => [0, 1, 2].map((k) => (view[4 * k + r] * box.span[k]) / 65535);
    const shift = (r) => view[12 + r] + box.low.reduce((sum, low, k) => sum + view[4 * k + r] * low, 0);
    const [a, b, c] = [row(0), row(1), row(2)], [da, db, dc] = [shift(0), shift(1), shift(2)];
    for (let cell = 0; cell < mesh.name.length; cell++) {
      const i = 3 * mesh.name[cell];
      if (i < 0) continue;
      const z = c[0] * at[i] + c[1] * at[i + 1] + c[2] * at[i + 2] + dc;
      const px = (0.5 - (0.5 * lens[0] * (a[0] * at[i] + a[1] * at[i + 1] + a[2] * at[i + 2] + da)) / z) * w;
      if (z >= 0 || Math.abs(px - x) > 7) continue;
      const py = (0.5 + (0.5 * (lens[5] * (b[0] * at[i] + b[1] * at[i + 1] + b[2] * at[i + 2] + db) + lens[9] * z)) / z) * h;
      const off = Math.hypot(px - x, py - y);
      if (off < 7 && 0.02 * off - z < nearest) [best, nearest] = [cell, 0.02 * off - z];
    }
    const detail = best < 0 ? null : { row: Math.floor(best / columns) * step, column: (best % columns) * step };
    stage.dispatchEvent(new CustomEvent("point", { detail }));
  }
  let picking = false;
  const pickSoon = (e) => {
    if (picking || !seen) return;
    picking = true;
    const frame = canvas.getBoundingClientRect(), [x, y] = [e.clientX - frame.left, e.clientY - frame.top];
    requestAnimationFrame(() => { picking = false; pick(x, y); });
  };
  canvas.addEventListener("pointerleave", () => stage.dispatchEvent(new CustomEvent("point", { detail: null })));
  const redraw = () => {
    if (!waiting) { waiting = true; requestAnimationFrame(draw); }
  };

  // ---- hands ------------------------------------------------------------------------------------------------------
  const turn = (dx, dy) => {
    eye.yaw += dx;
    eye.pitch = Math.max(-1.55, Math.min(1.55, eye.pitch + dy));
    redraw();
  };
  const zoom = (factor) => { eye.zoom = Math.max(0.2, Math.min(40, eye.zoom * factor)); redraw(); };
  const pan = (dx, dy) => {
    const size = (2 * distance(canvas.clientWidth / canvas.clientHeight)) / f / eye.zoom / canvas.clientHeight;
    eye.x += dx * size; eye.y -= dy * size;
    redraw();
  };
  const reset = () => { eye = { ...home }; redraw(); };

  const fingers = new Map();
  canvas.addEventListener("pointerdown", (e) => {
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, [e.clientX, e.clientY]);
    pickSoon(e);
  });
  canvas.addEventListener("pointermove", (e) => {
    const last = fingers.get(e.pointerId);
    if (!last) return pickSoon(e);
    const [dx, dy] = [e.clientX - last[0], e.clientY - last[1]];
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== e.pointerId)[1];
      const reach = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      zoom(reach([e.clientX, e.clientY]) / reach(last));
      pan(dx / 2, dy / 2);
    } else if (e.shiftKey || e.buttons & 6) pan(dx, dy);
    else turn(dx * 0.008, dy * 0.008);
    fingers.set(e.pointerId, [e.clientX, e.clientY]);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (e) => fingers.delete(e.pointerId));
  canvas.addEventListener("contextmenu", (e) => e.preventDefault());
  canvas.addEventListener("dblclick", reset);
  // A wheel over an untouched view scrolls the page; after a click on the view it zooms.
  canvas.addEventListener("wheel", (e) => {
    if (document.activeElement !== canvas && !e.ctrlKey) return;
    e.preventDefault();
    zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.04 : 0.0015)));
  }, { passive: false });
  const keys = {
    ArrowLeft: () => turn(-0.1, 0), ArrowRight: () => turn(0.1, 0), ArrowUp: () => turn(0, -0.1),
    ArrowDown: () => turn(0, 0.1), "+": () => zoom(1.15), "=": () => zoom(1.15), "-": () => zoom(1 / 1.15), 0: reset, Home: reset,
  };
  canvas.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
  });

  // ---- controls ---------------------------------------------------------------------------------------------------
  stage.addEventListener("recolour", (e) => {
    [wear, stale] = [e.detail, true];
    redraw();
  });
  document.getElementById("view-reset").addEventListener("click", reset);
  const whole = document.getElementById("view-whole");
  if (stage.requestFullscreen) {
    whole.hidden = false;
    whole.addEventListener("click", () => (document.fullscreenElement ? document.exitFullscreen() : stage.requestFullscreen()));
  }
  canvas.addEventListener("webglcontextlost", (e) => { e.preventDefault(); alive = false; });
  canvas.addEventListener("webglcontextrestored", () => { alive = setUp(); redraw(); });
  new ResizeObserver(redraw).observe(canvas);
  if (setUp()) {
    stage.classList.remove("flat");
    stage.dispatchEvent(new CustomEvent("ready"));
    redraw();
  }
})();
