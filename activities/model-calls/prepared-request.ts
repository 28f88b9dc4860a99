import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import { type Recalled, recallEvent } from '../../src/core/domain/memory/recalled.ts';
import type { ConversationEvent, ModelRequest } from '../../src/core/domain/model/model.ts';
import type { Folded, WindowEvent } from '../../src/core/domain/record/window.ts';
import { itemsFor } from '../../src/core/domain/record/provider-items.ts';
import type { CallModelInput } from '../../src/core/protocol.ts';
import { beforeRequest } from '../hooks/model-hooks.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { buildRequest } from './build-request.ts';
import { recallEntries } from './recall-entries.ts';

/** The model call of an attempt. */
export interface RequestingCall {
  run: CallModelInput;
  /** With the hooks of a model call alone. */
  snapshot: AgentSnapshot;
  /** The conversation. */
  events: readonly WindowEvent[];
}

/** The request of an attempt. */
export class PreparedRequest {
  /** The request before the memory and the hooks have had a part in it. */
  readonly request: ModelRequest;
  /** The answers of the hooks. */
  hooks: HookRecord[] = [];
  #recalled: Recalled | undefined;
  readonly #runtime: ActivityRuntime;
  readonly #call: RequestingCall;

  constructor(runtime: ActivityRuntime, call: RequestingCall) {
    this.#runtime = runtime;
    this.#call = call;
    this.request = this.#built([]);
  }

  /** Asks the memory if the call says so, then the hooks. Returns the request that is sent. */
  async prepare(signal: AbortSignal): Promise<ModelRequest> {
    const { run, snapshot, events } = this.#call;
    if (run.recall) this.#recalled = await recallEntries(this.#runtime, { run, snapshot, events, signal });
    const built = this.#recalled === undefined ? this.request : this.#built(this.recallEvents);
    const about = { model: snapshot.model, step: run.step ?? 0 };
    const { records, request } = await beforeRequest({ runtime: this.#runtime, run, snapshot, signal }, about, built);
    this.hooks = records;
    return request;
  }

  /** Returns the recalled entries as a field of the response: the loop learns only those of the attempt that the model answers. */
  get recalled(): { recalled?: Recalled } {
    return this.#recalled === undefined ? {} : { recalled: this.#recalled };
  }

  /** The event that the loop records for it before the response. */
  get recallEvents(): Folded[] {
    return this.#recalled === undefined ? [] : [recallEvent(this.#recalled)];
  }

  #built(more: readonly Folded[]): ModelRequest {
    const { run, snapshot, events } = this.#call;
    return buildRequest(snapshot, conversationOf([...events, ...more], snapshot.model), run.final === true, run.firstStep === true);
  }
}

/**
 * Returns events without their location in the record, which means nothing to a model. What a provider sent beside an answer is for the
 * model that gave it alone, whichever agent had it.
 */
function conversationOf(events: readonly Folded[], model: string): ConversationEvent[] {
  return events.flatMap(({ author, content, providerItems }) => {
    // A memory that was not available has nothing to say.
    return content.length === 0 ? [] : [{ author, content, ...itemsFor(model, providerItems) }];
  });
}
