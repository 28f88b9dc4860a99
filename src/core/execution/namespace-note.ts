import { EMPTYING_ERROR_KINDS, type ExecutionResult } from './execution-result.ts';

/** Explains to a model which names and values are lost; undefined if none are. The names before a cell that was ended are made again. */
export function namespaceNote({
  error,
  emptiedBy = null,
}: Pick<ExecutionResult, 'error'> & { emptiedBy?: ExecutionResult['emptiedBy'] }): string | undefined {
  if (error !== null && EMPTYING_ERROR_KINDS.has(error.kind)) {
    return 'Nothing that this code has defined or changed was kept. The names and values of earlier code are as they were before it.';
  }
  if (emptiedBy === null) return undefined;
  return `This code began with an empty namespace, because earlier code ended with "${emptiedBy}": define again what you need.`;
}
