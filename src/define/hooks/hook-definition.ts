import type { HookEvent } from '../../core/domain/hooks.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import type { Principal } from '../../core/domain/run.ts';
import type { ReadEvents } from '../context/record-events.ts';
import type { Resources } from '../context/run-context.ts';
import type { HookPayloads } from './hook-payload.ts';

/**
 * The answer of a hook. Nothing is an allow. `modify` sets fields of the payload, `inject` is text that the model reads, `ask`
 * lets the call wait for a decision, and `error` says that the hook failed.
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
  readonly runId: string;
  /** The name of the agent. */
  readonly agent: string;
  /** Returns the run's JSON data. Read-only. */
  readonly deps: () => Promise<Readonly<JsonObject>>;
  /** Returns whom the run acts for. Read-only. */
  readonly principal: () => Promise<Readonly<Principal>>;
  /** Reads events of the record of the run: the newest 20, or those that the options name. Rejects in hooks of local calls. */
  readonly events: ReadEvents;
  /** Returns the live objects of the worker. */
  readonly resources: () => Promise<Resources>;
  /** Aborted when the time of the hook is up, or its run is cancelled. */
  readonly signal: AbortSignal;
}

/** Selects payloads: by the exact name of the tool or agent, by a regular expression over it, or by a function of the payload. */
export type HookMatch<Payload = never> = string | RegExp | ((payload: Readonly<Payload>) => boolean | Promise<boolean>);

/** A hook as `defineHook` returns it. */
export interface HookDefinition<Event extends HookEvent = HookEvent> {
  readonly kind: 'longhaul.hook';
  readonly name: string;
  readonly on: Event;
  readonly match?: HookMatch<HookPayloads[Event]>;
  readonly priority: number;
  readonly timeoutMs: number;
  readonly failClosed: boolean;
  readonly tier: 'inline' | 'remote';
  readonly run?: (payload: Readonly<HookPayloads[Event]>, context: HookContext) => HookAnswer | Promise<HookAnswer>;
  /** The program and its arguments. */
  readonly command?: readonly string[];
}

/** A hook of any event, as lists hold it. */
export type AnyHook = { [Event in HookEvent]: HookDefinition<Event> }[HookEvent];
