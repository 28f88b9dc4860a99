import { UsageError } from '../core/domain/errors.ts';
import {
  AFTER_CALL_EVENTS,
  CALL_EVENTS,
  END_EVENTS,
  hasSubject,
  HOOK_EVENTS,
  type HookEvent,
  INLINE_HOOK_MS,
  isBlocking,
  POINT_EVENTS,
} from '../core/domain/hooks.ts';
import { defined, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import type { Principal, RunStatus } from '../core/domain/run.ts';
import { didYouMean } from '../core/domain/text.ts';
import { type Duration, timerMilliseconds } from '../core/domain/time.ts';
import type { UsageStats } from '../core/domain/usage.ts';
import { type AgentPart, type BundledPart, mergedList } from './agent-part.ts';
import type { ReadEvents, Resources } from './context.ts';
import { type OptionTable, requireKnown, wholeNumber } from './option-checks.ts';

/** The options of a hook. Exactly one of `run` and `command` is set. */
export interface HookOptions<Event extends HookEvent> {
  /** The name in records and messages: letters, digits, `_`, `-` and `.`. */
  name: string;
  /** The event at which it is called. */
  on: Event;
  /** The payloads that it is called for. A text or a regular expression is compared with the name of the tool or agent. Default: all. */
  match?: HookMatch<HookPayloads[Event]>;
  /** Hooks with lower numbers are called first; equal ones in the order of registration. Default 100. */
  priority?: number;
  /** The time that it may take. Default 10 seconds; more needs `tier: 'remote'`. */
  timeout?: Duration;
  /** True if a failure of the hook denies. Only for events that a hook can deny. Default false: a failure allows. */
  failClosed?: boolean;
  /** `remote`: the hook runs in a separate activity, and may take longer than 10 seconds. Not for every event. */
  tier?: 'inline' | 'remote';
  /** Returns the answer. May be called again for the same payload, if its worker was lost. */
  run?: (payload: Readonly<HookPayloads[Event]>, context: HookContext) => HookAnswer | Promise<HookAnswer>;
  /** The program and its arguments. It is started without a shell, and gets `{event, payload}` as JSON on its standard input. */
  command?: readonly string[];
}

const HOOK_OPTIONS: OptionTable<HookOptions<HookEvent>> = {
  name: true,
  on: true,
  match: true,
  priority: true,
  timeout: true,
  failClosed: true,
  tier: true,
  run: true,
  command: true,
};

const HOOK_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The events whose hooks may run in a separate activity. */
const REMOTE_EVENTS: readonly HookEvent[] = [...POINT_EVENTS, ...CALL_EVENTS, ...AFTER_CALL_EVENTS, ...END_EVENTS];

/**
 * Defines a hook: a function or a program that is called at a named point of a run, and may deny, change or ask. Throws a
 * `UsageError` for options that cannot work.
 *
 * @example
 * const noForce = defineHook({
 *   name: 'no-force',
 *   on: 'pre_tool_use',
 *   match: 'push',
 *   run: ({ arguments: args }) => (args['force'] ? { deny: 'force is not allowed' } : 'allow'),
 * });
 */
export function defineHook<const Event extends HookEvent>(options: HookOptions<Event>): HookDefinition<Event> {
  const { name, on, match, run, command, failClosed = false } = options;
  if (typeof name !== 'string' || !HOOK_NAME.test(name)) {
    throw new UsageError(`hook ${JSON.stringify(name) ?? 'without a name'}: use 1 to 64 letters, digits, "_", "-" or "." as "name"`);
  }
  const owner = `hook "${name}"`;
  requireKnown(owner, options, HOOK_OPTIONS);
  if (!HOOK_EVENTS.includes(on)) {
    const near = typeof on === 'string' ? didYouMean(on, HOOK_EVENTS) : '';
    throw new UsageError(`${owner}: "on" is ${JSON.stringify(on) ?? 'missing'}: write one of ${HOOK_EVENTS.join(', ')}${near}`);
  }
  if (typeof failClosed !== 'boolean') throw new UsageError(`${owner}: "failClosed" is ${JSON.stringify(failClosed)}: write true or false`);
  if (failClosed && !isBlocking(on)) {
    throw new UsageError(`${owner}: "failClosed" means nothing for "${on}", which no hook can deny: leave it out`);
  }
  if ((run === undefined) === (command === undefined)) throw new UsageError(`${owner}: write exactly one of "run" and "command"`);
  if (run !== undefined && typeof run !== 'function') throw new UsageError(`${owner}: "run" is not a function: write (payload) => answer`);
  const tier = checkTier(owner, on, options.tier);
  return Object.freeze({
    kind: 'longhaul.hook',
    name,
    on,
    ...(match === undefined ? {} : { match: checkMatch(owner, on, match) }),
    priority: wholeNumber(`${owner}: "priority"`, options.priority ?? 100, 0),
    timeoutMs: checkTimeout(owner, tier, options.timeout ?? INLINE_HOOK_MS),
    failClosed,
    tier,
    ...defined({ run }),
    ...(command === undefined ? {} : { command: checkCommand(owner, command) }),
  });
}

function checkTier(owner: string, on: HookEvent, tier: unknown = 'inline'): 'inline' | 'remote' {
  if (tier !== 'inline' && tier !== 'remote')
    throw new UsageError(`${owner}: "tier" is ${JSON.stringify(tier)}: write "inline" or "remote"`);
  if (tier === 'inline' || REMOTE_EVENTS.includes(on)) return tier;
  throw new UsageError(
    `${owner}: hooks for "${on}" run inside the activity of the model or of the agent: "tier": "remote" is for ${REMOTE_EVENTS.join(', ')}. Leave it out, and answer within 10 seconds`,
  );
}

function checkTimeout(owner: string, tier: 'inline' | 'remote', timeout: Duration): number {
  const ms = timerMilliseconds(timeout, `${owner}: "timeout"`);
  if (ms <= INLINE_HOOK_MS || tier === 'remote') return ms;
  throw new UsageError(
    `${owner}: "timeout" is ${ms} ms, more than the 10 seconds of a hook inside another activity: lower it, or set "tier": "remote"`,
  );
}

function checkMatch<Event extends HookEvent>(
  owner: string,
  on: Event,
  match: HookMatch<HookPayloads[Event]>,
): HookMatch<HookPayloads[Event]> {
  if (typeof match === 'function') return match;
  if (typeof match !== 'string' && !(match instanceof RegExp)) {
    throw new UsageError(`${owner}: "match" is ${JSON.stringify(match)}: write a name, a regular expression or a function of the payload`);
  }
  if (match === '') throw new UsageError(`${owner}: "match" is empty: write the name of a tool, or leave it out`);
  if (hasSubject(on)) return match;
  throw new UsageError(`${owner}: "${on}" concerns no tool or agent: write a function of the payload as "match"`);
}

function checkCommand(owner: string, command: unknown): readonly string[] {
  if (typeof command === 'string') {
    throw new UsageError(
      `${owner}: "command" is a text, and no shell reads it: write the program and its arguments as a list: ["node", "check.js"]`,
    );
  }
  const isList =
    Array.isArray(command) &&
    command.length > 0 &&
    command[0] !== '' &&
    command.every((part) => typeof part === 'string' && !part.includes('\0'));
  if (isList) return Object.freeze([...(command as string[])]);
  throw new UsageError(`${owner}: "command" is ${JSON.stringify(command)}: write a list of texts, the program and its arguments`);
}

/**
 * The answer of a hook. No answer means allow. `modify` sets fields of the payload, `inject` adds text for the model, `ask` makes the
 * call wait for a decision, and `error` reports that the hook failed.
 */
export type HookAnswer =
  | undefined
  | void
  | null
  | 'allow'
  | 'deny'
  | { readonly deny: string }
  | { readonly modify: Readonly<JsonObject> }
  | { readonly inject: string }
  | { readonly ask: string }
  | { readonly error: string };

/** The context that a hook receives as its second argument. */
export interface HookContext {
  /** The id of the run. */
  readonly runId: string;
  /** The name of the agent. */
  readonly agent: string;
  /** Returns the run's JSON data. Read-only. */
  readonly deps: () => Promise<Readonly<JsonObject>>;
  /** Returns the identity on whose behalf the run acts. Read-only. */
  readonly principal: () => Promise<Readonly<Principal>>;
  /** Reads recorded events of the run: the newest 20, or those that the options name. Rejects in hooks of local calls. */
  readonly events: ReadEvents;
  /** Returns the live objects of the worker. */
  readonly resources: () => Promise<Resources>;
  /** Aborted when the time of the hook is up, or its run is cancelled. */
  readonly signal: AbortSignal;
}

/** Selects payloads by the exact name of the tool or agent, by a regular expression over that name, or by a function of the payload. */
export type HookMatch<Payload = never> = string | RegExp | ((payload: Readonly<Payload>) => boolean | Promise<boolean>);

/** A hook as `defineHook` returns it. */
export interface HookDefinition<Event extends HookEvent = HookEvent> {
  /** Distinguishes it from other definitions. */
  readonly kind: 'longhaul.hook';
  /** The name in records and errors. */
  readonly name: string;
  /** The event at which it is called. */
  readonly on: Event;
  /** The payloads that it is called for. Absent: all. */
  readonly match?: HookMatch<HookPayloads[Event]>;
  /** Its place among hooks of the same event: lower ones are called first. */
  readonly priority: number;
  /** Milliseconds that it may take. */
  readonly timeoutMs: number;
  /** True: a failure of the hook denies. False: it allows. */
  readonly failClosed: boolean;
  /** `remote`: it runs in a separate activity. `inline`: it runs inside another activity, for at most 10 seconds. */
  readonly tier: 'inline' | 'remote';
  /** Returns the answer. Absent for a hook with a `command`. */
  readonly run?: (payload: Readonly<HookPayloads[Event]>, context: HookContext) => HookAnswer | Promise<HookAnswer>;
  /** The program and its arguments. */
  readonly command?: readonly string[];
}

/** A hook of any event, as lists hold it. */
export type AnyHook = { [Event in HookEvent]: HookDefinition<Event> }[HookEvent];

/** A call as the hooks of tools see it. */
export interface CallPayload {
  /** The name of the tool, as the model calls it. */
  toolName: string;
  /** The id of the call. */
  callId: string;
  /** The arguments of the call, which fit the schema of the tool. */
  arguments: JsonObject;
}

/** The payload of each event. The guide lists the fields that `modify` can set. */
export interface HookPayloads {
  /** A run or session begins. */
  session_start: { instructions: string[] };
  /** The run has received messages that no model has read yet. */
  input: { text: string; messages: JsonValue[] };
  /** The run is about to end with an answer. */
  output: { text: string; output: JsonValue };
  /** A model is about to be called. */
  pre_request: { model: string; step: number; messages: number; tools: string[] };
  /** A model has answered. */
  post_response: { text: string; toolCalls: { name: string; arguments: JsonValue }[]; finishReason: string; usage: UsageStats | null };
  /** A call is about to be made: the hook may deny or change it. */
  pre_tool_use: CallPayload;
  /** A call has a result. */
  post_tool_use: CallPayload & { result: JsonValue; isError: boolean };
  /** The conversation is about to be summarized. */
  pre_compact: { events: number };
  /** The run or session is about to end, whatever the reason. Called before `session_end`. */
  stop: { status: RunStatus; stopReason: string; output: JsonValue };
  /** The run or session is about to end: the last event of a run. */
  session_end: { status: RunStatus; stopReason: string; output: JsonValue };
  /** A child is about to be started. */
  subagent_start: { agent: string; callId: string; arguments: JsonObject };
  /** A child has ended. */
  subagent_stop: { agent: string; callId: string; runId: string; status: 'success' | 'error'; result: JsonValue; isError: boolean };
  /** The run is about to be handed to another agent. */
  handoff: { from: string; agent: string; callId: string; arguments: JsonObject };
}

/** The most hooks of an agent, and of a worker: all of them are pinned for each run and its descendants. */
const MAX_HOOKS = 50;

/** The agent option for hooks. */
export interface AgentHooks {
  /** The hooks of its runs. Hooks of the worker are called first if the priority is the same. */
  hooks?: readonly AnyHook[];
}

/** The field of an agent, and of a worker, that holds hooks. */
export interface HookFields {
  /** Its hooks. Absent: none. */
  readonly hooks?: readonly AnyHook[];
}

/** The worker option for hooks. */
export interface SharedHooks {
  /** The hooks of the runs of all agents. An agent may add its own. */
  hooks?: readonly AnyHook[];
}

export const SHARED_HOOKS: OptionTable<SharedHooks> = { hooks: true };

/** Hooks as a part of an agent. */
export const hookPart: AgentPart<AgentHooks, HookFields> = {
  options: { hooks: ['list of hooks', 'none', '[hooks](hooks.md) of its runs'] },
  define: (owner, { hooks }) => (hooks === undefined ? {} : { hooks: checkHooks(owner, hooks) }),
  checkShared: ({ hooks: ofWorker = [] }, agent, { hooks = [] }) => requireOwnNames(ofWorker, agent, hooks),
};

/** The hooks that a bundle brings. */
export interface BundledHooks {
  /** Hooks that are added. */
  readonly hooks: readonly AnyHook[];
}

/** Hooks as a part of bundles. */
export const bundledHooks: BundledPart<AgentHooks, BundledHooks> = {
  options: { hooks: true },
  define: (owner, { hooks }) => ({ hooks: checkHooks(owner, hooks) }),
  merge(owner, own, bundles) {
    const named = { what: 'a hook', nameOf: ({ name }: AnyHook) => `"${name}"` };
    return defined({ hooks: mergedList(owner, own.hooks, bundles, { of: ({ hooks }) => hooks, named }) });
  },
};

/** Returns the hooks of an agent or a worker. Throws a UsageError for any other value, and for two hooks with the same name. */
function checkHooks(owner: string, hooks: unknown = []): readonly AnyHook[] {
  if (!Array.isArray(hooks)) throw new UsageError(`${owner}: "hooks" is ${JSON.stringify(hooks)}: write a list of hooks`);
  if (hooks.length > MAX_HOOKS)
    throw new UsageError(`${owner} has ${hooks.length} hooks, over ${MAX_HOOKS}: let one function do the work of several`);
  const names = new Set<string>();
  for (const hook of hooks as (Partial<AnyHook> | null | undefined)[]) {
    if (hook?.kind !== 'longhaul.hook') throw new UsageError(`${owner}: "hooks" has a value that is not a hook: make it with defineHook`);
    const { name = '' } = hook;
    if (names.has(name)) throw new UsageError(`${owner} has two hooks named "${name}": give each its own name`);
    names.add(name);
  }
  return Object.freeze([...(hooks as AnyHook[])]);
}

/** Throws a UsageError if a worker and one of its agents have hooks with the same name: records could not distinguish them. */
function requireOwnNames(ofWorker: readonly AnyHook[], agent: string, ofAgent: readonly AnyHook[]): void {
  const both = ofAgent.find(({ name }) => ofWorker.some((one) => one.name === name));
  if (both === undefined) return;
  throw new UsageError(`the worker and agent "${agent}" each have a hook named "${both.name}": give each its own name`);
}
