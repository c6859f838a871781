// Draws the workflow: which agent handed work to which, and which phase led to which.

import { h, s } from "./dom.ts";
import type { Flow } from "./model.ts";
import { short } from "./words.ts";

const NODES = 12;

/**
 * A graph on a circle whose edges are thicker the more often they were taken, and the same as a list for screen
 * readers.
 */
export function graph(flows: readonly Flow[], label: string, current: string | undefined): HTMLElement {
  const names = [...new Set(flows.flatMap(({ from, to }) => [from, to]))].slice(0, NODES);
  const [width, height] = [420, names.length <= 2 ? 130 : 260];
  const [rx, ry] = [150, names.length <= 2 ? 0 : 96];
  const at = (name: string): [number, number] => {
    const angle = (names.indexOf(name) / names.length) * 2 * Math.PI + Math.PI;
    return [width / 2 + rx * Math.cos(angle), height / 2 + ry * Math.sin(angle)];
  };
  const most = Math.max(...flows.map(({ count }) => count), 1);
  const svg = s("svg", { class: "graph", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (const { from, to, count } of flows) {
    if (!names.includes(from) || !names.includes(to)) continue;
    const [[x1, y1], [x2, y2]] = [at(from), at(to)];
    const long = Math.hypot(x2 - x1, y2 - y1) || 1;
    // Each direction bends to its own side, so that opposite edges between two nodes do not overlap.
    const [nx, ny] = [(y2 - y1) / long, -(x2 - x1) / long];
    const bend = from === to ? 0 : 34;
    const [mx, my] = [(x1 + x2) / 2 + nx * bend, (y1 + y2) / 2 + ny * bend];
    const d = from === to ? `M${x1 - 8} ${y1 - 14} c-26 -40 42 -40 16 0` : `M${x1} ${y1} Q${mx} ${my} ${x2} ${y2}`;
    const [lx, ly] = from === to ? [x1, y1 - 46] : [(x1 + 2 * mx + x2) / 4, (y1 + 2 * my + y2) / 4];
    svg.append(s("path", { class: "edge", d, "stroke-width": 1.5 + (count / most) * 3.5 }));
    // The arrowhead is at the middle of the curve, where no node hides it.
    const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
    svg.append(
      s("path", {
        class: "tip",
        d: "M-5 -5 L6 0 L-5 5 Z",
        transform: `translate(${lx} ${ly}) rotate(${from === to ? 0 : angle})`,
      }),
    );
    svg.append(
      s("text", { class: "count", x: lx + nx * 14, y: ly + ny * 14 + 4, "text-anchor": "middle" }, `${count}×`),
    );
  }
  for (const name of names) {
    const [x, y] = at(name);
    const text = short(name, 16);
    const wide = text.length * 7.5 + 20;
    svg.append(
      s("rect", {
        class: name === current ? "node current" : "node",
        x: x - wide / 2,
        y: y - 14,
        width: wide,
        height: 28,
        rx: 14,
      }),
    );
    svg.append(s("text", { class: "name", x, y: y + 4.5, "text-anchor": "middle" }, text));
  }
  const list = h("ul", { class: "unseen" });
  for (const { from, to, count } of flows) list.append(h("li", {}, `${from} to ${to}: ${count} times`));
  return h("figure", {}, svg, h("figcaption", {}, label), list);
}

/** A sequence of phases as in the report: `implement → test → fix`. */
export function walk(text: string): HTMLElement {
  const steps = text.split(" → ");
  const list = h("ol", { class: "walk", "aria-label": "Latest phases" });
  for (const [index, step] of steps.entries()) {
    const again = steps.indexOf(step) !== index;
    list.append(
      h("li", { class: again ? "again" : "", ...(index === steps.length - 1 && { "aria-current": "step" }) }, step),
    );
  }
  return list;
}

/** Numbers of failing tests over time: `7 → 4 → 2`. */
export function trend(text: string): HTMLElement {
  const numbers = text.split(" → ").map(Number);
  const most = Math.max(...numbers, 1);
  const svg = s("svg", { class: "trend", viewBox: `0 0 ${numbers.length * 26} 44`, "aria-hidden": "true" });
  for (const [index, value] of numbers.entries()) {
    const tall = Math.max(2, (value / most) * 40);
    const worse = index > 0 && value >= (numbers[index - 1] ?? 0);
    svg.append(
      s("rect", {
        class: worse ? "bar stuck" : "bar",
        x: index * 26 + 3,
        y: 44 - tall,
        width: 20,
        height: tall,
        rx: 2,
      }),
    );
  }
  return h("div", { class: "trend-box" }, svg, h("p", {}, h("strong", {}, text), " failing tests"));
}
