import { shownValue } from '../core/domain/text.ts';
import { mayCall, spellingProblem } from '../core/code/callable-tools.ts';
import type { ReplyFormat } from '../core/domain/agent.ts';
import { BYTE_BUDGETS } from '../core/domain/byte-budgets.ts';
import {
  type CodeLanguage,
  DEFAULT_EXECUTION_LIMITS,
  type ExecutionLimits,
  executionLimits,
  type ExecutorKind,
  type ExecutorSnapshot,
  MAX_TIMEOUT_SECONDS,
} from '../core/domain/code.ts';
import type { PruneStrategy } from '../core/domain/content.ts';
import { UsageError } from '../core/domain/errors.ts';
import type { CodeTool, Executor } from '../core/domain/execution.ts';
import { defined, type JsonObject } from '../core/domain/json.ts';
import { type OptionTable, requireKnown, requireKnownNames } from './option-checks.ts';
import type { AnyTool } from './tool-definition.ts';

/** How an agent runs code: the option `code`. */
export interface CodeOptions<Deps = JsonObject> {
  /** The executor of the code: `quickjs()`, `python()`, `custom({...})` or `inProcess({...})`. */
  executor: ExecutorDefinition;
  /**
   * `local`: code runs inside the workflow task, mostly on the worker that has its variables in memory. For executors with a time
   * limit of at most 10 seconds. Default `remote`: in separate activities.
   */
  tier?: 'local' | 'remote';
  /**
   * Returns the initial variables of the code: JSON, at most 64,000 bytes. It is called once, when the run begins,
   * and again if a session resolves its agent again. The values are recorded: put no secrets into them.
   */
  inject?: Inject<Deps>;
  /**
   * With `replyFormat: 'code'`: how the conversation is shortened before the model receives it. Default: its last 5 steps are kept.
   * Nothing is removed from the record.
   */
  prune?: PruneStrategy;
}

/** The longest time limit of code that runs inside a workflow task. */
const MAX_LOCAL_SECONDS = 10;

/** The agent options for code. */
interface AgentCodeOptions {
  code?: CodeOptions<never>;
  replyFormat?: ReplyFormat;
}

/** The tools of an agent that are known when it is defined, and whether it has MCP servers, whose tools are not known yet. */
interface KnownTools {
  tools: readonly AnyTool[];
  hasMcpServers: boolean;
}

/** Returns the agent options for code, with defaults. Throws a UsageError for options that cannot work. */
export function agentCode(
  owner: string,
  { code, replyFormat }: AgentCodeOptions,
  known: KnownTools,
): { code?: CodeDefinition; replyFormat?: ReplyFormat } {
  const checked = code === undefined ? undefined : checkCode(owner, code);
  checkReplyFormat(owner, replyFormat, { code: checked, known });
  if (checked === undefined) requireModelTools(owner, known.tools);
  else requireCodeTools(owner, checked, known);
  return defined({ code: checked, replyFormat });
}

function checkCode(owner: string, code: CodeOptions<never>): CodeDefinition {
  const option = `${owner}: "code"`;
  if (isExecutor(code)) throw new UsageError(`${option} is an executor: write {executor: ${code.kind}(…)}`);
  if (typeof code !== 'object' || code === null) throw new UsageError(`${option} is ${JSON.stringify(code)}: write {executor: quickjs()}`);
  requireKnown(option, code, { executor: true, tier: true, inject: true, prune: true });
  const { executor, tier = 'remote', inject, prune } = code;
  if (executor === undefined)
    throw new UsageError(`${option} has no "executor": write quickjs(), python(), custom({...}) or inProcess({...})`);
  if (!isExecutor(executor)) {
    throw new UsageError(`${owner}: "code.executor" is not an executor: make it with quickjs, python, custom or inProcess`);
  }
  if (tier !== 'local' && tier !== 'remote') {
    throw new UsageError(`${owner}: "code.tier" is ${JSON.stringify(tier)}: write "local" or "remote"`);
  }
  if (tier === 'local') requireShort(owner, executor);
  if (inject !== undefined && typeof inject !== 'function') {
    throw new UsageError(`${owner}: "code.inject" is ${JSON.stringify(inject)}: write a function, ({deps}) => ({name: value})`);
  }
  return Object.freeze({
    executor,
    tier,
    ...defined({ inject }),
    ...(prune === undefined ? {} : { prune: checkPrune(owner, prune) }),
  });
}

