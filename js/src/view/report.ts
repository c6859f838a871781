// Renders the core's report: headings, lists, `**strong**` and `code`.

import { spans } from "../replay/report.ts";
import { h } from "./dom.ts";

/** The Markdown of a report as elements. Other syntax stays text. */
export function markdown(text: string): HTMLElement {
  const root = h("div", { class: "report" });
  let list: HTMLElement | undefined;
  for (const line of text.split("\n")) {
    const item = /^(?:- |\d+\. )(.*)$/.exec(line);
    if (item !== null) {
      const tag = line.startsWith("- ") ? "ul" : "ol";
      if (list?.localName !== tag) {
        list = h(tag);
        root.append(list);
      }
      list.append(h("li", {}, ...inline(item[1] ?? "")));
      continue;
    }
    if (line.trim() === "") continue;
    list = undefined;
    const heading = /^## (.*)$/.exec(line);
    root.append(heading === null ? h("p", {}, ...inline(line)) : h("h3", {}, heading[1] ?? ""));
  }
  return root;
}

function inline(text: string): (string | HTMLElement)[] {
  return spans(text).flatMap(({ text, isCode }) => {
    if (isCode) return [h("code", {}, text)];
    return text
      .split(/(\*\*[^*]+\*\*)/)
      .map((part) =>
        part.length > 4 && part.startsWith("**") && part.endsWith("**") ? h("strong", {}, part.slice(2, -2)) : part,
      );
  });
}
