import type { JsonValue } from '../../core/domain/json.ts';
import type { RecallDocument, RememberDocument } from '../../core/domain/program-document.ts';
import { type CommonOptions, makeStep, type ProgramStep, splitOptions } from './program-step.ts';

/** The options of `remember`. */
export interface RememberOptions extends CommonOptions, Omit<RememberDocument, 'key' | 'value'> {}

/** The options of `recall`. */
export interface RecallOptions extends CommonOptions, Omit<RecallDocument, 'query'> {}

/** Makes a step that stores a value in the memory of the worker. Its output is the key. */
export function remember(name: string, key: string, value: JsonValue, options: RememberOptions = {}): ProgramStep {
  const { common, own } = splitOptions(options);
  return makeStep(name, { kind: 'remember', body: { key, value, ...own }, common });
}

/** Makes a step that looks values up in the memory of the worker. Its output is the list of entries, the best first. */
export function recall(name: string, query: string, options: RecallOptions = {}): ProgramStep {
  const { common, own } = splitOptions(options);
  return makeStep(name, { kind: 'recall', body: { query, ...own }, common });
}