function requireShort(owner: string, { kind, limits: { timeoutSeconds } }: ExecutorDefinition): void {
  if (timeoutSeconds > 0 && timeoutSeconds <= MAX_LOCAL_SECONDS) return;
  const limit = timeoutSeconds > 0 ? `a time limit of ${timeoutSeconds} seconds` : 'no time limit';
  throw new UsageError(
    `${owner}: "code.tier" is "local", which is for code of at most ${MAX_LOCAL_SECONDS} seconds, but its executor has ${limit}: write ${kind}({limits: {timeoutSeconds: ${MAX_LOCAL_SECONDS}}}), or leave "tier" out`,
  );
}

function checkReplyFormat(
  owner: string,
  format: ReplyFormat | undefined,
  { code, known: { tools, hasMcpServers } }: { code: CodeDefinition | undefined; known: KnownTools },
): void {
  if (code?.prune !== undefined && format !== 'code') {
    throw new UsageError(`${owner}: "code.prune" needs "replyFormat": "code"; in other formats, "window" bounds the conversation`);
  }
  if (format === undefined) return;
  if (format !== 'code' && format !== 'json') {
    throw new UsageError(`${owner}: "replyFormat" is ${JSON.stringify(format)}: write "code" or "json", or leave it out`);
  }
  if (format === 'code' && code === undefined) {
    throw new UsageError(`${owner}: "replyFormat" is "code", but the agent runs no code: add "code": {executor: quickjs()}`);
  }
  if (format === 'json' && tools.length === 0 && !hasMcpServers) {
    throw new UsageError(`${owner} requires at least one tool, because "replyFormat" is "json": add a tool`);
  }
}

/** Throws a UsageError if code may call no tool, or if the name of one cannot be called in its language. */
function requireCodeTools(owner: string, { executor: { language } }: CodeDefinition, { tools, hasMcpServers }: KnownTools): void {
  const callable = tools.filter((tool) => mayCall('code', tool));
  if (callable.length === 0 && !hasMcpServers) {
    throw new UsageError(
      tools.length === 0
        ? `${owner} requires at least one tool that its code may call: add one to "tools", or leave "code" out`
        : `${owner} requires at least one tool that its code may call, but only the model may call those that it has: add "code" to "callers" of one, or leave "code" out`,
    );
  }
  for (const { name } of callable) {
    const problem = spellingProblem(name, language);
    if (problem === undefined) continue;
    throw new UsageError(
      `${owner} has the tool "${name}", which its code cannot call by this name: ${problem}. Give it another name, or write "callers": ["model"]`,
    );
  }
}

/** Throws a UsageError for a tool that could not be called at all. */
function requireModelTools(owner: string, tools: readonly AnyTool[]): void {
  const useless = tools.find((tool) => !mayCall('model', tool));
  if (useless === undefined) return;
  throw new UsageError(
    `${owner} has the tool "${useless.name}", which only code may call, but the agent runs no code: add "code", or "model" to "callers" of the tool`,
  );
}

/** True for a value that `quickjs`, `python`, `custom` or `inProcess` returned, of any copy of this package. */
function isExecutor(value: unknown): value is ExecutorDefinition {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, language, limits, allowedImports } = value as Partial<Record<keyof ExecutorDefinition, unknown>>;
  return (
    (kind === 'quickjs' || kind === 'python' || kind === 'custom' || kind === 'in_process') &&
    (language === 'javascript' || language === 'python') &&
    typeof limits === 'object' &&
    limits !== null &&
    Array.isArray(allowedImports)
  );
}

const PRUNE_NUMBERS: Readonly<Record<PruneStrategy['strategy'], readonly string[]>> = {
  none: [],
  last_steps: ['keep'],
  old_observations: ['keep', 'maxLength'],
};

