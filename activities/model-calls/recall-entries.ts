import { log } from '@temporalio/activity';
import { randomUUID } from 'node:crypto';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import { utf8Prefix } from '../../src/core/domain/content/text.ts';
import type { RecallBounds } from '../../src/core/domain/memory/memory-policy.ts';
import { isRecalledText, type Recalled } from '../../src/core/domain/memory/recalled.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import type { WindowEvent } from '../../src/core/domain/record/window.ts';
import type { CallModelInput } from '../../src/core/protocol.ts';
import { memoryNamespace } from '../../src/memory/memory-namespace.ts';
import { recallText, shownEntry, type ShownEntry } from '../../src/memory/recall-text.ts';
import { withTimeout } from '../attempts/with-timeout.ts';
import { memoryOf } from '../resources/memory-of.ts';
import { dataFor } from '../run-queries/data.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** Milliseconds that the memory may delay an answer. */
const RECALL_MS = 2_000;

/** Bytes of the newest message that are searched for. */
const QUERY_BYTES = 1_000;

/** Bytes of JSON of the reason why the memory was not available. */
const REASON_BYTES = 300;

/** The model call that entries are recalled for. */
export interface RecallingCall {
  run: CallModelInput;
  snapshot: AgentSnapshot;
  /** The conversation. */
  events: readonly WindowEvent[];
  signal: AbortSignal;
}

/**
 * Asks the memory of the agent for entries that fit the newest message of the user. Undefined if it has none. A memory that fails, or
 * takes too long, never keeps the model from answering: what is recorded then says so. Rejects only if the call is given up.
 */
export async function recallEntries(runtime: ActivityRuntime, call: RecallingCall): Promise<Recalled | undefined> {
  const { snapshot, events, signal } = call;
  const bounds = snapshot.memory?.recall;
  const query = queryOf(events);
  if (bounds === undefined || query === '') return undefined;
  const id = randomUUID();
  try {
    const found = await withTimeout(() => find(runtime, call, { query, bounds }), { ms: RECALL_MS, stop: signal });
    const { text, entries } = recallText(found, bounds.maxBytes);
    return entries === 0 ? undefined : { id, text, note: { entries } };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const unavailable = cutText(runtime.secrets.redact(errorMessage(error)), REASON_BYTES);
    log.warn(`The memory of agent "${snapshot.name}" was not available: ${unavailable}`, { agent: snapshot.name });
    return { id, text: '', note: { unavailable } };
  }
}

async function find(
  runtime: ActivityRuntime,
  { run, snapshot }: RecallingCall,
  { query, bounds }: { query: string; bounds: RecallBounds },
): Promise<ShownEntry[]> {
  const memory = memoryOf(runtime);
  if (memory === undefined) throw new Error('this worker has none');
  const { principal } = await dataFor(runtime, ofRun(run));
  const namespace = memoryNamespace({ principal, agent: snapshot.memory?.name ?? snapshot.name });
  const found = await memory.recall({ namespace, text: query, topK: bounds.topK });
  // What a store returns is code of the user: more than was asked for, or values that are no JSON.
  const shown = JSON.parse(JSON.stringify(found.slice(0, bounds.topK).map(shownEntry))) as ShownEntry[];
  return runtime.secrets.redactJson(shown) as ShownEntry[];
}

/** Returns the part of the input by which the run is asked whom it acts for. */
function ofRun({ run, principal }: CallModelInput): Pick<CallModelInput, 'run' | 'principal'> {
  return { ...(run === undefined ? {} : { run }), ...(principal === undefined ? {} : { principal }) };
}

/** Returns the text of the newest message of a user, cut to the length of a query. The entries of an earlier recall are none. */
function queryOf(events: readonly WindowEvent[]): string {
  for (const event of events.toReversed()) {
    const texts = event.content.flatMap((item) =>
      item.type === 'message' && item.role === 'user' && !isRecalledText(item) ? textsOf(item.content) : [],
    );
    if (texts.length > 0) return utf8Prefix(texts.join('\n').trim(), QUERY_BYTES);
  }
  return '';
}

function textsOf(content: Extract<WindowEvent['content'][number], { type: 'message' }>['content']): string[] {
  return typeof content === 'string' ? [content] : content.flatMap((part) => (part.type === 'text' ? [part.text] : []));
}
