import { describe, expect, test } from 'vitest';
import { DEFAULT_BUDGET, limitResultSize } from '../../../activities/tool-calls/execute-tool.ts';
import { heartbeatDetails } from '../../../activities/attempts/attempt.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../../src/core/domain/byte-budgets.ts';
import type { SpilledContent } from '../../../src/core/domain/content.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';

const BUDGET = 2_000;
const spilled: SpilledContent = { store: 'files', claim: { key: 'k' }, bytes: 3_004, sha256: 'f' };
const noStore = (): Promise<SpilledContent> => Promise.reject(new Error('nothing may be stored'));

/** A text whose content is `more` bytes larger than the budget. */
function sized(more: number): JsonValue[] {
  return ['x'.repeat(BUDGET - '[""]'.length + more)];
}

function result(content: JsonValue[], isError = false): { name: string; content: JsonValue[]; isError: boolean } {
  return { name: 'search', content, isError };
}

describe('a result within the budget is unchanged', () => {
  test.each(['cut', 'spill', 'error'] as const)('with overflow %s', async (overflow) => {
    for (const more of [-1, 0]) {
      expect(await limitResultSize(result(sized(more)), { maxResultBytes: BUDGET, overflow }, noStore)).toEqual({
        content: sized(more),
        isError: false,
      });
    }
  });
});

describe('a result one byte over the budget', () => {
  test('is cut', async () => {
    const { content, isError } = await limitResultSize(result(sized(1)), { maxResultBytes: BUDGET, overflow: 'cut' }, noStore);
    expect(content).toEqual([expect.stringMatching(/^x+\n\[Cut: \d+ of 1997 bytes of this result are missing\./)]);
    expect(isError).toBe(false);
    expect(jsonBytes(content)).toBeLessThanOrEqual(BUDGET);
  });

  test('is an error that names the tool and both sizes', async () => {
    expect(await limitResultSize(result(sized(1)), { maxResultBytes: BUDGET, overflow: 'error' }, noStore)).toEqual({
      content: [
        "The result of tool 'search' is too large: 2001 bytes of JSON, over 2000. Nothing of it was kept. Ask for less, or for a part.",
      ],
      isError: true,
    });
  });

  test('is stored whole, and its preview fits', async () => {
    const stored: JsonValue[][] = [];
    const fitting = await limitResultSize(result(sized(1)), { maxResultBytes: BUDGET, overflow: 'spill' }, async (content) => {
      stored.push(content);
      return spilled;
    });
    expect(stored).toEqual([sized(1)]);
    expect(fitting).toEqual({
      content: [expect.stringMatching(/^x+\n\[Preview: \d+ of 1997 bytes of this result are not shown here/)],
      isError: false,
      spilled,
    });
    expect(jsonBytes(fitting.content)).toBeLessThanOrEqual(BUDGET);
  });

  test('is cut if the store fails, and says so: the tool has run and must not run again', async () => {
    const failing = (): Promise<SpilledContent> => Promise.reject(new Error(`no space left ${'é'.repeat(500)}`));
    const fitting = await limitResultSize(result(sized(1)), { maxResultBytes: BUDGET, overflow: 'spill' }, failing);
    expect(fitting).toEqual({
      content: [expect.stringMatching(/missing\. Ask for less, or for a part\.\] \[The whole could not be stored: no space left é+\]$/)],
      isError: false,
    });
    expect(jsonBytes(fitting.content)).toBeLessThanOrEqual(BUDGET);
  });
});

test.each(['cut', 'spill', 'error'] as const)('an error result is cut, with any option of the tool: %s', async (overflow) => {
  const fitting = await limitResultSize(result(sized(1), true), { maxResultBytes: BUDGET, overflow }, noStore);
  expect(fitting).toEqual({ content: [expect.stringContaining('[Cut: ')], isError: true });
});

test('a store whose message has many escapes does not exceed the smallest budget', async () => {
  const failing = (): Promise<SpilledContent> => Promise.reject(new Error('\u0001'.repeat(5_000)));
  const fitting = await limitResultSize(result(sized(1)), { maxResultBytes: 1_000, overflow: 'spill' }, failing);
  expect(jsonBytes(fitting.content)).toBeLessThanOrEqual(1_000);
});

test('a tool that the worker lacks has the default budget', () => {
  expect(DEFAULT_BUDGET).toEqual({ maxResultBytes: 64_000, overflow: 'cut' });
});

describe('the details of a heartbeat', () => {
  const text = (bytes: number): string => 'x'.repeat(bytes - '""'.length);

  test.each([
    ['nothing', undefined, undefined],
    ['a value', { done: 3 }, { done: 3 }],
    ['one byte below the budget', text(BYTE_BUDGETS.heartbeat - 1), text(BYTE_BUDGETS.heartbeat - 1)],
    ['at the budget', text(BYTE_BUDGETS.heartbeat), text(BYTE_BUDGETS.heartbeat)],
    ['one byte above the budget', text(BYTE_BUDGETS.heartbeat + 1), '[The details of this heartbeat are 64001 bytes of JSON, over 64000]'],
    ['a value that is not JSON', 1n as unknown as JsonValue, '[The details of this heartbeat are not JSON]'],
  ])('%s', (_, details, sent) => {
    expect(heartbeatDetails(details)).toEqual(sent);
  });
});
