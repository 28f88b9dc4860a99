import { JSException } from 'quickjs-wasi';
import type { ExecutionError } from '../../../../src/core/execution/execution-result.ts';
import { timeoutError } from '../time-limit.ts';

/** The prelude's report on a run. */
export interface Outcome {
  state: 'pending' | 'done' | 'failed';
  name?: string;
  message?: string;
}

/** The state of a context when something was thrown. */
export interface Thrown {
  timedOut: boolean;
  timeoutSeconds: number;
  /** True if most of the memory is in use. */
  isFull: boolean;
}

const OUT_OF_MEMORY: ExecutionError = { kind: 'memory', message: 'The code ran out of memory' };

/** Explains why a run failed, by the prelude's report; undefined if it did not fail. */
export function failureOfCode(outcome: Outcome, thrown: Thrown): ExecutionError | undefined {
  if (thrown.timedOut) return timeoutError(thrown.timeoutSeconds);
  if (outcome.state === 'done') return undefined;
  if (outcome.state === 'pending') return { kind: 'runtime', message: 'Error: the code awaits a promise that nothing settles' };
  const { name = '', message = '' } = outcome;
  if (name === 'InternalError' && message === 'out of memory') return OUT_OF_MEMORY;
  // The engine throws null if there is no memory left for an error.
  if (name === '' && message === 'null' && thrown.isFull) return OUT_OF_MEMORY;
  const kind = name === 'ReferenceError' && message.endsWith(' is not defined') ? 'undefined_name' : 'runtime';
  return { kind, message: name === '' ? message : `${name}: ${message}` };
}

/** Explains why a run failed, by what the engine threw: code was interrupted, or could not even be told what happened. */
export function failureOfEngine(error: unknown, thrown: Thrown): ExecutionError {
  if (thrown.timedOut) return timeoutError(thrown.timeoutSeconds);
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof JSException && (error.name === '<null>' || message === 'out of memory')) return OUT_OF_MEMORY;
  if (thrown.isFull || message.endsWith('out of memory')) return OUT_OF_MEMORY;
  if (error instanceof JSException) return { kind: 'runtime', message: `${error.name}: ${message.slice(0, 500)}` };
  return { kind: 'protocol', message: `The engine failed: ${message.slice(0, 500)}` };
}
