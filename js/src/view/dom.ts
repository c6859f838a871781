// Creates elements without markup: text is inserted as text, so that nothing in a trace can become an element or a
// script.

import { spans } from "../replay/report.ts";

type Child = Node | string | undefined | false;
type Attributes = Record<string, string | number | boolean | undefined | ((event: never) => void)>;

/** Creates an HTML element. A function is added as a listener; `false` and `undefined` omit an attribute. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== undefined && child !== false) element.append(child);
  return element;
}

/** The element with an id, which must exist in the page. */
export function the<E extends HTMLElement = HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no #${id}`);
  return element as E;
}

/** Downloads a text as a file. */
export function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  h("a", { href: url, download: name }).click();
  // By then the download has its own reference to the data.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Copies a text to the clipboard; if the browser refuses, calls `otherwise` and returns false. */
export async function copy(text: string, otherwise: (text: string) => void): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    otherwise(text);
    return false;
  }
}

/** A text of the core, with its backtick spans as code elements. */
export function ticked(text: string): (string | HTMLElement)[] {
  return spans(text).map(({ text, isCode }) => (isCode ? h("code", {}, text) : text));
}

/** Handles a copy button: copies the text and briefly confirms it in the button's label. */
export async function copied(event: globalThis.Event, text: () => string): Promise<void> {
  const button = event.currentTarget as HTMLButtonElement;
  const label = button.textContent;
  if (
    await copy(text(), (text) =>
      showDialog("To copy", "The browser does not let this page write to the clipboard.", text),
    )
  ) {
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = label;
    }, 1500);
  }
}

/** Shows a text to be copied by hand. */
export function showDialog(heading: string, note: string, text: string): void {
  the("dialog-title").textContent = heading;
  the("dialog-note").textContent = note;
  the<HTMLTextAreaElement>("dialog-text").value = text;
  the<HTMLDialogElement>("dialog").showModal();
  the<HTMLTextAreaElement>("dialog-text").select();
}
