import { LoopwardenError } from "./errors.ts";

/**
 * A WebAssembly module and the glue around it: started once, at the first call at the latest, and what it throws made
 * into errors of this package.
 */
export class Module<Exports> {
  readonly #name: string;
  readonly #start: (options: { module: object }) => Exports;
  #source: (() => object) | undefined;
  #exports: Exports | undefined;
  /** Where the stack begins. */
  #stack = 0;

  /**
   * @param name - The file of the module.
   * @param start - `initSync` of the glue.
   */
  constructor(name: string, start: (options: { module: object }) => Exports) {
    this.#name = name;
    this.#start = start;
  }

  /** Says where the module comes from, for the first call to fetch it. */
  provide(source: () => object): void {
    this.#source ??= source;
  }

  /** Starts the module with these bytes or this compiled module, unless it has been started. */
  init(module: object): void {
    if (this.#exports !== undefined) return;
    try {
      this.#exports = this.#start({ module });
    } catch (cause) {
      const message = `not the WebAssembly module of this package (${this.#name}), or an engine without SIMD, which it needs`;
      throw new LoopwardenError({ code: "invalid-argument", message, field: "module" }, { cause });
    }
    const stack = stackOf(this.#exports);
    if (stack) this.#stack = stack.value;
  }

  /** What the module exports; starts it first where that is still to be done. */
  exports(): Exports {
    if (this.#exports === undefined) this.#load();
    return this.#exports as Exports;
  }

  #load(): void {
    if (this.#source === undefined) {
      const message = "the WebAssembly module is not loaded: call `init(module)` of `loopwarden/slim` first";
      throw new LoopwardenError({ code: "not-initialised", message });
    }
    let module: object;
    try {
      module = this.#source();
    } catch (cause) {
      const message = `${this.#name} is not beside this file: copy it there, or leave the package out of the bundle`;
      throw new LoopwardenError({ code: "not-initialised", message }, { cause });
    }
    this.init(module);
  }

  /** Runs an operation of the module. */
  call<T>(operation: (exports: Exports) => T): T {
    const exports = this.exports();
    try {
      return operation(exports);
    } catch (thrown) {
      throw this.thrown(thrown);
    }
  }

  /** Puts the stack back to where it began: a trap leaves it as deep as it was. No call may be under way. */
  rewind(): void {
    const stack = stackOf(this.#exports);
    if (stack) stack.value = this.#stack;
  }

  /** What a call threw, as an error of this package. */
  thrown(thrown: unknown): LoopwardenError {
    if (thrown instanceof LoopwardenError) return thrown;
    // The module throws its errors as JSON text; anything else is a trap, such as memory that ran out.
    if (typeof thrown === "string") return new LoopwardenError(JSON.parse(thrown));
    this.rewind();
    const message = `the WebAssembly module failed: ${reason(thrown)}`;
    return new LoopwardenError({ code: "internal", message }, { cause: thrown });
  }
}

/** The pointer to the top of the module's stack. */
function stackOf(exports: unknown): { value: number } | undefined {
  return (exports as { __stack_pointer?: { value: number } } | undefined)?.__stack_pointer;
}

/** What somebody threw, in words. Whatever it is: that it cannot be told must not hide it. */
export function reason(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.message}` : String(thrown);
  } catch {
    return "an error that cannot be told";
  }
}
