import { errorMessage, LonghaulError } from '../../src/core/domain/errors/error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { resolveValue } from '../../src/core/program/references/interpolate.ts';
import type { UseMemoryInput, UseMemoryOutput } from '../../src/core/protocol.ts';
import type { MemoryBackend } from '../../src/memory/memory-backend.ts';
import { attempt } from '../attempts/attempt.ts';
import { failingAs } from '../failures/failure.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { shortId } from '../tool-calls/short-id.ts';
import { stepScope } from './step-scope.ts';

/** Creates the activity of `remember` and `recall`. Storing a value a second time changes nothing. */
export function useMemoryActivity(runtime: ActivityRuntime): (input: UseMemoryInput) => Promise<UseMemoryOutput> {
  const { aborts, heartbeatMs } = runtime;
  return failingAs('memory_failed', (input) => attempt(aborts, { heartbeatMs }, () => useMemory(runtime, input)));
}

async function useMemory(runtime: ActivityRuntime, input: UseMemoryInput): Promise<UseMemoryOutput> {
  const { memory } = runtime;
  const { program } = await runtime.snapshots.load(input, input.agent);
  if (program === undefined) throw new LonghaulError('internal', 'The snapshot of the run has no program');
  if (memory === undefined)
    throw new LonghaulError('memory_missing', `Step "${input.step}" uses a memory, and this worker has none: give it "memory"`);
  const { indexed, lookup } = await stepScope(runtime, program, input);
  const resolved = resolveValue({ ...indexed.step.remember, ...indexed.step.recall }, lookup, { lenient: program.lenient });
  if (!resolved.ok || !isJsonObject(resolved.value)) {
    throw new LonghaulError(
      'invalid_input',
      `Step "${input.step}" cannot be resolved: ${resolved.ok ? 'it is no object' : resolved.problem}`,
    );
  }
  const used: JsonObject = { ...resolved.value, ...(input.edited ? await runtime.stepValues.edited(input) : {}) };
  const scope = textOf(used['scope'] ?? program.name);
  const isStore = indexed.step.remember !== undefined;
  const output = await (isStore ? store(memory, used, scope) : recall(memory, used, scope));
  const id = shortId();
  runtime.stepValues.add(input, id, output);
  return { id, output };
}

async function store(memory: MemoryBackend, { key, value = null, metadata }: JsonObject, scope: string): Promise<JsonValue> {
  try {
    const entry = await memory.store(textOf(key), value, { ...(isJsonObject(metadata) ? metadata : {}), scope });
    return entry.key;
  } catch (error) {
    throw new LonghaulError('memory_failed', `The memory could not store "${textOf(key)}": ${errorMessage(error)}`, { cause: error });
  }
}

async function recall(memory: MemoryBackend, { query, topK }: JsonObject, scope: string): Promise<JsonValue> {
  const entries = await memory.retrieve(textOf(query), { topK: typeof topK === 'number' ? topK : 5, scope });
  const output = entries.map(({ key, value, metadata, score }) => ({ key, value, metadata, score }));
  const bytes = jsonBytes(output);
  if (bytes <= BYTE_BUDGETS.maxToolResult) return output;
  throw new LonghaulError(
    'payload_too_large',
    `The memory found ${bytes} bytes of JSON for "${textOf(query)}", over ${BYTE_BUDGETS.maxToolResult}: ask for fewer entries with "topK"`,
  );
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '');
}