/** Returns the checked prune strategy. Throws a UsageError for one that cannot work. */
function checkPrune(owner: string, prune: PruneStrategy): PruneStrategy {
  const option = `${owner}: "code.prune"`;
  const given: unknown = prune;
  const strategy = typeof given === 'object' && given !== null && 'strategy' in given ? given.strategy : undefined;
  if (typeof strategy !== 'string' || !Object.hasOwn(PRUNE_NUMBERS, strategy)) {
    throw new UsageError(
      `${option} is ${JSON.stringify(prune)}: write {strategy: "last_steps", keep: 5}, {strategy: "old_observations"} or {strategy: "none"}`,
    );
  }
  const names = PRUNE_NUMBERS[prune.strategy];
  requireKnownNames(option, prune, ['strategy', ...names]);
  for (const name of names) {
    const value: unknown = Object.entries(prune).find(([key]) => key === name)?.[1];
    if (value === undefined && prune.strategy === 'old_observations') continue;
    if (!Number.isSafeInteger(value) || Number(value) < 0) {
      throw new UsageError(`${owner}: "code.prune.${name}" is ${shownValue(value)}: write a whole number of at least 0`);
    }
  }
  return Object.freeze({ ...prune });
}

/**
 * Makes an executor of JavaScript: QuickJS, compiled to WebAssembly, in a separate thread. Its code has no network, files or timers.
 * Throws a `UsageError` for an option that cannot work.
 *
 * @example
 * defineAgent({ name: 'desk', model: 'openai/gpt-5-mini', tools: [orders], code: { executor: quickjs({ limits: { timeoutSeconds: 10 } }) } });
 */
export function quickjs(options: ExecutorOptions = {}): ExecutorDefinition {
  requireOptions('quickjs', options, EXECUTOR_OPTIONS);
  return executorDefinition('quickjs', { kind: 'quickjs', language: 'javascript' }, options);
}

/**
 * Makes an executor of Python: the CPython of the worker's machine, under bubblewrap, without network. A worker that cannot
 * isolate it does not start. Throws a `UsageError` for an option that cannot work.
 *
 * @example
 * const executor = python({ allowedImports: ['math', 'statistics'] });
 */
export function python(options: ExecutorOptions = {}): ExecutorDefinition {
  requireOptions('python', options, EXECUTOR_OPTIONS);
  return executorDefinition('python', { kind: 'python', language: 'python' }, options);
}

/** The options of `inProcess`. */
export interface InProcessExecutorOptions extends ExecutorOptions {
  /** The language of the code, which decides how the model is told to write it. */
  language: CodeLanguage;
  /** Makes an executor for each namespace: an object with the methods of `Executor`. */
  create: CreateOwnExecutor;
}

/**
 * Makes an executor from your own function, which runs in the worker's process. There is no isolation: use it in tests, or for code
 * that you trust as you trust your own. Your function must enforce the limits. Throws a `UsageError` for an option that cannot work.
 *
 * @example
 * const executor = inProcess({ language: 'javascript', create: () => new RemoteSandbox(process.env.SANDBOX_URL) });
 */
export function inProcess(options: InProcessExecutorOptions): ExecutorDefinition {
  requireOptions('inProcess', options, { create: true, language: true, ...EXECUTOR_OPTIONS });
  const { language, create } = options;
  if (language !== 'javascript' && language !== 'python') {
    throw new UsageError(`inProcess: "language" is ${JSON.stringify(language) ?? 'missing'}: write "javascript" or "python"`);
  }
  if (typeof create !== 'function') {
    throw new UsageError(`inProcess: "create" is ${JSON.stringify(create) ?? 'missing'}: write a function that returns an executor`);
  }
  return Object.freeze({ ...executorDefinition('inProcess', { kind: 'in_process', language }, options), create });
}

/** The options of `custom`. */
export interface CustomExecutorOptions extends ExecutorOptions {
  /** The program and its arguments: a container or a virtual machine. It isolates the code, and must be there on every worker. */
  command: readonly string[];
  /** The language of the code. */
  language: CodeLanguage;
}

/**
 * Makes an executor from your own program, which the worker starts for each namespace. The program provides the isolation: Longhaul
 * adds none. Throws a `UsageError` for an option that cannot work.
 *
 * @example
 * const executor = custom({ command: ['docker', 'run', '--rm', '-i', '--network=none', 'cells'], language: 'python' });
 */
export function custom(options: CustomExecutorOptions): ExecutorDefinition {
  requireOptions('custom', options, { command: true, language: true, ...EXECUTOR_OPTIONS });
  const command = checkCommand(options.command);
  const { language } = options;
  if (language !== 'javascript' && language !== 'python') {
    throw new UsageError(`custom: "language" is ${JSON.stringify(language) ?? 'missing'}: write "javascript" or "python"`);
  }
  return Object.freeze({ ...executorDefinition('custom', { kind: 'custom', language }, options), command: Object.freeze(command) });
}

