// Readings under the pointer in the charts, and pictures that open large.
(() => {
  "use strict";
  for (const chart of document.querySelectorAll("svg.chart")) {
    const dots = [...chart.querySelectorAll(".dot")];
    const reading = chart.querySelector(".reading");
    if (!dots.length || !reading) continue;
    const box = reading.querySelector("rect"), text = reading.querySelector("text");
    const place = dots.map((d) => [Number(d.getAttribute("cx")), Number(d.getAttribute("cy"))]);
    let shown = null;
    const clear = () => {
      if (shown) shown.classList.remove("on");
      reading.classList.remove("on");
      shown = null;
    };
    chart.addEventListener("pointermove", (e) => {
      const frame = chart.getBoundingClientRect();
      const x = ((e.clientX - frame.left) / frame.width) * chart.viewBox.baseVal.width;
      let best = 0;
      place.forEach((p, i) => { if (Math.abs(p[0] - x) < Math.abs(place[best][0] - x)) best = i; });
      if (shown === dots[best]) return;
      clear();
      shown = dots[best];
      shown.classList.add("on");
      reading.classList.add("on");
      text.textContent = shown.dataset.label;
      const width = text.getComputedTextLength() + 16;
      const left = Math.max(2, Math.min(chart.viewBox.baseVal.width - width - 2, place[best][0] - width / 2));
      const top = place[best][1] > 44 ? place[best][1] - 34 : place[best][1] + 12;
      box.setAttribute("x", left); box.setAttribute("y", top); box.setAttribute("width", width);
      text.setAttribute("x", left + 8); text.setAttribute("y", top + 15);
    });
    chart.addEventListener("pointerleave", clear);
  }

  const large = document.getElementById("large");
  if (!large || !large.showModal) return;
  const picture = large.querySelector("img"), caption = large.querySelector("p");
  for (const button of document.querySelectorAll("button.picture")) {
    button.addEventListener("click", () => {
      const image = button.querySelector("img");
      picture.src = image.src;
      picture.alt = image.alt;
      picture.className = image.className;
      caption.textContent = image.alt;
      large.showModal();
    });
  }
  large.addEventListener("click", () => large.close());
})();
