import { mayCall, spellingProblem } from '../../core/code/callable-tools.ts';
import type { ReplyFormat } from '../../core/domain/agent.ts';
import type { PruneStrategy } from '../../core/domain/content.ts';
import { UsageError } from '../../core/domain/errors.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import { requireKnown } from '../options/option-checks.ts';
import type { AnyTool } from '../tools/tool-definition.ts';
import type { CodeDefinition, ExecutorDefinition, Inject } from './executor-definition.ts';

/** The way in which an agent runs code, as the option `code` says it. */
export interface CodeOptions<Deps = JsonObject> {
  /** The executor of the code: `quickjs()`, `python()`, `custom({...})` or `inProcess({...})`. */
  executor: ExecutorDefinition;
  /**
   * `local`: code runs inside the workflow task, mostly on the worker that has its variables in memory. For executors with a time
   * limit of at most 10 seconds. Default `remote`: in activities of their own.
   */
  tier?: 'local' | 'remote';
  /**
   * Returns values that the code has as variables from the start: JSON, at most 64,000 bytes. It is called once, when the run begins,
   * and again if a session resolves its agent again. The values are recorded: put no secrets into them.
   */
  inject?: Inject<Deps>;
  /**
   * With `replyFormat: 'code'`: the rule by which the conversation is shortened before the model receives it. Default: its last 5
   * steps are kept. Nothing is removed from the record.
   */
  prune?: PruneStrategy;
}

/** The longest time limit of code that runs inside a workflow task. */
const MAX_LOCAL_SECONDS = 10;

/** The options of an agent that concern code. */
interface AgentCodeOptions {
  code?: CodeOptions<never>;
  replyFormat?: ReplyFormat;
}

/** The tools of an agent: its own, and if it has MCP servers, whose tools are not known yet. */
interface KnownTools {
  tools: readonly AnyTool[];
  hasMcpServers: boolean;
}

/** Returns the options of an agent that concern code, defaults filled in. Throws a UsageError for those that cannot work. */
export function agentCode(
  owner: string,
  { code, replyFormat }: AgentCodeOptions,
  known: KnownTools,
): { code?: CodeDefinition; replyFormat?: ReplyFormat } {
  const checked = code === undefined ? undefined : checkCode(owner, code);
  checkReplyFormat(owner, replyFormat, { code: checked, known });
  if (checked === undefined) requireModelTools(owner, known.tools);
  else requireCodeTools(owner, checked, known);
  return { ...(checked === undefined ? {} : { code: checked }), ...(replyFormat === undefined ? {} : { replyFormat }) };
}

function checkCode(owner: string, code: CodeOptions<never>): CodeDefinition {
  const option = `${owner}: "code"`;
  if (isExecutor(code)) throw new UsageError(`${option} is an executor: write {executor: ${code.kind}(…)}`);
  if (typeof code !== 'object' || code === null) throw new UsageError(`${option} is ${JSON.stringify(code)}: write {executor: quickjs()}`);
  requireKnown(option, code, ['executor', 'tier', 'inject', 'prune']);
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
    ...(inject === undefined ? {} : { inject }),
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

/** Throws a UsageError if code has no tool, or one that it cannot call by its name. */
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

const NUMBERS: Readonly<Record<PruneStrategy['strategy'], readonly string[]>> = {
  none: [],
  last_steps: ['keep'],
  old_observations: ['keep', 'maxLength'],
};

/** Checks the rule by which the conversation of an agent is shortened. Throws a UsageError for one that cannot work. */
function checkPrune(owner: string, prune: PruneStrategy): PruneStrategy {
  const option = `${owner}: "code.prune"`;
  const given: unknown = prune;
  const strategy = typeof given === 'object' && given !== null && 'strategy' in given ? given.strategy : undefined;
  if (typeof strategy !== 'string' || !Object.hasOwn(NUMBERS, strategy)) {
    throw new UsageError(
      `${option} is ${JSON.stringify(prune)}: write {strategy: "last_steps", keep: 5}, {strategy: "old_observations"} or {strategy: "none"}`,
    );
  }
  const names = NUMBERS[prune.strategy];
  requireKnown(option, prune, ['strategy', ...names]);
  for (const name of names) {
    const value: unknown = Object.entries(prune).find(([key]) => key === name)?.[1];
    if (value === undefined && prune.strategy === 'old_observations') continue;
    if (!Number.isSafeInteger(value) || Number(value) < 0) {
      throw new UsageError(`${owner}: "code.prune.${name}" is ${String(value)}: write a whole number of at least 0`);
    }
  }
  return Object.freeze({ ...prune });
}
