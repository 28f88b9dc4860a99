import type { Approval } from './api-types.ts';

/** Names what waits, on the page. */
export function keyOf({ runId, callId, toolName }: Pick<Approval, 'runId' | 'callId' | 'toolName'>): string {
  return `${runId} ${callId} ${toolName}`;
}

type Known = Pick<Approval, 'runId' | 'callId' | 'toolName' | 'digest'>;

/**
 * What was decided on this page, or is on its way to the service, by its key. What waits again under the same key, behind a retry or with other
 * arguments, is another decision.
 */
export class Decided {
  readonly #all = new Map<string, { digest: string; isGone: boolean }>();

  add(approval: Known): void {
    this.#all.set(keyOf(approval), { digest: approval.digest, isGone: false });
  }

  delete(approval: Known): void {
    this.#all.delete(keyOf(approval));
  }

  has(key: string): boolean {
    return this.#all.has(key);
  }

  clear(): void {
    this.#all.clear();
  }

  /** Takes what waits now. What has gone stays known, for those who ask why it has. */
  see(waiting: readonly Known[]): void {
    const digests = new Map(waiting.map((one) => [keyOf(one), one.digest]));
    for (const [key, known] of this.#all) {
      const digest = digests.get(key);
      if (digest === undefined) known.isGone = true;
      else if (known.isGone || digest !== known.digest) this.#all.delete(key);
    }
  }
}
