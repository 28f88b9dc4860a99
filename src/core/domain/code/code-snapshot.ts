import type { ExecutionLimits } from '../../execution/execution-limits.ts';
import type { JsonObject } from '../json/json.ts';
import type { PruneStrategy } from '../content/conversation/prune-steps.ts';

/** The kinds of executors. */
export type ExecutorKind = 'quickjs' | 'python' | 'custom' | 'in_process';

/** The languages of code. */
export type CodeLanguage = 'javascript' | 'python';

/** The longest time limit of an executor: a timer cannot wait much longer. */
export const MAX_TIMEOUT_SECONDS = 2_000_000;

/** An executor as it is pinned for a run. The command of a `custom` executor and the function of one `inProcess` are not part of it: the worker's definition has them. */
export interface ExecutorSnapshot {
  kind: ExecutorKind;
  language: CodeLanguage;
  limits: ExecutionLimits;
  /** Names of modules that code may import. */
  allowedImports: string[];
}

/** The way in which an agent runs code, as it is pinned for a run. */
export interface CodeSnapshot {
  executor: ExecutorSnapshot;
  /** `local`: segments run inside the workflow task. */
  tier: 'local' | 'remote';
  /** The values that code has as variables from the start. */
  injected?: JsonObject;
  /** For an agent that answers with code: the rule by which the model's conversation is shortened. Absent: the last 5 steps are kept. */
  prune?: PruneStrategy;
}
