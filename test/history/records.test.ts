import { describe, expect, test } from 'vitest';
import { readBack } from '../../src/history/read-run.ts';
import type { Event } from '../../src/core/domain/record.ts';
import { recordOf, type RunRecordFile } from '../replay/histories.ts';
import { type RecordedChainLink, recordedChains } from './recorded-histories.ts';

/** Events and steps that the loop gives when it is run over the history. */
async function readRecord(runId: string, links: readonly RecordedChainLink[]): Promise<RunRecordFile> {
  const record: RunRecordFile = { events: [], steps: [] };
  for (const [index, { recorded }] of links.entries()) {
    const { state } = await readBack(runId, recorded, links[index + 1]?.recorded.continuedState);
    record.events.push(...(state?.context.events ?? []));
    record.steps.push(...(state?.steps ?? []));
  }
  return record;
}

/** Ids that only the workflow knew are derived when a history is read: the ids of events and of decisions by deadlines. */
function withoutIds({ events, steps }: RunRecordFile) {
  return { events: events.map(({ decision, ...event }) => ({ ...event, id: undefined, decision: withoutId(decision) })), steps };
}

/** Parallel steps of a program may be reported in another order if they end in one workflow task. */
function inOrder({ events, steps }: ReturnType<typeof withoutIds>): object {
  if (events.every(({ step }) => step === undefined)) return { events, steps };
  return { events: events.toSorted((a, b) => a.timestamp.localeCompare(b.timestamp) || a.author.localeCompare(b.author)), steps };
}

function withoutId(decision: Event['decision']): object | undefined {
  return decision?.source === 'deadline' ? { ...decision, id: undefined } : decision;
}

/** The ids of the events up to an agent's last response, and of all events of executions that continued as new. */
function namedIds({ events }: RunRecordFile, links: readonly RecordedChainLink[]): string[] {
  const isOfProgram = events.some(({ step }) => step !== undefined);
  const last = isOfProgram ? -1 : events.findLastIndex(({ usage }) => usage !== undefined);
  const continued = links.at(-1)?.recorded.continuedState?.window.through ?? 0;
  return events.slice(0, Math.max(last + 1, continued)).map(({ id }) => id);
}

const runs = [...(await recordedChains())].flatMap(([runId, links]) => {
  const record = recordOf(runId);
  return record === undefined ? [] : [{ runId, links, record }];
});

describe('a recorded run', () => {
  test('has been recorded for every kind of request to a run', () => {
    const kinds = new Set(runs.flatMap(({ record }) => record.events.flatMap((event) => Object.keys(event))));
    const told = ['decision', 'refused', 'raised', 'partial', 'interrupted', 'estimated'];
    expect(told.filter((kind) => !kinds.has(kind))).toEqual([]);
  });

  test.each(runs)(
    '$runId has the events and steps that it had when it was recorded, if the loop is run over its history',
    async ({ runId, links, record }) => {
      const read = withoutIds(await readRecord(runId, links));
      expect(inOrder(read)).toEqual(inOrder(withoutIds(record)));
    },
  );

  test.each(runs)(
    '$runId has the ids that its events had, except those after the last response that no later execution names',
    async ({ runId, links, record }) => {
      expect(namedIds(await readRecord(runId, links), links)).toEqual(namedIds(record, links));
    },
  );
});
