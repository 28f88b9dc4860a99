import { type Duration, timerMilliseconds } from '../core/domain/run/duration.ts';
import { UsageError } from '../core/domain/errors/error.ts';
import type { SecretReference } from '../core/domain/agent/secret-reference.ts';
import { requireKnown } from './options/option-checks.ts';

/** Reads a secret of the worker, by its name or its reference. Rejects where the worker has none of that name. */
export type ReadSecret = (secret: string | SecretReference) => Promise<string>;

/** What opening a resource has to hand. */
export interface OpenContext {
  readonly secret: ReadSecret;
  /** Aborted when opening takes too long, or the worker closes what it has. */
  readonly signal: AbortSignal;
}

/** How a live object of a worker comes, is looked after, and goes. */
export interface ResourceOptions<Value> {
  /** Called once per worker, and again where the resource is unhealthy. What it throws keeps the worker from starting, or fails the tool. */
  open: (context: OpenContext) => Value | Promise<Value>;
  /** Called when the worker has drained, and before an unhealthy resource is opened again. What it throws is logged. */
  close?: (value: Value) => unknown;
  /** Called before a use, where the last check is older than `healthEvery`. Unhealthy is what throws or says `false`. */
  health?: (value: Value) => unknown;
  /** Opened when the first tool needs it that names it, not when the worker starts. Default false. */
  lazy?: boolean;
  /** How long one check of `health` holds. Default 30 seconds. */
  healthEvery?: Duration;
  /** How long each of `open`, `health` and `close` may take. Default 30 seconds. */
  timeout?: Duration;
}

/** A resource as `resource` returns it: checked. */
export interface ResourceDefinition<Value = unknown> {
  readonly kind: 'longhaul.resource';
  readonly open: (context: OpenContext) => Value | Promise<Value>;
  readonly close?: (value: Value) => unknown;
  readonly health?: (value: Value) => unknown;
  readonly lazy: boolean;
  readonly healthEveryMs: number;
  readonly timeoutMs: number;
}

const OPTIONS = ['open', 'close', 'health', 'lazy', 'healthEvery', 'timeout'];

/**
 * A live object (a pool, a client, a browser) that a worker opens, looks after and closes, for its option `resources`.
 * Throws a UsageError for options that are none.
 */
export function resource<Value>(options: ResourceOptions<Value>): ResourceDefinition<Value> {
  requireKnown('a resource', options, OPTIONS);
  const { open, close, health, lazy = false, healthEvery = '30s', timeout = '30s' } = options;
  requireFunction('open', open);
  if (close !== undefined) requireFunction('close', close);
  if (health !== undefined) requireFunction('health', health);
  if (typeof lazy !== 'boolean') throw new UsageError(`a resource: "lazy" is ${JSON.stringify(lazy)}: write true or false`);
  return Object.freeze({
    kind: 'longhaul.resource',
    open,
    ...(close === undefined ? {} : { close }),
    ...(health === undefined ? {} : { health }),
    lazy,
    healthEveryMs: timerMilliseconds(healthEvery, 'a resource: "healthEvery"'),
    timeoutMs: timerMilliseconds(timeout, 'a resource: "timeout"'),
  });
}

/** True for what `resource` returned, of whatever copy of this package. */
export function isResource(value: unknown): value is ResourceDefinition {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'longhaul.resource';
}

function requireFunction(name: string, given: unknown): void {
  if (typeof given !== 'function') throw new UsageError(`a resource: "${name}" is ${JSON.stringify(given)}: write a function`);
}
