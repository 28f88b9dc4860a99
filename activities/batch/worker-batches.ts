import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { agentModels } from '../../src/core/domain/agent.ts';
import { type BatchPolicy, type CallPlace, ON_EXPIRED, type OnExpired } from '../../src/core/domain/batch.ts';
import { isInstance, UsageError } from '../../src/core/domain/errors.ts';
import { type BatchClient, type ModelClient, partsOfModelName } from '../../src/core/domain/model.ts';
import { didYouMean } from '../../src/core/domain/text.ts';
import { type Duration, milliseconds } from '../../src/core/domain/time.ts';
import { COLLECTOR_QUERIES } from '../../src/core/protocol.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { type OptionTable, requireKnown, wholeNumber } from '../../src/define/option-checks.ts';
import { missingOnWorker } from '../attempts/failure.ts';

/** How a worker collects the model calls of a provider into batches. Every field is optional. */
export interface BatchOptions {
  /** The longest time that a call waits for others before its batch is submitted. Default 5 minutes. */
  window?: Duration;
  /** The maximum number of calls in a batch. Default 10,000, or the provider's maximum if it is lower. */
  most?: number;
  /** The time after which a batch is cancelled, and its open calls expire. Default 24 hours. */
  deadline?: Duration;
  /** What happens to expired calls: they are made at once, wait for another batch, or fail. Default `interactive`. */
  onExpired?: OnExpired;
  /** The batch client of the provider. Default: the one that the provider's client has, such as `openai()`. */
  client?: BatchClient;
}

const OPTIONS: OptionTable<BatchOptions> = { window: true, most: true, deadline: true, onExpired: true, client: true };

const METHODS = ['submit', 'status', 'results', 'cancel'] as const;

/** A longer batch would outlast the activity of its calls, which the server ends after a week. */
const LONGEST_DEADLINE_MS = 5 * 24 * 60 * 60 * 1_000;

const DEFAULT_MOST = 10_000;

/** The batches of one provider of a worker. */
export interface ProviderBatches {
  provider: string;
  client: BatchClient;
  policy: BatchPolicy;
}

/** The batches of a worker, by provider. */
export class WorkerBatches {
  readonly questions = new CollectorQuestions();
  readonly #providers = new Map<string, ProviderBatches>();
  /** The collectors that had room last, by provider. */
  readonly #collectors = new Map<string, number>();

  /** Throws a UsageError for an invalid option. */
  constructor(options: Readonly<Record<string, BatchOptions>>, providers: Readonly<Record<string, ModelClient>>) {
    if (typeof options !== 'object' || options === null || Array.isArray(options))
      throw new UsageError(`the worker: "batch" is ${JSON.stringify(options)}: write { openai: { window: "5m" } }`);
    for (const [provider, given] of Object.entries(options)) this.#providers.set(provider, checkedBatches(provider, given, providers));
  }

  /** Throws a UsageError for an agent whose tier this worker cannot serve. */
  requireFor(agents: readonly AnyAgent[]): void {
    for (const agent of agents) {
      if (agent.tier !== 'batch') continue;
      const [model = agent.model] = agentModels(agent);
      const problem = this.problem(model);
      if (problem !== undefined) throw new UsageError(`agent "${agent.name}" has the tier "batch": ${problem}`);
    }
  }

