import { describe, expect, it } from 'vitest';
import { checkExport, type CheckedExport } from '../../bench/endless/endless.ts';
import { pageText, scriptedAnswer } from '../../bench/script/scripted-run.ts';
import type { ExportLine } from '../../src/client/export-run.ts';
import type { StepResult } from '../../src/core/domain/tool-calls.ts';

const STEPS = 4;
const CHARS = 50;

/** The export of a run of four steps and an answer, with one eviction of results and one continue-as-new. */
function exported(): ExportLine[] {
  const lines: ExportLine[] = [execution(1, 0, 0), event(0)];
  let offset = 1;
  for (let index = 0; index < STEPS; index += 1) {
    if (index === 2) lines.push(event(offset++, { evicted: [[2, 0]] }), execution(2, offset, index));
    lines.push(event(offset++), event(offset++), step(index));
  }
  lines.push(event(offset++), step(STEPS));
  const summary = { version: 1, runId: 'r', live: false, events: offset, steps: STEPS + 1, executions: 2 } as const;
  return [...lines, { type: 'summary', ...summary, gaps: [], missingSteps: [] }];
}

const EVENTS = 2 * STEPS + 3;

function execution(number: number, offset: number, index: number): ExportLine {
  return { type: 'execution', number, executionId: `x${number}`, continuedFrom: null, offset, step: index };
}

function event(offset: number, compaction?: { evicted: [number, number][] }): ExportLine {
  const base = {
    type: 'event',
    offset,
    id: `e${offset}`,
    executionId: 'r',
    timestamp: '2023-11-14T22:13:20.000Z',
    author: 'reader',
    content: [],
  } as const;
  return { ...base, content: [], ...(compaction === undefined ? {} : { compaction }) };
}

function step(index: number): ExportLine {
  const { content, tool_calls: calls } = scriptedAnswer(index, STEPS);
  const toolCalls = (calls ?? []).map(({ id, function: called }): StepResult['toolCalls'][number] => {
    const { page } = JSON.parse(called.arguments) as { page: number };
    const result = pageText(page, CHARS);
    return { toolName: called.name, callId: id, arguments: { page }, result, isError: false, durationMs: 1, timestamp: '' };
  });
  return { type: 'step', index, step: index + 1, thought: content, toolCalls, usage: null, finishReason: 'stop' };
}

async function check(lines: ExportLine[]): Promise<CheckedExport> {
  return checkExport(
    (async function* () {
      yield* lines;
    })(),
    { steps: STEPS, resultChars: CHARS, events: EVENTS },
  );
}

describe('an export of a scripted run', () => {
  it('has no gap if all lines are in order', async () => {
    expect(await check(exported())).toEqual({ gaps: 0, events: EVENTS, steps: STEPS + 1, executions: 2, evictions: 1 });
  });

  it.each(exported().flatMap((line, place) => (line.type === 'event' || line.type === 'step' ? [[`${line.type} ${place}`, place]] : [])))(
    'has a gap if %s is missing, or is repeated',
    async (_, place) => {
      const lines = exported();
      const without = lines.toSpliced(place, 1);
      const twice = lines.flatMap((line, index) => (index === place ? [line, line] : [line]));
      expect((await check(without)).gaps).toBeGreaterThan(0);
      expect((await check(twice)).gaps).toBeGreaterThan(0);
    },
  );

  it('has a gap if a step contains another page', async () => {
    const lines = exported().map((line) => (line.type === 'step' && line.index === 1 ? { ...step(2), index: 1 } : line)) as ExportLine[];
    expect((await check(lines)).gaps).toBe(1);
  });

  it('has a gap if its last line reports one, or is missing', async () => {
    const lines = exported().map((line) => (line.type === 'summary' ? { ...line, gaps: [{ from: 1, through: 2 }] } : line));
    expect((await check(lines)).gaps).toBe(1);
    expect((await check(exported().slice(0, -1))).gaps).toBe(1);
  });
});
