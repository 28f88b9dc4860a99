import { expect, it } from 'vitest';
import { jsonBytes } from '../../../../src/core/domain/byte-budgets.ts';
import type { ContentItem } from '../../../../src/core/domain/content.ts';
import type { StepNote } from '../../../../src/core/domain/verdicts.ts';
import { newRunState, recordEvent } from '../../../../src/core/kernel/run-state.ts';
import { type ProgramRun, recordNote } from '../../../../src/core/program/program-run.ts';
import { testSnapshot } from '../../loop/fakes/snapshot.ts';

it('has the bytes of the calls that wait, also once other events have left it', () => {
  let ids = 0;
  const clock = { now: () => 0, uuid: () => `e${(ids += 1)}` };
  const state = newRunState({ runId: 'r', snapshot: testSnapshot(), startedAt: 0, messages: [] }, clock);
  const waiting: ContentItem[] = [{ type: 'tool_call', toolCallId: 'u.Wer', name: 'u.Wer', arguments: { question: 'Wer prüft 10 €?' } }];
  recordEvent(state, clock, { author: 'u.Wer', content: waiting });
  const note: StepNote = { at: 'u.Look', kind: 'tool', type: 'attempt', attempt: 1 };
  const ended: ContentItem[] = [{ type: 'tool_result', toolCallId: 'u.Look', name: 'look', status: 'success', content: ['grün'] }];
  recordNote({ state, ports: clock } as unknown as ProgramRun, note, { content: ended });
  expect(state.window.events.map(({ content }) => content)).toEqual([waiting]);
  expect(state.window.bytes).toBe(jsonBytes(waiting));
});
