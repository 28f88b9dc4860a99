import {
  type CodeLanguage,
  DEFAULT_EXECUTION_LIMITS,
  type ExecutionLimits,
  executionLimits,
  type ExecutorKind,
  MAX_TIMEOUT_SECONDS,
} from '../../core/domain/code.ts';
import { BYTE_BUDGETS } from '../../core/domain/byte-budgets.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { requireKnown } from '../options/option-checks.ts';
import type { ExecutorDefinition } from './executor-definition.ts';

/** The options of all executors. */
export interface ExecutorOptions {
  /** The limits of one run of code. Default: 30 seconds, 256 MB, 10,000 bytes of output, 10 steps. */
  limits?: Partial<ExecutionLimits>;
  /** The modules that code may import, by the names of their top-level packages. Default: none. */
  allowedImports?: readonly string[];
}

export const EXECUTOR_OPTIONS: readonly (keyof ExecutorOptions)[] = ['limits', 'allowedImports'];

/** Megabytes that an address of 32 bits can reach. */
const MAX_MEMORY_MB: Partial<Record<ExecutorKind, number>> = { quickjs: 4_096 };

/** The names of modules, by language. */
const MODULE: Readonly<Record<CodeLanguage, RegExp>> = {
  javascript: /^[A-Za-z0-9@_$][A-Za-z0-9@_$./:-]*$/,
  python: /^[A-Za-z_][A-Za-z0-9_]*$/,
};

/** Returns a frozen definition. Throws a UsageError that begins with `owner` for an option that cannot work. */
export function executorDefinition(
  owner: string,
  { kind, language }: { kind: ExecutorKind; language: CodeLanguage },
  { limits, allowedImports = [] }: ExecutorOptions,
): ExecutorDefinition {
  return Object.freeze({
    kind,
    language,
    limits: Object.freeze(checkLimits(owner, kind, limits ?? {})),
    // The type of a snapshot has a list that may be changed.
    allowedImports: Object.freeze(checkImports(owner, language, allowedImports)) as string[],
  });
}

/** Throws a UsageError for a value that is not an object with options, and for unknown options. */
export function requireOptions(owner: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new UsageError(`${owner}: the options are ${JSON.stringify(options)}: write an object`);
  }
  requireKnown(owner, options, known);
}

function checkLimits(owner: string, kind: ExecutorKind, limits: Partial<ExecutionLimits>): ExecutionLimits {
  requireOptions(`${owner}: "limits"`, limits, Object.keys(DEFAULT_EXECUTION_LIMITS));
  const given = Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined)) as Partial<ExecutionLimits>;
  const checked = executionLimits(given);
  const most: Partial<ExecutionLimits> = {
    timeoutSeconds: MAX_TIMEOUT_SECONDS,
    maxMemoryMb: MAX_MEMORY_MB[kind] ?? Number.MAX_SAFE_INTEGER,
    maxOutputBytes: BYTE_BUDGETS.maxToolResult,
  };
  for (const [name, limit] of Object.entries(most)) {
    const value = checked[name as keyof ExecutionLimits];
    if (value > limit) throw new UsageError(`${owner}: "limits.${name}" is ${value}: write at most ${limit}`);
  }
  return checked;
}

function checkImports(owner: string, language: CodeLanguage, names: readonly string[]): string[] {
  const option = `${owner}: "allowedImports"`;
  if (!Array.isArray(names)) throw new UsageError(`${option} is ${JSON.stringify(names)}: write a list of names`);
  for (const name of names as readonly unknown[]) {
    if (typeof name === 'string' && MODULE[language].test(name)) continue;
    const topLevel = language === 'python' && typeof name === 'string' ? name.split('.', 1)[0] : undefined;
    const advice =
      topLevel !== undefined && MODULE.python.test(topLevel) ? `write its top-level package, "${topLevel}"` : 'write the name of a module';
    throw new UsageError(`${option} has ${JSON.stringify(name) ?? 'undefined'}, which is no name of a package: ${advice}`);
  }
  return [...new Set(names as readonly string[])];
}
