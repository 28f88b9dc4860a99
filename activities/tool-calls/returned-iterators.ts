import type { JsonValue } from '../../src/core/domain/json.ts';
import { isUpdatingResult, type RunContext } from '../../src/define/context.ts';
import { isToolOutput } from '../../src/define/tool-definition.ts';

/** The name of the data that readers get for a value that a tool yields. */
const PRELIMINARY = 'preliminary';

/** The parts of an iterator that are used. */
interface AnyIterator {
  next: () => unknown;
  return?: () => unknown;
}

/**
 * Returns the result of a tool whose `execute` may return an iterator, such as an async generator: runs it to its end. The result is the
 * value that it returns; the last one that it yields, if it returns none. Readers of the run get yielded values at once.
 */
export async function lastValue(returned: unknown, context: Pick<RunContext, 'emit' | 'signal'>): Promise<unknown> {
  const value = await returned;
  const iterator = iteratorOf(value);
  if (iterator === undefined) return value;
  let last: unknown;
  for (;;) {
    const { done, value: next } = (await iterator.next()) as { done?: boolean; value?: unknown };
    // A generator may yield promises.
    const one = await next;
    if (done === true) return one === undefined ? last : one;
    last = one;
    if (context.signal.aborted) {
      await iterator.return?.();
      throw context.signal.reason;
    }
    emitPreliminary(one, context);
  }
}

/** Returns the iterator of a value that runs code as it is read. Streams, lists and iterators of collections are values. */
function iteratorOf(value: unknown): AnyIterator | undefined {
  if (typeof value !== 'object' || value === null || 'getReader' in value || 'pipe' in value) return undefined;
  if (Symbol.asyncIterator in value && typeof value[Symbol.asyncIterator] === 'function') {
    return (value as AsyncIterable<unknown>)[Symbol.asyncIterator]() as AnyIterator;
  }
  return Object.prototype.toString.call(value) === '[object Generator]' ? (value as AnyIterator) : undefined;
}

/** A value that readers cannot get, because it is too large or is not JSON, is not worth a failed call. */
function emitPreliminary(value: unknown, { emit }: Pick<RunContext, 'emit'>): void {
  if (value === undefined || isUpdatingResult(value) || isToolOutput(value)) return;
  try {
    emit(PRELIMINARY, value as JsonValue);
  } catch {}
}
