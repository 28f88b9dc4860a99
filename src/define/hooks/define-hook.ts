import {
  AFTER_CALL_EVENTS,
  CALL_EVENTS,
  END_EVENTS,
  hasSubject,
  HOOK_EVENTS,
  type HookEvent,
  INLINE_HOOK_MS,
  isBlocking,
} from '../../core/domain/hooks.ts';
import { didYouMean } from '../../core/domain/text.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { type Duration, timerMilliseconds } from '../../core/domain/time.ts';
import { requireKnown, wholeNumber } from '../options/option-checks.ts';
import type { HookAnswer, HookContext, HookDefinition, HookMatch } from './hook-definition.ts';
import type { HookPayloads } from './hook-payload.ts';

/** The options of a hook. Exactly one of `run` and `command` is set. */
export interface HookOptions<Event extends HookEvent> {
  /** Letters, digits, `_`, `-` and `.`: records and messages name the hook by it. */
  name: string;
  /** The point of the run at which it is called. */
  on: Event;
  /** The payloads that it is called for. A text or a regular expression is compared with the name of the tool or agent. Default: all. */
  match?: HookMatch<HookPayloads[Event]>;
  /** Hooks with lower numbers are called first; equal ones in the order of registration. Default 100. */
  priority?: number;
  /** The time that it may take. Default 10 seconds; more needs `tier: 'remote'`. */
  timeout?: Duration;
  /** A failure of the hook is a deny. Only for events that a hook can deny. Default false: it allows. */
  failClosed?: boolean;
  /** `remote`: the hook runs in an activity of its own, and may take longer than 10 seconds. Not for every event. */
  tier?: 'inline' | 'remote';
  /** Returns the answer. May be called again for the same payload, if its worker was lost. */
  run?: (payload: Readonly<HookPayloads[Event]>, context: HookContext) => HookAnswer | Promise<HookAnswer>;
  /** The program and its arguments. It is started without a shell, and gets `{event, payload}` as JSON on its standard input. */
  command?: readonly string[];
}

const OPTIONS: Record<keyof HookOptions<HookEvent>, true> = {
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

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The events whose hooks may have an activity of their own. */
const REMOTE_EVENTS: readonly HookEvent[] = [...CALL_EVENTS, ...AFTER_CALL_EVENTS, ...END_EVENTS];

/**
 * Defines a hook: code or a program that is called at a named point of a run, and may deny, change or ask. Throws a
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
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new UsageError(`hook ${JSON.stringify(name) ?? 'without a name'}: use 1 to 64 letters, digits, "_", "-" or "." as "name"`);
  }
  const owner = `hook "${name}"`;
  requireKnown(owner, options, Object.keys(OPTIONS));
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
    ...(run === undefined ? {} : { run }),
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
  throw new UsageError(`${owner}: "${on}" is about no tool or agent: write a function of the payload as "match"`);
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
