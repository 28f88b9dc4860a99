import type { Duration } from '../../core/domain/time.ts';
import { type CommonOptions, makeStep, type ProgramStep } from './program-step.ts';

/** Makes a step that waits, for a duration or for the value of a reference such as `{{input.wait}}`. */
export function sleep(name: string, duration: Duration | `{{${string}}}`, options: CommonOptions = {}): ProgramStep {
  return makeStep(name, { kind: 'sleep', body: { for: duration as Duration }, common: options });
}