  /** Returns why calls of a model cannot be batched; undefined if they can. */
  problem(model: string): string | undefined {
    const provider = partsOfModelName(model).provider;
    if (this.#providers.has(provider)) return undefined;
    return `the worker has no batches of the provider "${provider}" (it has: ${this.#names()}): add batch: { ${JSON.stringify(provider)}: { window: "5m" } }`;
  }

  /** Returns the batches of the provider of a model. Throws `unknown_provider` if this worker has none: another worker may. */
  of(model: string): ProviderBatches {
    const provider = partsOfModelName(model).provider;
    const found = this.#providers.get(provider);
    if (found !== undefined) return found;
    const known = [...this.#providers.keys()];
    throw missingOnWorker('unknown_provider', `No batches of provider "${provider}" in this worker`, {
      kind: 'provider',
      name: provider,
      known,
    });
  }

  /** Returns the policy of a provider; undefined if this worker has no batches of it. */
  policyOf(provider: string): BatchPolicy | undefined {
    return this.#providers.get(provider)?.policy;
  }

  /** The number of the collector that calls of a provider register with. */
  collectorOf(provider: string): number {
    return this.#collectors.get(provider) ?? 0;
  }

  /** Notes that a collector takes no more calls. Returns the number of the next one. */
  isFull(provider: string, collector: number): number {
    const next = Math.max(this.collectorOf(provider), collector + 1);
    this.#collectors.set(provider, next);
    return next;
  }

  #names(): string {
    return [...this.#providers.keys()].map((name) => `"${name}"`).join(', ') || 'none';
  }
}

function checkedBatches(provider: string, given: BatchOptions, providers: Readonly<Record<string, ModelClient>>): ProviderBatches {
  const owner = `the worker: "batch.${provider}"`;
  if (!Object.hasOwn(providers, provider)) {
    const known = Object.keys(providers);
    const names = known.map((name) => `"${name}"`).join(', ') || 'none';
    throw new UsageError(`${owner}: the worker has no provider "${provider}" (it has: ${names})${didYouMean(provider, known)}`);
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new UsageError(`${owner} is ${JSON.stringify(given)}: write { window: "5m" }, or {} for the defaults`);
  requireKnown(owner, given, OPTIONS);
  const { window = '5m', most, deadline = '24h', onExpired = 'interactive' } = given;
  const client = checkedClient(owner, provider, given.client ?? providers[provider]?.batches);
  const windowMs = milliseconds(window, `${owner}: "window"`);
  const deadlineMs = milliseconds(deadline, `${owner}: "deadline"`, { most: LONGEST_DEADLINE_MS });
  if (deadlineMs < windowMs)
    throw new UsageError(`${owner}: "deadline" is shorter than "window": a batch would expire before it is submitted. Write a longer one`);
  if (!ON_EXPIRED.includes(onExpired))
    throw new UsageError(`${owner}: "onExpired" is ${JSON.stringify(onExpired)}: write "interactive", "retry" or "fail"`);
  const { items, bytes } = client.limits;
  if (most !== undefined && wholeNumber(`${owner}: "most"`, most, 1) > items)
    throw new UsageError(`${owner}: "most" is ${most}: the provider takes at most ${items} calls in a batch`);
  return {
    provider,
    client,
    policy: { windowMs, most: most ?? Math.min(DEFAULT_MOST, items), mostBytes: bytes, deadlineMs, onExpired },
  };
}

function checkedClient(owner: string, provider: string, client: BatchClient | undefined): BatchClient {
  if (client === undefined) {
    throw new UsageError(
      `${owner}: the client of provider "${provider}" has no batches: give "client", such as openaiBatch(), anthropicBatch(…) or aiSdkBatch(…)`,
    );
  }
  const missing = METHODS.find((name) => typeof (client as Partial<BatchClient> | null)?.[name] !== 'function');
  if (missing === undefined) return client;
  throw new UsageError(`${owner}: "client" has no "${missing}": write openaiBatch(), or an object with ${METHODS.join(', ')} and "limits"`);
}

/** The time that a query waits for further calls, in milliseconds. Calls that were parked together come back together. */
const GATHER_MS = 100;

/** The time limit for a collector's answer, in milliseconds. A call that waits for two answers sends no heartbeats meanwhile. */
const ANSWER_MS = 3_000;

/** The maximum number of calls in one query. */
const MOST_KEYS = 2_000;

/** A collector's answer about a call. `gone`: no such collector runs; `silent`: it does not answer now. */
export type Found = CallPlace | 'gone' | 'silent';

/** The pending queries of a worker's calls to one collector. */
interface Questions {
  waiting: Map<string, ((found: Found) => void)[]>;
  isAsking: boolean;
}

/**
 * Asks collectors where calls are. A worker sends each collector one query at a time, for all calls that ask in the meantime: the server
 * buffers very few queries of one workflow, and refuses the others.
 */
export class CollectorQuestions {
  readonly #collectors = new Map<string, Questions>();

  /** Returns the place of a call. Rejects only with the signal's reason. */
  async placeOf(client: Client, workflowId: string, key: string, signal: AbortSignal): Promise<Found> {
    signal.throwIfAborted();
    const questions = this.#collectors.get(workflowId) ?? { waiting: new Map(), isAsking: false };
    this.#collectors.set(workflowId, questions);
    const { promise, resolve, reject } = Promise.withResolvers<Found>();
    const giveUp = (): void => reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    // An earlier attempt, which the server has abandoned, may still wait.
    questions.waiting.set(key, [...(questions.waiting.get(key) ?? []), resolve]);
    if (!questions.isAsking) void this.#ask(client, workflowId, questions);
    return promise.finally(() => signal.removeEventListener('abort', giveUp));
  }

  async #ask(client: Client, workflowId: string, questions: Questions): Promise<void> {
    questions.isAsking = true;
    while (questions.waiting.size > 0) {
      await sleep(GATHER_MS);
      const asked = [...questions.waiting].slice(0, MOST_KEYS);
      for (const [key] of asked) questions.waiting.delete(key);
      const found = await placesOf(
        client,
        workflowId,
        asked.map(([key]) => key),
      );
      for (const [index, [, settle]] of asked.entries()) {
        const place = typeof found === 'string' ? found : (found[index] ?? 'silent');
        for (const resolve of settle) resolve(place);
      }
    }
    questions.isAsking = false;
    this.#collectors.delete(workflowId);
  }
}

async function placesOf(client: Client, workflowId: string, keys: string[]): Promise<CallPlace[] | 'gone' | 'silent'> {
  try {
    const handle = client.workflow.getHandle(workflowId);
    return await client.withDeadline(Date.now() + ANSWER_MS, async () => {
      // A worker would also answer for a closed workflow.
      const { closeTime } = await handle.describe();
      return closeTime === undefined ? handle.query<CallPlace[], [string[]]>(COLLECTOR_QUERIES.calls, keys) : 'gone';
    });
  } catch (error) {
    return isInstance(error, WorkflowNotFoundError) ? 'gone' : 'silent';
  }
}
