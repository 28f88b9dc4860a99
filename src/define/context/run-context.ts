import type { JsonObject, JsonValue } from '../../core/domain/json.ts';
import type { Principal } from '../../core/domain/run.ts';
import type { CallUsage } from '../../core/protocol.ts';
import type { ReadEvents } from './record-events.ts';
import type { ReadSecret } from './resource.ts';

/** Live objects of the worker by name (pools, clients). They never reach history. */
export type Resources = Record<string, unknown>;

/** A log whose lines carry run, step and call id. */
export interface RunLog {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** The context that a tool receives with its arguments. */
export interface RunContext<Deps = JsonObject, Needed = Resources> {
  /** The run's JSON data (user id, session, preferences). Read-only. */
  readonly deps: Readonly<Deps>;
  /** Live objects of the worker. List those that the tool needs in the type of its context: `RunContext<Deps, { pool: Pool }>`. */
  readonly resources: Needed;
  /** Reads a secret of the worker, by its name or its reference. Its value is removed from everything that the tool returns or logs. Rejects if the worker has no secret with that name. */
  readonly secret: ReadSecret;
  /** The number of attempts of this call before this one. */
  readonly retry: number;
  /** The usage of the run's model calls, up to the one that asked for this call. */
  readonly usage: CallUsage;
  /** The name of the agent. */
  readonly agent: string;
  /** Whom the run acts for, as its start has said. Read-only. */
  readonly principal: Readonly<Principal>;
  /** The user for whom the run acts: `principal.user`. */
  readonly userId: string | undefined;
  /** The session that the run belongs to: `deps.sessionId`, if deps have one. */
  readonly sessionId: string | undefined;
  readonly runId: string;
  /** 1-based. */
  readonly step: number;
  readonly callId: string;
  /**
   * The key that is the same for every attempt of this call and for no other call: pass it to every service that must not
   * act twice. It is the run id, the id of the event that holds the call, and the index of the call in that event, joined by
   * slashes. The id of the call is not part of it: models choose call ids, and may choose the same one again.
   */
  readonly idempotencyKey: string;
  /** Aborted when the run is cancelled, the call times out, or the worker shuts down. */
  readonly signal: AbortSignal;
  /** The details of the last heartbeat of the previous attempt, if that attempt did not end by itself: a long call continues from them. */
  readonly lastHeartbeat?: JsonValue;
  /** The run's state at the time of the model's response. */
  readonly state: Readonly<JsonObject>;
  readonly log: RunLog;
  /**
   * Reads events of the record of the run: the newest 20, or those that the options name, at most 200 and 500,000 bytes of JSON. It
   * asks the run, so it is no substitute for the arguments, and another attempt of the call may read more. Rejects in a local tool.
   */
  readonly events: ReadEvents;
  /**
   * Sets a key of the run's state, recorded together with the result of this call. Throws a TypeError for a value that is not
   * JSON. If the state would exceed 150,000 bytes of JSON, the call's result is an error and nothing is set.
   */
  setState(key: string, value: JsonValue): void;
  /**
   * Reports progress of a long call: it is shown with the run, and the next attempt gets it as `lastHeartbeat`. Heartbeats are
   * sent on a timer in any case. Details over 64,000 bytes of JSON are left out. A local call ignores it.
   */
  heartbeat(details?: JsonValue): void;
  /**
   * Sends data to the readers of the run at once. It is provisional: the result of the call replaces it, and it never enters history.
   * Secrets are redacted. Throws a TypeError for a name that is not a text of 1 to 100 characters, and for data that is not JSON or has
   * more than 32,000 bytes of it. Does nothing if the worker has no `streams`.
   */
  emit(name: string, data: JsonValue): void;
}
