import { errorMessage, LonghaulError, UsageError } from '../../src/core/domain/errors/error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import { jsonBytes } from '../../src/core/domain/json/payload-limit.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { resolveValue } from '../../src/core/program/references/interpolate.ts';
import type { UseMemoryInput, UseMemoryOutput } from '../../src/core/protocol.ts';
import { memoryNamespace } from '../../src/memory/memory-namespace.ts';
import type { MemorySource, MemoryStore } from '../../src/memory/memory-store.ts';
import { CONTAINED_SCORE } from '../../src/memory/search/ranking.ts';
import { runAttempt } from '../attempts/attempt.ts';
import { failingAs, permanentFailure } from '../failures/failure.ts';
import { runIdOf } from '../run-queries/access.ts';
import { dataFor } from '../run-queries/data.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { shortId } from '../tool-calls/short-id.ts';
import { stepScope } from './step-scope.ts';

/** Creates the activity of `remember` and `recall`. Storing a value a second time changes nothing. */
export function useMemoryActivity(runtime: ActivityRuntime): (input: UseMemoryInput) => Promise<UseMemoryOutput> {
  const { aborts, heartbeatMs } = runtime;
  return failingAs('memory_failed', (input) => runAttempt(aborts, { heartbeatMs }, () => useMemory(runtime, input)));
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
  const { principal } = await dataFor(runtime, input);
  // The event of the step is recorded when it has ended: an entry has no offset.
  const part = { memory, namespace: memoryNamespace({ principal, scope }), scope, source: { runId: runIdOf(input) } };
  const output = await (indexed.step.remember === undefined ? recall(part, used) : remember(part, used));
  const id = shortId();
  runtime.stepValues.add(input, id, output);
  return { id, output };
}

/** The part of a memory that a step uses. */
interface MemoryPart {
  memory: MemoryStore;
  namespace: string;
  scope: string;
  /** The run that stores an entry. */
  source: MemorySource;
}

async function remember({ memory, namespace, scope, source }: MemoryPart, { key, value = null, metadata }: JsonObject): Promise<JsonValue> {
  try {
    const noted = { ...(isJsonObject(metadata) ? metadata : {}), scope };
    const entry = await memory.remember({ namespace, key: textOf(key), value, metadata: noted, source });
    return entry.key;
  } catch (error) {
    const message = `The memory could not store "${textOf(key)}": ${errorMessage(error)}`;
    // A value that is refused once is refused each time.
    if (error instanceof UsageError) throw permanentFailure('memory_failed', message);
    throw new LonghaulError('memory_failed', message, { cause: error });
  }
}

async function recall({ memory, namespace }: MemoryPart, { query, topK, minScore }: JsonObject): Promise<JsonValue> {
  const least = typeof minScore === 'number' ? minScore : CONTAINED_SCORE;
  const found = await memory.recall({ namespace, text: textOf(query), topK: typeof topK === 'number' ? topK : 5 });
  // The best come first: those left out by "topK" would not be among these.
  const entries = found.filter(({ score }) => score >= least);
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
