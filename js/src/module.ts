import { LoopwardenError } from "./errors.ts";

/**
 * A WebAssembly module and its glue. Instantiates it once, on the first call at the latest, and converts what it throws
 * into {@link LoopwardenError}s.
 */
export class Module<Exports> {
  readonly #name: string;
  readonly #start: (options: { module: object }) => Exports;
  #source: (() => object) | undefined;
  #exports: Exports | undefined;
  /** The initial stack pointer. */
  #stack = 0;

  /**
   * @param name - The file name of the module, for error messages.
   * @param start - The glue's `initSync`.
   */
  constructor(name: string, start: (options: { module: object }) => Exports) {
    this.#name = name;
    this.#start = start;
  }

  /** Sets where the first call gets the module from. The first source set stays. */
  provide(source: () => object): void {
    this.#source ??= source;
  }

  /**
   * Instantiates the module from its bytes or from a compiled module, unless that has been done.
   *
   * @throws {LoopwardenError} `invalid-argument` if it cannot be instantiated.
   */
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

  /** The module's exports; instantiates it first if needed. */
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

  /** Runs an operation of the module, converting what it throws. */
  call<T>(operation: (exports: Exports) => T): T {
    const exports = this.exports();
    try {
      return operation(exports);
    } catch (thrown) {
      throw this.thrown(thrown);
    }
  }

  /** Resets the stack pointer, which a trap leaves where it was. No call may be in progress. */
  rewind(): void {
    const stack = stackOf(this.#exports);
    if (stack) stack.value = this.#stack;
  }

  /** Converts what a call threw into an error of this package. */
  thrown(thrown: unknown): LoopwardenError {
    if (thrown instanceof LoopwardenError) return thrown;
    // The module throws its errors as JSON text; anything else is a trap, such as running out of memory.
    if (typeof thrown === "string") return new LoopwardenError(JSON.parse(thrown));
    this.rewind();
    const message = `the WebAssembly module failed: ${reason(thrown)}`;
    return new LoopwardenError({ code: "internal", message }, { cause: thrown });
  }
}

/** The global that holds the module's stack pointer. */
function stackOf(exports: unknown): { value: number } | undefined {
  return (exports as { __stack_pointer?: { value: number } } | undefined)?.__stack_pointer;
}

/** The message of anything that was thrown. Never throws itself, whatever the value. */
export function reason(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.message}` : String(thrown);
  } catch {
    return "an error that cannot be told";
  }
}
