import { type Config, LoopDetector, LoopwardenError } from "loopwarden";

/**
 * Creates a detector for the option `config`.
 *
 * @throws {LoopwardenError} naming the field where the user wrote it, such as `config.preset`.
 */
export function detecting(config?: Config): LoopDetector {
  try {
    return new LoopDetector(config);
  } catch (error) {
    if (!(error instanceof LoopwardenError) || error.field === undefined) throw error;
    throw new LoopwardenError({ ...error.toJSON(), field: `config.${error.field}` }, { cause: error });
  }
}
