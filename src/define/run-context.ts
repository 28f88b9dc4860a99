import type { JsonObject, JsonValue } from '../core/domain/json/json.ts';
import type { CallUsage } from '../core/protocol.ts';
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

/** What a tool receives beside its arguments. */
export interface RunContext<Deps = JsonObject, Needed = Resources> {
  /** The run's JSON data (user id, session, preferences). Read-only. */
  readonly deps: Readonly<Deps>;
  /** Live objects of the worker. Name those that the tool needs in the type of its context: `RunContext<Deps, { pool: Pool }>`. */
  readonly resources: Needed;
  /** Reads a secret of the worker, by its name or its reference. Whatever the tool hands on is cleared of its value. Rejects where the worker has none of that name. */
  readonly secret: ReadSecret;
  /** How many attempts of this call came before this one. */
  readonly retry: number;
  /** What the model calls of the run have used, up to the one that asked for this call. */
  readonly usage: CallUsage;
  /** The name of the agent. */
  readonly agent: string;
  /** For whom the run acts: `deps.userId`, where deps have one. */
  readonly userId: string | undefined;
  /** The session that the run belongs to: `deps.sessionId`, where deps have one. */
  readonly sessionId: string | undefined;
  readonly runId: string;
  /** 1-based. */
  readonly step: number;
  readonly callId: string;
  /**
   * The same for every attempt of this call and for no other call: hand it to whatever must not act twice. It is the
   * run id, the id of the event that holds the call, and the place of the call in it, with slashes between. The id of
   * the call is not in it: models choose those, and may choose one again.
   */
  readonly idempotencyKey: string;
  /** Aborted when the run is cancelled, the call times out, or the worker shuts down. */
  readonly signal: AbortSignal;
  /** The details of the last heartbeat of the attempt before, where that has not ended by itself: what a long call goes on from. */
  readonly lastHeartbeat?: JsonValue;
  /** The run's state as the model's response found it. */
  readonly state: Readonly<JsonObject>;
  readonly log: RunLog;
  /**
   * Sets a key of the run's state, recorded together with the result of this call. Throws a TypeError for what is not
   * JSON. Where the state would be over 150,000 bytes of JSON, the call's result is an error and nothing is set.
   */
  setState(key: string, value: JsonValue): void;
  /**
   * Reports progress of a long call: who looks at the run sees it, and the next attempt finds it as `lastHeartbeat`.
   * Heartbeats are sent on a timer in any case. Details over 64,000 bytes of JSON are left out. Nothing in a local call.
   */
  heartbeat(details?: JsonValue): void;
}
