import { type ErrorCode, LonghaulError } from '../../src/core/domain/errors/error.ts';
import { type MissingThing, listedNames } from '../../src/core/domain/errors/missing.ts';

/**
 * This worker lacks something that another one may have, as while a deploy goes on: nothing was begun. The task goes to
 * another worker of the queue, without that counting as an attempt.
 */
export class MissingHere extends LonghaulError {
  override readonly name = 'MissingHere';
  readonly missing: MissingThing;

  constructor(code: ErrorCode, message: string, { known, ...thing }: MissingThing) {
    super(code, message);
    this.missing = { ...thing, known: listedNames(thing.name, known) };
  }
}
