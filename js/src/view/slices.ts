// Long work in slices, between which the browser draws and answers.

/** Milliseconds of work before the page gets a turn. */
const SLICE = 8;

/** Lets the browser draw and answer before more work. */
export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });

/** Runs a generator to its end in slices; nothing when it was overtaken by other work. */
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
