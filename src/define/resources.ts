import type { SecretReference } from '../core/domain/deps.ts';
import { UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { type Duration, timerMilliseconds } from '../core/domain/time.ts';
import { type OptionTable, requireKnown } from './option-checks.ts';

/** Reads a secret of the worker, by its name or its reference. Rejects if the worker has no secret with that name. */
export type ReadSecret = (secret: string | SecretReference) => Promise<string>;

/** The context that `open` receives. */
export interface OpenContext {
  /** Reads a secret of the worker, by its name or its reference. Rejects if the worker has no secret with that name. */
  readonly secret: ReadSecret;
  /** Aborted when opening takes too long, or the worker closes its resources. */
  readonly signal: AbortSignal;
}

/** The options of a live object: the functions that open, check and close it. */
export interface ResourceOptions<Value> {
  /** Called once per worker, and again if the resource is unhealthy. If it throws, the worker does not start, or the tool fails. */
  open: (context: OpenContext) => Value | Promise<Value>;
  /** Called when the worker has drained, and before an unhealthy resource is opened again. An error that it throws is logged. */
  close?: (value: Value) => unknown;
  /** Called before a use if the last check is older than `healthEvery`. The resource is unhealthy if it throws or returns `false`. */
  health?: (value: Value) => unknown;
  /** True to open it when a tool first needs it, not when the worker starts. Default false. */
  lazy?: boolean;
  /** How long a check of `health` is valid. Default 30 seconds. */
  healthEvery?: Duration;
  /** The time limit of each of `open`, `health` and `close`. Default 30 seconds. */
  timeout?: Duration;
}

/** A resource as `resource` returns it: checked. */
export interface ResourceDefinition<Value = unknown> {
  /** Distinguishes it from other definitions. */
  readonly kind: 'longhaul.resource';
  /** Opens it: once per worker, and again if it is unhealthy. */
  readonly open: (context: OpenContext) => Value | Promise<Value>;
  /** Closes it when the worker has drained, and before an unhealthy one is opened again. */
  readonly close?: (value: Value) => unknown;
  /** Throws or returns `false` if it cannot be used. Absent: it is not checked. */
  readonly health?: (value: Value) => unknown;
  /** True: opened when a tool first needs it. False: opened when the worker starts. */
  readonly lazy: boolean;
  /** How many milliseconds a check of `health` is valid. */
  readonly healthEveryMs: number;
  /** Milliseconds that each of `open`, `health` and `close` may take. */
  readonly timeoutMs: number;
}

const RESOURCE_OPTIONS: OptionTable<ResourceOptions<unknown>> = {
  open: true,
  close: true,
  health: true,
  lazy: true,
  healthEvery: true,
  timeout: true,
};

/**
 * Defines a live object (a pool, a client, a browser) that a worker opens, checks and closes, for the worker option `resources`.
 * Throws a UsageError for unknown or invalid options.
 */
export function resource<Value>(options: ResourceOptions<Value>): ResourceDefinition<Value> {
  requireKnown('a resource', options, RESOURCE_OPTIONS);
  const { open, close, health, lazy = false, healthEvery = '30s', timeout = '30s' } = options;
  requireFunction('open', open);
  if (close !== undefined) requireFunction('close', close);
  if (health !== undefined) requireFunction('health', health);
  if (typeof lazy !== 'boolean') throw new UsageError(`a resource: "lazy" is ${JSON.stringify(lazy)}: write true or false`);
  return Object.freeze({
    kind: 'longhaul.resource',
    open,
    ...defined({ close, health }),
    lazy,
    healthEveryMs: timerMilliseconds(healthEvery, 'a resource: "healthEvery"'),
    timeoutMs: timerMilliseconds(timeout, 'a resource: "timeout"'),
  });
}

/** True for a value that `resource` returned, of any copy of this package. */
export function isResource(value: unknown): value is ResourceDefinition {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'longhaul.resource';
}

function requireFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw new UsageError(`a resource: "${name}" is ${JSON.stringify(value)}: write a function`);
}

/** The options of `secret`. */
export interface SecretOptions {
  /** Prepended to the value when it is read: `Bearer ` turns a token into a header. */
  prefix?: string;
}

/** One or more parts of letters, digits, `-`, `_` and `.`, separated by slashes. */
const SECRET_NAME = /^[a-zA-Z0-9._-]+(?:\/[a-zA-Z0-9._-]+)*$/;

const MAX_SECRET_NAME_LENGTH = 100;

/**
 * Returns a reference to a secret by its name. The worker reads the value from its `secrets` when it is needed: a tool reads
 * it with `await context.secret(crmToken)`. The name enters the history and messages, the value never does. Throws a
 * UsageError for a name that is not 1 to 100 letters, digits, `-`, `_`, `.` and `/`, or that could leave a folder as a path:
 * with `..`, or with a slash at either end.
 *
 * @example
 * const crmToken = secret('crm-token', { prefix: 'Bearer ' });
 */
export function secret(name: string, options: SecretOptions = {}): SecretReference {
  if (typeof name !== 'string' || name === '') throw new UsageError('a secret has no name: write secret("crm-token")');
  if (!isSecretName(name)) {
    throw new UsageError(
      `secret ${JSON.stringify(name.slice(0, MAX_SECRET_NAME_LENGTH))}: this is not a valid name of a secret: use at most ${MAX_SECRET_NAME_LENGTH} letters, digits, "-", "_", "." and "/", no part of which is "." or ".."`,
    );
  }
  requireKnown(`secret "${name}"`, options, { prefix: true });
  const { prefix } = options;
  if (prefix === undefined) return Object.freeze({ kind: 'longhaul.secret', name });
  if (typeof prefix !== 'string') throw new UsageError(`secret "${name}": "prefix" is ${JSON.stringify(prefix)}: write a text`);
  return Object.freeze({ kind: 'longhaul.secret', name, prefix });
}

function isSecretName(name: string): boolean {
  return name.length <= MAX_SECRET_NAME_LENGTH && SECRET_NAME.test(name) && !name.split('/').some((part) => part === '.' || part === '..');
}
