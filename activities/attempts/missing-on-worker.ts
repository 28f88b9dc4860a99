import { type ErrorCode, LonghaulError } from '../../src/core/domain/errors/error.ts';
import { type MissingThing, listedNames } from '../../src/core/domain/errors/missing.ts';

/**
 * The error of a worker that lacks something which another worker may have, for instance during a deploy. Nothing was
 * begun: the task goes to another worker of the queue, and the attempt does not count.
 */
export class MissingOnWorkerError extends LonghaulError {
  override readonly name = 'MissingOnWorkerError';
  readonly missing: MissingThing;

  constructor(code: ErrorCode, message: string, { known, ...thing }: MissingThing) {
    super(code, message);
    this.missing = { ...thing, known: listedNames(thing.name, known) };
  }
}
