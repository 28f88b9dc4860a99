import type { ExportLine } from '../../src/client/export-run.ts';
import { pageText, scriptedAnswer } from '../script/scripted-run.ts';

/** The expected content of an exported run. */
export interface ExpectedRun {
  steps: number;
  resultChars: number;
  /** According to the run itself. */
  events: number;
}

/** The content of an export. */
export interface CheckedExport {
  /** The offsets of events and indexes of steps that are missing, out of order, or have other content than in the run. */
  gaps: number;
  events: number;
  /** The final answer is included. */
  steps: number;
  executions: number;
  /** The number of events that evicted results from the window. */
  evictions: number;
}

/**
 * Reads an export of a scripted run and checks it against the script: every offset and every index in order, the call and the
 * page of every step, as many events as the run counted, and the same number in its last line.
 */
export async function checkExport(lines: AsyncIterable<ExportLine>, expected: ExpectedRun): Promise<CheckedExport> {
  const checked: CheckedExport = { gaps: 0, events: 0, steps: 0, executions: 0, evictions: 0 };
  const turns = { offset: 0, index: 0 };
  let summary: Extract<ExportLine, { type: 'summary' }> | undefined;
  for await (const line of lines) {
    if (line.type === 'execution') checked.executions += 1;
    if (line.type === 'summary') summary = line;
    if (line.type === 'event') {
      checked.events += 1;
      checked.gaps += outOfTurn(line.offset, turns.offset);
      turns.offset = Math.max(turns.offset, line.offset + 1);
      if (line.compaction?.evicted !== undefined) checked.evictions += 1;
    }
    if (line.type === 'step') {
      checked.steps += 1;
      checked.gaps += outOfTurn(line.index, turns.index) + (isScripted(line, expected) ? 0 : 1);
      turns.index = Math.max(turns.index, line.index + 1);
    }
  }
  checked.gaps += Math.abs(expected.events - turns.offset) + Math.abs(expected.steps + 1 - turns.index);
  if (summary?.events !== checked.events || summary.gaps.length > 0 || summary.missingSteps.length > 0) checked.gaps += 1;
  return checked;
}

/** The count of skipped numbers before this one; 1 for a number that occurred before. */
function outOfTurn(number: number, turn: number): number {
  return number < turn ? 1 : number - turn;
}

function isScripted({ index, thought, toolCalls }: Extract<ExportLine, { type: 'step' }>, { steps, resultChars }: ExpectedRun): boolean {
  const { content, tool_calls: calls } = scriptedAnswer(index, steps);
  if (calls === undefined) return thought === content && toolCalls.length === 0;
  const [{ id, function: asked }] = calls;
  const { page } = JSON.parse(asked.arguments) as { page: number };
  const [call] = toolCalls;
  return toolCalls.length === 1 && call?.callId === id && call.arguments['page'] === page && call.result === pageText(page, resultChars);
}
