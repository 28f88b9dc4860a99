import { cleanUsage } from '../../src/core/domain/model/clean-usage.ts';
import type { ModelCallContext, ModelRequest } from '../../src/core/domain/model/model.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { addSpent, spentIn, type SpentDetails } from '../../src/core/domain/model/spent.ts';
import { utf8Length } from '../../src/core/domain/content/text.ts';
import type { EstimatedUsage, Spent, UsageStats } from '../../src/core/domain/model/usage.ts';

/** Text and JSON have about four bytes to a token. */
const BYTES_PER_TOKEN = 4;

/**
 * What a call to a model has cost so far: its attempts before, and the one at hand. A provider that has begun to answer
 * charges for it, whatever becomes of the answer. What it has reported is known; where it has reported nothing, the
 * request and what arrived are estimated. An attempt of which nothing came (429, 5xx, no connection) has cost nothing.
 *
 * An attempt tells the next one by the details of its heartbeats: by those of the timer, and by one more where it fails,
 * which goes to the server with the failure. So an attempt that ends in any way that this process sees loses nothing.
 * What is lost: of a process that is killed (SIGKILL, the machine), what arrived since its last heartbeat, thus at most
 * one interval of one attempt, and all of an attempt that was younger than that; and where a call is cancelled while
 * it waits for its next attempt, what the attempts before had cost, because the server ends such a call by itself.
 */
export class SpentAttempts {
  /** What the attempts before this one have cost. */
  readonly before: Spent | undefined;
  /** The text that has arrived. */
  text = '';
  readonly #request: ModelRequest;
  #bytesBeside = 0;
  #usage: UsageStats | null = null;
  #isAnswered = false;

  /** `details`: those of the last heartbeat of the attempts before. */
  constructor(request: ModelRequest, details: unknown) {
    this.#request = request;
    this.before = spentIn(details);
  }

  /** What hears of the answer while it arrives. */
  get listener(): Required<Pick<ModelCallContext, 'onText' | 'onOutput' | 'onUsage'>> {
    return {
      onText: (delta) => (this.text += delta),
      onOutput: (delta) => (this.#bytesBeside += utf8Length(delta)),
      onUsage: (usage) => this.#report(usage),
    };
  }

  /** What the provider has reported of this attempt. */
  get usage(): UsageStats | null {
    return this.#usage;
  }

  /** The model client has given the answer as a whole; it may have got any of it wrong. */
  answered(answer: unknown): void {
    this.#isAnswered = true;
    const { usage, content } = typeof answer === 'object' && answer !== null ? (answer as Partial<Record<string, unknown>>) : {};
    this.#report(usage);
    // A client need not tell of the pieces.
    if (this.text === '' && typeof content === 'string') this.text = content;
  }

  /** What this attempt has cost so far; undefined for nothing. */
  get current(): Spent | undefined {
    if (this.#usage !== null && this.#usage.totalTokens > 0) return { reported: this.#usage };
    return this.#isAnswered || this.text !== '' || this.#bytesBeside > 0 ? { estimated: this.#estimate() } : undefined;
  }

  /** What all attempts have cost so far, for who must know when this one fails. */
  get details(): SpentDetails | undefined {
    const spent = addSpent(this.before, this.current);
    return spent === undefined ? undefined : { spent };
  }

  #report(usage: unknown): void {
    this.#usage = cleanUsage(usage) ?? this.#usage;
  }

  #estimate(): EstimatedUsage {
    const promptTokens = Math.ceil(jsonBytes(this.#request) / BYTES_PER_TOKEN);
    const completionTokens = Math.ceil((utf8Length(this.text) + this.#bytesBeside) / BYTES_PER_TOKEN);
    return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
  }
}
