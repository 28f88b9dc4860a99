import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { errorMessage, UsageError } from '../core/domain/errors.ts';
import { installedSdk } from './installed-sdk.ts';
import { GRPC } from './server-calls.ts';
import { patienceMs } from './waiting.ts';

/**
 * The address and namespace of a Temporal server. Unset fields come from the environment and the CLI's TOML profile.
 */
export interface ServerAddress {
  /** `host:port`. */
  address?: string;
  /** The namespace. Default: the profile's, or `default`. */
  namespace?: string;
}

/** Connection options for both client and worker. */
export type ServerConnectOptions = ReturnType<typeof loadClientConnectConfig>['connectionOptions'] & { address: string };

/**
 * Resolves the server to connect to: the caller's options take precedence over `TEMPORAL_*` variables, which take
 * precedence over the profile.
 */
export function resolveServer(chosen: ServerAddress = {}): { connection: ServerConnectOptions; namespace: string } {
  const config = loadClientConnectConfig();
  const address = chosen.address ?? config.connectionOptions.address ?? 'localhost:7233';
  return {
    connection: { ...config.connectionOptions, address },
    namespace: chosen.namespace ?? config.namespace ?? 'default',
  };
}

/** An interceptor that retries calls on a connection, as a Temporal Connection takes it. */
type Interceptor = ReturnType<typeof makeGrpcRetryInterceptor>;

const retryOptions = defaultGrpcRetryOptions();

/** Refusals that the sender of a call retries itself, by method. */
const LEFT_TO_SENDERS: readonly [method: string, codes: ReadonlySet<number>][] = [
  // All Updates to a run must slow down under load, and the SDK knows only one of them.
  ['/UpdateWorkflowExecution', new Set([GRPC.resourceExhausted, GRPC.unavailable])],
  // The server refuses a second query of a run during a workflow task. That takes milliseconds, and the SDK would wait for seconds.
  ['/QueryWorkflow', new Set([GRPC.resourceExhausted])],
];

const ofSenders = LEFT_TO_SENDERS.map(([method, codes]) => {
  const retryableDecider: typeof retryOptions.retryableDecider = (attempt, status) =>
    !codes.has(status.code) && retryOptions.retryableDecider(attempt, status);
  return { method, retryableDecider, retry: makeGrpcRetryInterceptor({ ...retryOptions, retryableDecider }) };
});

/**
 * Retries calls on a connection as the SDK does, except those whose senders do so: Updates that the server rejects under load, and queries
 * while another one is in progress. Every call has a deadline, and ends if the connection is closed before its next attempt.
 */
export const CALL_RETRY: Interceptor[] = [
  (call, next) => {
    const own = ofSenders.find(({ method }) => call.method_definition.path.endsWith(method));
    const ms = patienceMs();
    const timed = withCallTimeout(call);
    const decider = own?.retryableDecider ?? alsoAfterTimeouts(timed.deadline);
    const retry =
      ms === undefined ? (own?.retry ?? makeGrpcRetryInterceptor({ ...retryOptions, retryableDecider: decider })) : retryFor(ms, decider);
    return retry(timed, retriesUntilClosed(next));
  },
];

/**
 * Returns when a call is made again: also if a part of the server gave up waiting for another one, which a loaded server does long before
 * the time limit of the call.
 */
function alsoAfterTimeouts(deadline: number | Date): typeof retryOptions.retryableDecider {
  return (attempt, status) =>
    status.code === GRPC.deadlineExceeded
      ? Date.now() + LEAST_LEFT_MS < Number(deadline) && attempt < MOST_TIMEOUTS
      : retryOptions.retryableDecider(attempt, status);
}

/** The least time in which another attempt can be answered, in milliseconds. */
const LEAST_LEFT_MS = 1_000;

/** The most attempts at a call that parts of the server gave up. */
const MOST_TIMEOUTS = 5;

