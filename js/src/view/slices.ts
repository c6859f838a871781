// Splits long work into slices, between which the browser stays responsive.

/** Maximum duration of a slice, in milliseconds. */
const SLICE = 8;

/** Yields to the browser. */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });

/** Runs a generator to its end in slices. Resolves to undefined if `overtaken` returns true in between. */
export async function inSlices<T, R>(
  work: Generator<T, R>,
  overtaken: () => boolean,
  told: (step: T) => void,
): Promise<R | undefined> {
  let until = performance.now() + SLICE;
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
    if (performance.now() < until) continue;
    told(step.value);
    await turn();
    if (overtaken()) {
      work.return(undefined as never);
      return undefined;
    }
    until = performance.now() + SLICE;
  }
}
