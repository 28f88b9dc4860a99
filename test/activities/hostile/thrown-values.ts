import { CompleteAsyncError } from '@temporalio/activity';
import {
  ApplicationFailure,
  type ApplicationFailureOptions,
  CancelledFailure,
  TemporalFailure,
  TerminatedFailure,
  TimeoutFailure,
} from '@temporalio/common';
import vm from 'node:vm';

/** A size in bytes that is far too large. */
const HUGE = 10_000_000;
const DEEP = 10_000;

function refuse(): never {
  throw new Error('this trap always throws');
}

function cyclic(): object {
  const cycle: { self?: object } = {};
  cycle.self = cycle;
  return cycle;
}

function deep(): object {
  let value: object = {};
  for (let depth = 0; depth < DEEP; depth += 1) value = { value };
  return value;
}

function causes(): Error {
  let error = new Error('the innermost cause');
  for (let depth = 0; depth < DEEP; depth += 1) error = new Error(`cause ${depth}`, { cause: error });
  return error;
}

function selfCaused<Caused extends Error>(error: Caused): Caused {
  return Object.assign(error, { cause: error });
}

/** An object with unreadable members. */
function sealed(target: object): object {
  const traps = { get: refuse, has: refuse, getPrototypeOf: refuse, ownKeys: refuse, getOwnPropertyDescriptor: refuse, set: refuse };
  return new Proxy(target, traps);
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable(new Error('gone'), {});
  revoke();
  return proxy;
}

/** Gives `target` members that throw when they are read. */
function withThrowing<Target extends object>(target: Target, ...names: string[]): Target {
  for (const name of names) Object.defineProperty(target, name, { get: refuse, configurable: true });
  return target;
}

/** A failure with invalid fields, such as a caller in JavaScript can make. */
function application(parts: Record<string, unknown>): ApplicationFailure {
  return Object.assign(ApplicationFailure.create({ message: 'mine', type: 'Mine' } satisfies ApplicationFailureOptions), parts);
}

function rejected(): Promise<never> {
  const promise = Promise.reject(new Error('inside'));
  promise.catch(() => undefined);
  return promise;
}

const MESSAGE_PARTS = ['message', 'name', 'stack', 'code', 'kind', 'cause', 'retryAfterMs'];

