import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { defined, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { FORGET, MEMORY_TOOLS, memoryTools, RECALL, REMEMBER } from '../../src/core/domain/memory.ts';
import type { RunContext } from '../../src/define/context.ts';
import { type AnyTool, ToolFailure } from '../../src/define/tool-definition.ts';
import { memoryNamespace, type MemoryStore, recalledEntry } from '../../src/memory/memory-store.ts';
import { type ActivityRuntime, memoryOf } from '../runtime.ts';
import { ordinaryTool, type WorkerPart } from '../worker-part.ts';

/** The memory in a worker: an agent with a memory has tools for it. */
export const memoryInWorker: WorkerPart = {
  name: 'memory',
  toolNames: ({ memory }) => (memory?.tools ? MEMORY_TOOLS : []),
  defined: ({ memory }) => ({ fields: defined({ memory }), tools: memoryTools(memory) }),
  ownsTool: ({ memory }) => memory !== undefined,
  tool: (runtime, { agentName, memory, at }, name) => memoryTool(runtime, name, { agent: memory?.name ?? agentName, offset: at?.[0] }),
};

/** The maximum bytes of JSON of a value. */
const VALUE_BYTES = 8_000;

/** The maximum number of entries that `recall` returns unless the model asks for another number. */
const DEFAULT_TOP_K = 5;

type MemoryRuntime = Pick<ActivityRuntime, 'memory' | 'secrets'>;

/** The memory that a call uses, and its place in the record. */
interface MemoryCall {
  /** The agent's name in the namespace. */
  agent: string;
  /** The offset of the event of the call. */
  offset: number | undefined;
}

/** The memory of a call, and the parts of the call that are needed. */
interface MemoryUse {
  memory: MemoryStore;
  secrets: ActivityRuntime['secrets'];
  /** Derived only from the run's principal and the agent: nothing that the model writes is part of it. */
  namespace: string;
  source: { runId: string; offset?: number };
  isRetry: boolean;
}

type Uses = Record<string, (use: MemoryUse, args: never) => Promise<JsonValue>>;

const USES: Uses = { [REMEMBER]: remember, [RECALL]: recall, [FORGET]: forget };

/** Returns a tool that uses the memory of an agent. Undefined if the worker has no memory, so that another worker takes the call. */
function memoryTool(runtime: MemoryRuntime, name: string, call: MemoryCall): AnyTool | undefined {
  const memory = memoryOf(runtime);
  const use = USES[name];
  if (memory === undefined || use === undefined) return undefined;
  return ordinaryTool(name, (args: JsonObject, context: RunContext) => use(useOf(memory, runtime, call, context), args as never));
}

function useOf(memory: MemoryStore, { secrets }: MemoryRuntime, { agent, offset }: MemoryCall, context: RunContext): MemoryUse {
  const { principal, runId, retry } = context;
  const source = { runId, ...defined({ offset }) };
  return { memory, secrets, namespace: memoryNamespace({ principal, agent }), source, isRetry: retry > 0 };
}

async function remember(
  { memory, secrets, namespace, source }: MemoryUse,
  { key, value }: { key: string; value: string },
): Promise<JsonValue> {
  const bytes = jsonBytes(value);
  if (bytes > VALUE_BYTES)
    throw new ToolFailure(
      `The value has ${bytes} bytes of JSON, over ${VALUE_BYTES}: it was not stored. Store less, or parts under several keys`,
    );
  // A result is redacted before it is recorded, but a stored value would be read by runs whose worker may not know the secret.
  if (secrets.leak({ key, value }) !== undefined)
    throw new ToolFailure('The entry contains a secret: it was not stored. Leave the secret out');
  await askMemory(() => memory.remember({ namespace, key, value, source }));
  return { remembered: key };
}

async function recall(
  { memory, namespace }: MemoryUse,
  { query, topK = DEFAULT_TOP_K }: { query: string; topK?: number },
): Promise<JsonValue> {
  const found = await askMemory(() => memory.recall({ namespace, text: query, topK }));
  return { entries: found.slice(0, topK).map(recalledEntry) };
}

async function forget({ memory, namespace, isRetry }: MemoryUse, { key }: { key: string }): Promise<JsonValue> {
  const removed = await askMemory(() => memory.forget({ namespace, key }));
  // An attempt whose answer was lost may have removed it.
  if (removed === 0 && !isRetry) throw new ToolFailure(`There is no entry with the key ${JSON.stringify(key)}`);
  return { forgotten: key };
}

/** Names the memory in a store's error: a driver's error alone means nothing to a model. */
async function askMemory<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    throw new Error(`The memory is not available: ${errorMessage(error)}`, { cause: error });
  }
}
