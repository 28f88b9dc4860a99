import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { ExportLine } from '../../src/client/index.ts';
import { readBack } from '../../src/client/read-back.ts';
import { recordsInOrder, type RunRecord } from '../../src/domain/run-record.ts';
import { type RecordedChainLink, recordedChains } from './recorded-histories.ts';

/** What a run said of itself when its history was recorded, while its worker answered. */
function recordOf(runId: string): RunRecord[] | undefined {
  const file = new URL(`../replay/records/${runId}.jsonl`, import.meta.url);
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ExportLine);
  return lines.filter((line) => line.type === 'event' || line.type === 'step');
}

/** The same, from the loop run over the history. */
async function readRecord(runId: string, links: readonly RecordedChainLink[]): Promise<RunRecord[]> {
  const records: RunRecord[] = [];
  for (const [place, { recorded }] of links.entries()) {
    const { state } = await readBack(runId, recorded, links[place + 1]?.recorded.carry);
    if (state === undefined) continue;
    const { firstOffset, context, steps } = state;
    records.push(...recordsInOrder({ firstOffset, events: context.events, firstStep: context.currentStep - steps.length, steps }));
  }
  return records;
}

/** Ids that only the workflow knew are derived when a history is read. */
function withoutIds(records: readonly RunRecord[]): object[] {
  return records.map((record) => ({ ...record, id: undefined }));
}

const chains = [...(await recordedChains())].flatMap(([runId, links]) => {
  const record = recordOf(runId);
  return record === undefined ? [] : [{ runId, links, record }];
});

describe('a recorded run', () => {
  test('has been recorded in every way in which a run can be talked to', () => {
    const kinds = new Set(chains.flatMap(({ record }) => record.flatMap((one) => (one.type === 'event' ? Object.keys(one) : []))));
    const told = ['decision', 'refused', 'raised', 'partial', 'interrupted', 'estimated'];
    expect(told.filter((kind) => !kinds.has(kind))).toEqual([]);
  });

  test.each(chains)(
    '$runId has the same events and steps when its history is run through the loop again',
    async ({ runId, links, record }) => {
      expect(withoutIds(await readRecord(runId, links))).toEqual(withoutIds(record));
    },
  );
});