function checkCommand(command: unknown): string[] {
  const isCommand =
    Array.isArray(command) &&
    command[0] !== '' &&
    command.length > 0 &&
    command.every((part) => typeof part === 'string' && !part.includes('\0'));
  if (isCommand) return [...(command as string[])];
  throw new UsageError(
    `custom: "command" is ${JSON.stringify(command) ?? 'missing'}: write a list of texts, the program and its arguments: ["docker", "run", …]`,
  );
}

/** The options of all executors. */
export interface ExecutorOptions {
  /** The limits of one run of code. Default: 30 seconds, 256 MB, 10,000 bytes of output, 10 steps. */
  limits?: Partial<ExecutionLimits>;
  /** The modules that code may import, by top-level package. Default: none. */
  allowedImports?: readonly string[];
}

const EXECUTOR_OPTIONS: OptionTable<ExecutorOptions> = { limits: true, allowedImports: true };

/** Megabytes that a 32-bit address can reach. */
const MAX_MEMORY_MB: Partial<Record<ExecutorKind, number>> = { quickjs: 4_096 };

const MODULE_NAMES: Readonly<Record<CodeLanguage, RegExp>> = {
  javascript: /^[A-Za-z0-9@_$][A-Za-z0-9@_$./:-]*$/,
  python: /^[A-Za-z_][A-Za-z0-9_]*$/,
};

/** Returns a frozen definition. Throws a UsageError that begins with `owner` for an option that cannot work. */
function executorDefinition(
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
function requireOptions<Options extends object>(
  owner: string,
  options: Options,
  known: Readonly<Record<keyof NoInfer<Options>, unknown>>,
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new UsageError(`${owner}: the options are ${JSON.stringify(options)}: write an object`);
  }
  requireKnown(owner, options, known);
}

function checkLimits(owner: string, kind: ExecutorKind, limits: Partial<ExecutionLimits>): ExecutionLimits {
  requireOptions(`${owner}: "limits"`, limits, DEFAULT_EXECUTION_LIMITS);
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
    if (typeof name === 'string' && MODULE_NAMES[language].test(name)) continue;
    const topLevel = language === 'python' && typeof name === 'string' ? name.split('.', 1)[0] : undefined;
    const advice =
      topLevel !== undefined && MODULE_NAMES.python.test(topLevel)
        ? `write its top-level package, "${topLevel}"`
        : 'write the name of a module';
    throw new UsageError(`${option} has ${JSON.stringify(name) ?? 'undefined'}, which is not the name of a package: ${advice}`);
  }
  return [...new Set(names as readonly string[])];
}

/** An executor as `quickjs`, `python`, `custom` or `inProcess` returns it. The worker starts it with the first cell. */
export interface ExecutorDefinition extends Readonly<ExecutorSnapshot> {
  /** The program of a `custom` executor and its arguments. */
  readonly command?: readonly string[];
  /** The function that makes the executor of `inProcess`. */
  readonly create?: CreateOwnExecutor;
}

/** The settings that a user's function gets to make an executor. */
export interface OwnExecutorSettings extends Readonly<ExecutorSnapshot> {
  /** The tools that code may call by their names. */
  readonly tools: readonly CodeTool[];
  /** True for an agent that answers with code, which has a working memory and signals. */
  readonly scratchpad: boolean;
}

/** Makes an executor for one namespace. */
export type CreateOwnExecutor = (settings: OwnExecutorSettings) => Executor | Promise<Executor>;

/** Returns the initial variables of a run's code, given the deps of the run. */
export type Inject<Deps> = (context: { readonly deps: Deps }) => JsonObject | Promise<JsonObject>;

/** How an agent runs code. */
export interface CodeDefinition {
  /** The executor of the code, with its limits. */
  readonly executor: ExecutorDefinition;
  /** `local`: code runs inside the workflow task. `remote`: in separate activities. */
  readonly tier: 'local' | 'remote';
  /** Returns the initial variables of the code. Absent: none. */
  readonly inject?: Inject<never>;
  /** How the conversation is shortened before the model receives it. Absent: its last 5 steps are kept. */
  readonly prune?: PruneStrategy;
}
