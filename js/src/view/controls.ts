// The settings panel: presets, rules, thresholds and the resulting configuration.

import { RULES, type RuleInfo } from "../generated/rules.ts";
import type { Config, Preset } from "../generated/types.ts";
import { rulesOf } from "../replay/settings.ts";
import { h, ticked } from "./dom.ts";
import { PRESETS, type Rung, refusal, thresholds, withRule } from "./settings.ts";

/** The panel of settings. */
export class Controls {
  readonly element: HTMLElement;
  #config: Config = {};
  #active: readonly string[] = [];
  #change: (config: Config) => void;
  #text: HTMLTextAreaElement;
  #error = h("p", { class: "error", role: "alert" });
  #switches = h("div", { class: "switches" });
  #rules = h("div");
  #others: HTMLDetailsElement;

  /** `change` is called whenever the user makes a valid change to the configuration. */
  constructor(change: (config: Config) => void) {
    this.#change = change;
    this.#text = h("textarea", {
      id: "config-text",
      rows: 8,
      spellcheck: "false",
      "aria-describedby": "config-error",
      input: () => this.#typed(),
    });
    this.#error.id = "config-error";
    const body = h("div");
    this.#others = h("details", { toggle: () => this.#fill(body) }, h("summary", {}, "All other rules"), body);
    this.element = h(
      "div",
      { class: "controls" },
      this.#switches,
      this.#rules,
      this.#others,
      h("label", { for: "config-text" }, "Configuration (JSON)"),
      this.#text,
      this.#error,
      h(
        "p",
        {},
        h("button", { type: "button", class: "small", click: () => this.#set({}) }, "Reset to the recommended one"),
      ),
    );
  }

  /** Shows a configuration; `active` are the rules relevant to the run, which come first. */
  show(config: Config, active: readonly string[]): void {
    const same = JSON.stringify([config, active]) === JSON.stringify([this.#config, this.#active]);
    [this.#config, this.#active] = [config, active];
    if (same && this.#switches.childElementCount > 0) return;
    // A control that is being typed into or dragged must not be replaced.
    if (document.activeElement !== this.#text) this.#text.value = JSON.stringify(config, undefined, 2);
    const held = [this.#rules, this.#others].some((part) => part.contains(document.activeElement));
    if (!held) this.#draw();
    this.#drawSwitches();
  }

  #draw(): void {
    const shown = RULES.filter(({ id }) => this.#active.includes(id));
    this.#rules.replaceChildren(...shown.map((rule) => this.#rule(rule)));
    this.#others.hidden = false;
    this.#others.querySelector("div")?.replaceChildren();
    if (this.#others.open) this.#fill(this.#others.querySelector("div") as HTMLElement);
  }

  #drawSwitches(): void {
    if (this.#switches.contains(document.activeElement)) return;
    const preset = h("select", {
      id: "preset",
      change: (event: Event) =>
        this.#set({ ...this.#config, preset: (event.target as HTMLSelectElement).value as Preset }),
    });
    for (const name of PRESETS) {
      const label = name === "balanced" ? "balanced (recommended)" : name;
      preset.append(h("option", { value: name, selected: name === (this.#config.preset ?? "balanced") }, label));
    }
    const toggle = (label: string, checked: boolean, set: (on: boolean) => Config) =>
      h(
        "label",
        { class: "check" },
        h("input", {
          type: "checkbox",
          checked,
          change: (event: Event) => this.#set(set((event.target as HTMLInputElement).checked)),
        }),
        label,
      );
    this.#switches.replaceChildren(
      h("label", { for: "preset" }, "Preset"),
      preset,
      toggle("A person can answer gates", this.#config.attended ?? true, (attended) => ({
        ...this.#config,
        attended,
      })),
      toggle("Shadow mode: no verdict asks for action", this.#config.mode === "shadow", (on) => ({
        ...this.#config,
        mode: on ? "shadow" : "enforce",
      })),
    );
  }

  #fill(body: HTMLElement): void {
    if (!this.#others.open || body.childElementCount > 0) return;
    body.replaceChildren(...RULES.filter(({ id }) => !this.#active.includes(id)).map((rule) => this.#rule(rule)));
  }

  #rule(rule: RuleInfo): HTMLElement {
    const on = rulesOf(this.#config)[rule.id]?.enabled ?? true;
    const sliders = h("div", { class: "sliders" });
    const draw = () => sliders.replaceChildren(...this.#sliders(rule, draw));
    const box = h(
      "fieldset",
      { class: "rule" },
      h(
        "legend",
        {},
        h(
          "label",
          { class: "check" },
          h("input", {
            type: "checkbox",
            checked: on,
            change: (event: Event) => {
              const { checked } = event.target as HTMLInputElement;
              this.#set(withRule(this.#config, rule.id, { enabled: checked ? undefined : false }));
            },
          }),
          h("code", {}, rule.id),
        ),
      ),
      h("p", { class: "about" }, ...ticked(rule.about)),
      sliders,
    );
    draw();
    return box;
  }

  #sliders(rule: RuleInfo, drawn: () => void): HTMLElement[] {
    return thresholds(this.#config, rule).map(({ rung, value, least, most }) => {
      const id = `${rule.id}-${rung}`;
      const output = h("output", { for: id }, `${value}`);
      const slider = h("input", {
        id,
        type: "range",
        min: least,
        max: most,
        value,
        "aria-label": `${rung} of ${rule.id}, in ${rule.unit}`,
        input: () => {
          output.textContent = slider.value;
          this.#set(withRule(this.#config, rule.id, { [rung as Rung]: Number(slider.value) }));
        },
        // The bounds of neighbouring sliders are updated once the slider is released.
        blur: () =>
          setTimeout(
            () =>
              slider.isConnected && !slider.parentElement?.parentElement?.contains(document.activeElement) && drawn(),
          ),
      });
      return h(
        "div",
        { class: "slider" },
        h("label", { for: id, class: rung }, rung),
        slider,
        output,
        h("span", { class: "unit" }, rule.unit),
      );
    });
  }

  #typed(): void {
    let config: unknown;
    try {
      config = JSON.parse(this.#text.value === "" ? "{}" : this.#text.value);
    } catch (error) {
      this.#error.textContent = error instanceof Error ? error.message : String(error);
      return;
    }
    this.#error.textContent = refusal(config as Config) ?? "";
    if (this.#error.textContent !== "") return;
    this.#change(config as Config);
  }

  #set(config: Config): void {
    const why = refusal(config);
    this.#error.textContent = why ?? "";
    if (why !== undefined) return;
    this.#text.value = JSON.stringify(config, undefined, 2);
    this.#change(config);
  }
}
