import type { ExecutionLimits } from '../../../src/core/execution/execution-limits.ts';
import { UsageError } from '../../../src/core/domain/errors/error.ts';
import type { CodeLanguage } from '../../../src/core/domain/code/code-snapshot.ts';
import {
  MAX_ANSWER_LENGTH,
  MAX_ARGUMENTS_LENGTH,
  MAX_BATCH_LENGTH,
  MAX_CALLS,
  MAX_NAMESPACE_LENGTH,
  MAX_OUTPUT_LENGTH,
  MAX_SCRATCHPAD_LENGTH,
  MAX_SEGMENTS,
  type ThreadSettings,
} from '../quickjs/frames.ts';
import { keptOutputLength } from '../quickjs/results.ts';
import type { Provided } from '../provided.ts';

/** The settings of a process that runs code, which it is started with. */
export interface ProcessSettings extends ThreadSettings {
  language: CodeLanguage;
  /** Characters of JSON of a final answer, of the values of a namespace, of a scratchpad, and of the arguments of a call. */
  answerLength: number;
  namespaceLength: number;
  scratchpadLength: number;
  argumentsLength: number;
  /** Characters of JSON of the calls of a segment together, calls of a cell, and its segments. */
  batchLength: number;
  calls: number;
  segments: number;
}

/** The part of an executor's definition that a process needs. */
export interface ProcessDefinition {
  language: CodeLanguage;
  limits: ExecutionLimits;
  allowedImports: readonly string[];
}

/** The settings of a process. Throws a UsageError for a limit that its frames have no room for. */
export function processSettings({ language, limits, allowedImports }: ProcessDefinition, { tools, scratchpad }: Provided): ProcessSettings {
  if (limits.maxOutputBytes > MAX_OUTPUT_LENGTH) {
    throw new UsageError(`The limit "maxOutputBytes" of the executor is ${limits.maxOutputBytes}: write at most ${MAX_OUTPUT_LENGTH}`);
  }
  return {
    language,
    timeoutMs: Math.max(0, limits.timeoutSeconds) * 1_000,
    memoryBytes: limits.maxMemoryMb * 1_048_576,
    // One character more than may be kept shows that there was more.
    outputLength: keptOutputLength(limits) + 1,
    tools: tools.map(({ name, parameters }) => ({ name, parameters: [...parameters] })),
    scratchpad,
    allowedImports: [...allowedImports],
    answerLength: MAX_ANSWER_LENGTH,
    namespaceLength: MAX_NAMESPACE_LENGTH,
    scratchpadLength: MAX_SCRATCHPAD_LENGTH,
    argumentsLength: MAX_ARGUMENTS_LENGTH,
    batchLength: MAX_BATCH_LENGTH,
    calls: MAX_CALLS,
    segments: MAX_SEGMENTS,
  };
}