/** Returns an interceptor for one call, whose last attempt is at most this many milliseconds after now. */
function retryFor(ms: number, retryableDecider: typeof retryOptions.retryableDecider): Interceptor {
  const until = Date.now() + ms;
  return makeGrpcRetryInterceptor({
    delayFunction: (attempt, status) => Math.min(retryOptions.delayFunction(attempt, status), Math.max(0, until - Date.now())),
    retryableDecider: (attempt, status) => Date.now() < until && retryableDecider(attempt, status),
  });
}

/**
 * The time limit of one call to the server, with its retries, in milliseconds. It applies if the caller sets no
 * deadline.
 */
const USUAL_MS = 30_000;

/**
 * Methods that the server itself holds open for up to 20 s; clients call them again and again while they wait for a
 * run.
 */
const LONG_POLLS = ['/GetWorkflowExecutionHistory', '/UpdateWorkflowExecution', '/PollWorkflowExecutionUpdate'];
const LONG_POLL_MS = 60_000;

/** The parts of a call that decide its time limit. */
interface BoundedCall {
  method_definition: { path: string };
  deadline?: number | Date;
}

/** Returns the call with a deadline: without one, gRPC would wait indefinitely for a server behind a broken network. */
export function withCallTimeout<Call extends BoundedCall>(call: Call): Call & { deadline: number | Date } {
  const isLongPoll = LONG_POLLS.some((method) => call.method_definition.path.endsWith(method));
  return { ...call, deadline: call.deadline ?? Date.now() + (isLongPoll ? LONG_POLL_MS : (patienceMs() ?? USUAL_MS)) };
}

type NextCall = Parameters<ReturnType<typeof makeGrpcRetryInterceptor>>[1];
type GrpcCall = ReturnType<NextCall>;

/**
 * Returns how to make the attempts of a call. Further attempts are started by a timer of the SDK: on a connection that was closed
 * meanwhile, they would throw there and end the process. They are cancelled instead.
 */
function retriesUntilClosed(next: NextCall): NextCall {
  let attempts = 0;
  return (options) => {
    attempts += 1;
    if (attempts === 1) return next(options);
    try {
      return next(options);
    } catch (error) {
      return cancelled(errorMessage(error));
    }
  };
}

/** Returns an attempt that ends as cancelled when it is started, with the text of the error. */
function cancelled(details: string): GrpcCall {
  const ignore = (): void => undefined;
  return {
    start: (metadata, listener) => queueMicrotask(() => listener?.onReceiveStatus?.({ code: GRPC.cancelled, details, metadata })),
    sendMessage: ignore,
    sendMessageWithContext: ignore,
    startRead: ignore,
    halfClose: ignore,
    cancelWithStatus: ignore,
    getPeer: () => 'unknown',
    getAuthContext: () => null,
  };
}

/** The oldest supported version of Temporal's SDK, as in `peerDependencies` of the package. */
export const OLDEST_SDK = '1.24.0';

let isChecked = false;

/**
 * Throws a UsageError that names the versions found if they are not one version of Temporal's SDK, or one that is too old.
 * They are looked up until they are valid, so usually once per process.
 */
export function requireSdk(): void {
  if (isChecked) return;
  const problem = sdkProblem(installedSdk());
  if (problem !== undefined) throw new UsageError(`longhaul cannot run here: ${problem}`);
  isChecked = true;
}

/**
 * Returns the problem with the versions of the SDK's packages, or undefined. Each package of the SDK depends on
 * the others at exactly its own version: two versions in one project each bring copies of what they share, and an
 * object made by one of them is foreign to the other.
 */
export function sdkProblem(versions: Readonly<Record<string, string>>): string | undefined {
  const found = new Set(Object.values(versions));
  if (found.size > 1) {
    return `the packages of Temporal's SDK have different versions (${listOf(versions)}): install all of them at one version`;
  }
  const [version] = found;
  if (version === undefined || isNewEnough(version)) return undefined;
  return `Temporal's SDK is at ${version}, and ${OLDEST_SDK} or newer of 1.x is needed: install "@temporalio/*" at such a version`;
}

function listOf(versions: Readonly<Record<string, string>>): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}

function isNewEnough(version: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor = 0] = OLDEST_SDK.split('.').map(Number);
  return major === oldestMajor && minor !== undefined && minor >= oldestMinor;
}