/** The values that hooks throw, by their description. Each value is made for each use, because some can be used only once. */
export const THROWN: readonly [what: string, make: () => unknown][] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['a number', () => 7],
  ['a text', () => 'a text'],
  ['a symbol', () => Symbol('a symbol')],
  ['a BigInt', () => 7n],
  ['a function', () => () => undefined],
  ['a plain object', () => ({ reason: 'plain' })],
  ['an object without a prototype', () => Object.create(null) as object],
  ['a cycle', cyclic],
  ['a deep object', deep],
  ['a deep list', () => JSON.parse(`${'['.repeat(DEEP)}${']'.repeat(DEEP)}`) as unknown],
  ['a text of 10 MB', () => 'x'.repeat(HUGE)],
  ['an error of 10 MB', () => Object.assign(new Error('é'.repeat(HUGE)), { stack: 's'.repeat(HUGE) })],
  ['a proxy that refuses everything', () => sealed({})],
  ['a proxy of an error that refuses everything', () => sealed(new Error('hidden'))],
  ['a revoked proxy', revoked],
  ['an object with members that throw', () => withThrowing({}, ...MESSAGE_PARTS)],
  ['an error with members that throw', () => withThrowing(new Error('hidden'), ...MESSAGE_PARTS)],
  ['an object that throws as text', () => ({ toString: refuse, toJSON: refuse, [Symbol.toPrimitive]: refuse })],
  ['a frozen error', () => Object.freeze(new Error('frozen'))],
  ['an error that is its own cause', () => selfCaused(new Error('its own'))],
  ['an error with 10,000 causes', causes],
  ['an error with an unreadable cause', () => new Error('outer', { cause: sealed(new Error('hidden')) })],
  ['an aggregate', () => new AggregateError([new Error('one'), sealed({})], 'many')],
  ['lone surrogates', () => Object.assign(new Error('\uD800 and \uDFFF'), { stack: 'at \uD800' })],
  [
    'an error with a message and a stack that are not strings',
    () => Object.assign(new Error('was'), { message: { a: 1 }, stack: 7n, name: 5 }),
  ],
  ['an error with a code that is not text', () => Object.assign(new Error('coded'), { code: 7n })],
  ['an error with a code of the table', () => Object.assign(new Error('coded'), { code: 'model_rate_limited', retryAfterMs: NaN })],
  ['an abort', () => new DOMException('aborted', 'AbortError')],
  ['an abort with a cycle', () => selfCaused(Object.assign(new Error('aborted'), { name: 'AbortError', stack: 7n }))],
  ['an error of another realm', () => vm.runInNewContext('new TypeError("from elsewhere")') as unknown],
  ['an instance of a class of another realm', () => vm.runInNewContext('new (class Odd { get message() { throw this } })()') as unknown],
  ['a rejected promise', rejected],
  // oxlint-disable-next-line unicorn/no-thenable -- A hook may throw one.
  ['a thenable', () => ({ then: refuse })],
  ['a promise to complete the activity elsewhere', () => new CompleteAsyncError()],
  ['a failure', () => application({})],
  ['a failure without a type', () => ApplicationFailure.create({ message: 'untyped' })],
  ['a failure with a BigInt', () => application({ details: [7n] })],
  ['a failure with a cycle', () => application({ details: [cyclic()] })],
  ['a failure with a symbol and a function', () => application({ details: [Symbol('s'), () => undefined, undefined] })],
  ['a failure with a refusing detail', () => application({ details: [sealed({}), { toJSON: refuse }] })],
  ['a failure with 10 MB of details', () => application({ details: ['x'.repeat(HUGE)] })],
  ['a failure with deep details', () => application({ details: [deep()] })],
  ['a failure with details that are not a list', () => application({ details: { length: 3 } })],
  ['a failure with a proxy as its details', () => application({ details: sealed([1]) })],
  ['a failure with a sparse list', () => application({ details: Array.from({ length: 100_000 }, () => 1) })],
  ['a failure that waits NaN', () => application({ nextRetryDelay: NaN })],
  ['a failure that waits forever', () => application({ nextRetryDelay: Infinity })],
  ['a failure that waits -5', () => application({ nextRetryDelay: -5 })],
  ['a failure that waits 1e300', () => application({ nextRetryDelay: 1e300 })],
  ['a failure that waits a date', () => application({ nextRetryDelay: new Date() })],
  ['a failure that waits a text', () => application({ nextRetryDelay: 'soon' })],
  ['a failure that waits a fraction', () => application({ nextRetryDelay: 0.123456789 })],
  ['a failure with a type that is not text', () => application({ type: 7n })],
  ['a failure with a type of 10 MB', () => application({ type: 'T\uD800'.repeat(HUGE / 2) })],
  ['a failure with an unknown category', () => application({ category: 'ODD' })],
  ['a failure that is its own cause', () => selfCaused(application({}))],
  ['a failure with 10,000 causes', () => application({ cause: causes() })],
  ['a failure with a message that is not text', () => application({ message: 7n, stack: {} })],
  [
    'a failure with members that throw',
    () => withThrowing(application({}), 'message', 'stack', 'type', 'details', 'nextRetryDelay', 'cause'),
  ],
  ['a failure that says how it is encoded', () => application({ failure: { message: 7n, cause: cyclic() } })],
  ['a timeout', () => new TimeoutFailure('late', 7n, 'HEARTBEAT')],
  ['a termination', () => new TerminatedFailure('ended')],
  ['a bare failure of Temporal', () => new TemporalFailure('bare', sealed(new Error()) as Error)],
  ['a cancellation', () => new CancelledFailure('cancelled')],
  ['a cancellation with a BigInt', () => new CancelledFailure('cancelled', [7n, cyclic()])],
  ['a cancellation that is its own cause', () => selfCaused(new CancelledFailure('cancelled \uD800'))],
];
