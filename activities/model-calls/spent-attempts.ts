import { cleanUsage } from '../../src/core/domain/model/clean-usage.ts';
import type { ModelCallContext, ModelRequest } from '../../src/core/domain/model/model.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { addSpent, spentIn, type SpentDetails } from '../../src/core/domain/model/spent.ts';
import { utf8Length } from '../../src/core/domain/content/text.ts';
import type { EstimatedUsage, Spent, UsageStats } from '../../src/core/domain/model/usage.ts';
import type { ModelDelta } from '../../src/core/domain/stream/delta.ts';
import { checkedDelta } from '../attempts/streams/checked-delta.ts';

/** Text and JSON have about four bytes to a token. */
const BYTES_PER_TOKEN = 4;

/**
 * The cost of a model call so far: of earlier attempts and of the current one. A provider that has begun to answer
 * charges for the answer, even if it never arrives. Reported usage is exact; without a report, the request and the
 * received part are estimated. An attempt that received nothing (429, 5xx, no connection) costs nothing.
 *
 * An attempt passes its cost to the next one by the details of its heartbeats: periodic ones, and one more if it fails,
 * which goes to the server with the failure. So nothing is lost if this process sees the attempt end. Two costs are
 * lost: if a process is killed (SIGKILL, the machine), the part that arrived since its last heartbeat, so at most one
 * interval of one attempt, and all of an attempt younger than that; and if a call is cancelled while it waits for its
 * next attempt, the cost of earlier attempts, because the server ends such a call itself.
 */
export class SpentAttempts {
  /** The cost of the attempts before this one. */
  readonly before: Spent | undefined;
  /** The text received so far. */
  text = '';
  readonly #request: ModelRequest;
  #bytesBeside = 0;
  #lastCallId: string | undefined;
  #usage: UsageStats | null = null;
  #isAnswered = false;

  /** `details`: those of the last heartbeat of earlier attempts. */
  constructor(request: ModelRequest, details: unknown) {
    this.#request = request;
    this.before = spentIn(details);
  }

  /** Returns the callbacks that receive the answer while it arrives. `pass` gets each piece of it that is one, until the call has ended. */
  listener(pass: (delta: ModelDelta) => void = () => undefined): Required<Pick<ModelCallContext, 'onDelta' | 'onUsage'>> {
    return {
      onDelta: (given) => {
        const delta = this.#isAnswered ? undefined : checkedDelta(given);
        if (delta === undefined) return;
        this.#receive(delta);
        pass(delta);
      },
      onUsage: (usage) => this.#report(usage),
    };
  }

  /** The name of a tool counts once for each call. */
  #receive(delta: ModelDelta): void {
    if (delta.type === 'text') {
      this.text += delta.text;
      return;
    }
    this.#bytesBeside += utf8Length(delta.text);
    if (delta.type !== 'tool_input' || delta.callId === this.#lastCallId) return;
    this.#lastCallId = delta.callId;
    this.#bytesBeside += utf8Length(delta.toolName);
  }

  /** The usage that the provider has reported for this attempt. */
  get usage(): UsageStats | null {
    return this.#usage;
  }

  /** Records the whole answer of the model client, which may be malformed. */
  answered(answer: unknown): void {
    this.#isAnswered = true;
    const { usage, content } = typeof answer === 'object' && answer !== null ? (answer as Partial<Record<string, unknown>>) : {};
    this.#report(usage);
    // A client need not report deltas.
    if (this.text === '' && typeof content === 'string') this.text = content;
  }

  /** The cost of this attempt so far; undefined for nothing. */
  get current(): Spent | undefined {
    if (this.#usage !== null && this.#usage.totalTokens > 0) return { reported: this.#usage };
    return this.#isAnswered || this.text !== '' || this.#bytesBeside > 0 ? { estimated: this.#estimate() } : undefined;
  }

  /** The cost of all attempts so far, for heartbeats and failures. */
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
