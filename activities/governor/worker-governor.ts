import { partsOfModelName } from '../../src/core/domain/model.ts';
import { createHash } from 'node:crypto';
import { UsageError } from '../../src/core/domain/errors.ts';
import { type Governor, memoryGovernor, type OpenGovernor } from '../../src/governor/governor.ts';
import { checkLimits, type ProviderLimitOptions, type ProviderLimits } from '../../src/governor/limits.ts';
import { type PermitMeter, ProviderPermits } from '../../src/governor/provider-permits.ts';
import type { WorkerTelemetry } from '../telemetry/call-spans.ts';

/** The worker options that configure its governor. */
interface GovernorOptions {
  governor?: Governor | undefined;
  limits?: Readonly<Record<string, ProviderLimitOptions>> | undefined;
}

/** The parts of a worker that its governor needs. */
interface GovernorParts {
  providers: readonly string[];
  telemetry: WorkerTelemetry | undefined;
  log: (line: string) => void;
}

/** The governor of a worker, with the permits of each provider that has limits. */
export class WorkerGovernor {
  readonly #governor: Governor;
  readonly #limits: ReadonlyMap<string, ProviderLimits>;
  readonly #parts: GovernorParts;
  readonly #permits = new Map<string, ProviderPermits>();
  #opened: OpenGovernor | undefined;
  #users = 0;

  private constructor(governor: Governor, limits: ReadonlyMap<string, ProviderLimits>, parts: GovernorParts) {
    this.#governor = governor;
    this.#limits = limits;
    this.#parts = parts;
  }

  /** Returns the governor of a worker; undefined if it has no limits. Throws a UsageError for invalid limits. */
  static of({ governor, limits }: GovernorOptions, parts: GovernorParts): WorkerGovernor | undefined {
    if (governor !== undefined && !isGovernor(governor)) {
      throw new UsageError('the worker: "governor" is invalid: write memoryGovernor() or redisGovernor({url})');
    }
    if (limits === undefined) {
      if (governor === undefined) return undefined;
      throw new UsageError(
        'the worker has "governor" but no "limits": name those of its providers, limits: { openai: { requestsPerMinute: 500 } }',
      );
    }
    const checked = checkLimits(limits, parts.providers);
    return checked.size === 0 ? undefined : new WorkerGovernor(governor ?? memoryGovernor(), checked, parts);
  }

  /** True if a provider is shared by tenant. */
  get sharesByTenant(): boolean {
    return [...this.#limits.values()].some(({ share }) => share === 'tenant');
  }

  /** Returns the permits for a model, `provider/model`; undefined if its provider has no limits. */
  permitsOf(model: string): ProviderPermits | undefined {
    const { provider } = partsOfModelName(model);
    const limits = this.#limits.get(provider);
    if (limits === undefined) return undefined;
    const known = this.#permits.get(provider);
    if (known !== undefined) return known;
    this.#opened ??= this.#governor.open({ log: this.#parts.log });
    const permits = new ProviderPermits(limits, this.#opened.ledger(provider, limits), meterOf(this.#parts.telemetry, provider));
    this.#permits.set(provider, permits);
    return permits;
  }

  /** Registers a worker as a user. Call `close` afterwards. */
  open(): void {
    this.#users += 1;
  }

  /** Returns all permits, unless another worker still uses the governor. Never rejects. */
  async close(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    await Promise.all([...this.#permits.values()].map((permits) => permits.close()));
    this.#permits.clear();
    this.#opened?.close();
    this.#opened = undefined;
  }
}

function isGovernor(value: unknown): value is Governor {
  if (typeof value !== 'object' || value === null) return false;
  const { name, open } = value as Partial<Record<keyof Governor, unknown>>;
  return typeof name === 'string' && typeof open === 'function';
}

function meterOf(telemetry: WorkerTelemetry | undefined, provider: string): PermitMeter {
  if (telemetry === undefined) return { granted: () => undefined, refused: () => undefined, held: () => undefined };
  const { telemetry: reported } = telemetry;
  return {
    granted: (seconds, source) => reported.guarded(() => reported.metrics.governorPermit({ provider, seconds, source })),
    refused: () => reported.guarded(() => reported.metrics.governorRefused(provider)),
    held: (seconds) => reported.guarded(() => reported.metrics.governorHeld(provider, seconds)),
  };
}

/** The length of a tenant's, agent's or run's digest, which makes collisions negligible. */
const DIGEST_LENGTH = 16;

/** Returns a digest, so that Redis receives no names. */
export function shareDigest(...parts: readonly (string | undefined)[]): string {
  const text = JSON.stringify(parts.map((part) => part ?? null));
  return createHash('sha256').update(text).digest('base64url').slice(0, DIGEST_LENGTH);
}
