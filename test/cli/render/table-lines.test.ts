import { expect, test } from 'vitest';
import { listLines } from '../../../src/cli/commands/list.ts';
import { sessionLines } from '../../../src/cli/commands/sessions.ts';
import { cutToWidth, leastOfIds, padToWidth, tableLines, textWidth } from '../../../src/cli/output.ts';
import { AT } from '../pending-approvals.ts';

const look = (_look: string, text: string): string => text;

/** Columns of terminals, from `wcwidth` and what terminals with emoji show. */
const WIDTHS: [text: string, width: number][] = [
  ['', 0],
  ['clerk-1', 7],
  ['Größe', 5],
  ['e\u0301', 1],
  ['\u200b', 0],
  ['注文', 4],
  ['ご注文42', 8],
  ['ﾃｽﾄ', 3],
  ['ＡＢ', 4],
  ['한국어', 6],
  ['🙂', 2],
  ['👩‍👩‍👧', 2],
  ['👍🏽', 2],
  ['🇩🇪', 2],
  ['⚠️', 2],
  ['⚠', 1],
  ['→ …', 3],
  ['𠮷', 2],
];

test.each(WIDTHS)('%j takes %i columns', (text, width) => {
  expect(textWidth(text)).toBe(width);
  expect(textWidth(padToWidth(text, 10))).toBe(10);
});

test.each([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 4, 'abc…'],
  ['ab cdef', 4, 'ab…'],
  ['注文番号', 8, '注文番号'],
  ['注文番号', 7, '注文番…'],
  ['注文番号', 6, '注文…'],
  ['👩‍👩‍👧x', 2, '…'],
  ['abc', 1, '…'],
  ['abc', 0, ''],
])('%j cut to %i columns is %j', (text, width, cut) => {
  expect(cutToWidth(text, width)).toBe(cut);
});

const uuid = (end: string): string => `refund-desk-9850e789-8c32-447f-bbc7-3d6b1108${end}`;

const runs = ['0001', 'a002', 'ffff'].map((end, index) => ({
  runId: `refund-desk-${index}${uuid(end).slice(13)}`,
  kind: 'agent' as const,
  agentName: 'refund-desk-of-the-shop',
  status: 'pending_confirmation' as const,
  startTime: AT,
  endTime: AT,
  waitingFor: ['refund', 'send_mail'],
  user: index === 1 ? '田中さくら' : 'ada.lovelace@example.org',
  tenant: 'acme',
  tags: ['vip', 'europe'],
  title: 'The lamp arrived broken, and I want my money back 🙂',
  question: 'My lamp arrived broken. I want my money back. It is order 42.',
}));

test.each([30, 40, 60, 79, 80, 100, 120, 200])('a list of runs fits a terminal of %i columns, and no line is empty', (columns) => {
  const lines = listLines(runs, { look, columns });
  expect(lines).toHaveLength(runs.length + 1);
  for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(columns);
  expect(lines[0]).toMatch(/^RUN/);
});

test('on 80 columns a list of runs has the run, its agent, its status, and its wait', () => {
  const [header = '', ...rows] = listLines(runs, { look, columns: 80 });
  expect(header).toMatch(/^RUN +AGENT +STATUS .*WAITING FOR/);
  for (const row of rows) expect(row).toContain('pending_confirmation');
});

test('ids that are cut still name one run each', () => {
  const ids = listLines(runs, { look, columns: 60 })
    .slice(1)
    .map((line) => line.split('  ')[0]?.replace('…', '') ?? '');
  for (const id of ids) expect(runs.filter(({ runId }) => runId.startsWith(id))).toHaveLength(1);
});

test('a wide terminal, and an output that is not a terminal, get every cell whole', () => {
  for (const output of [{ look }, { look, columns: 400 }]) {
    const text = listLines(runs, output).join('\n');
    expect(text).not.toContain('…');
    for (const run of runs) expect(text).toContain(run.runId);
  }
});

test('the columns of wide text are aligned', () => {
  const rows = [
    ['注文', 'a'],
    ['order', 'b'],
  ];
  const lines = tableLines(['NAME', 'X'], rows, { look });
  expect(lines.map((line) => textWidth(line))).toEqual([8, 8, 8]);
});

test('a list of sessions fits a terminal, too', () => {
  const sessions = runs.map(({ runId, kind: _, ...entry }) => ({ sessionId: runId, ...entry }));
  for (const line of sessionLines(sessions, { look, columns: 80 })) expect(textWidth(line)).toBeLessThanOrEqual(80);
});

test.each([
  [[], 14],
  [['a'], 14],
  [['clerk-1', 'clerk-2'], 14],
  [['a'.repeat(20), `${'a'.repeat(19)}b`], 21],
  [['p', `p/${'c'.repeat(60)}`, `p/${'c'.repeat(59)}d`], 36],
])('ids %j need %i columns', (ids, least) => {
  expect(leastOfIds(ids)).toBe(least);
});
