import type { CodeJournal } from '../../src/core/domain/code/journal.ts';
import { BYTE_BUDGETS } from '../../src/core/domain/json/byte-budget.ts';
import { cutText } from '../../src/core/domain/content/cut-content.ts';
import type { RunSegmentOutput } from '../../src/core/domain/code/segment-messages.ts';
import { shortId } from '../tool-calls/short-id.ts';
import type { LostNamespace } from './rebuild.ts';
import type { SegmentWork } from './segment-work.ts';

/** Names of each kind that the model is told. */
const TOLD = 50;

/** Returns the result of a cell that cannot run, because the names and values that it begins with are lost. */
export function lostOutput({ runtime, input }: SegmentWork, lost: LostNamespace, journal: CodeJournal): RunSegmentOutput {
  const begun = input.segment > 0;
  const made = countedNames(journal);
  const text = [
    `The names and values of earlier cells are lost: ${lost.reason}.`,
    begun ? 'This cell was ended before its end.' : 'This cell was not run.',
    ...(lost.names.length === 0 ? [] : [`Lost names: ${list(lost.names)}.`]),
    ...(made.length === 0
      ? []
      : [`Calls that ${begun ? 'this cell and earlier ones' : 'earlier cells'} have made, which are not undone: ${list(made)}.`]),
    'Define again what you need.',
  ].join(' ');
  const content = [cutText(runtime.secrets.redact(text.toWellFormed()), BYTE_BUDGETS.errorMessage)];
  return { type: 'ended', id: shortId(), content, isError: true, isLost: true, durationMs: 0 };
}

/** Returns the tools that cells have called, each with the number of its calls. */
function countedNames({ cells }: CodeJournal): string[] {
  const counts = new Map<string, number>();
  for (const { tools } of cells.flatMap(({ segments }) => segments)) {
    for (const name of tools ?? []) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} (${count} times)`));
}

function list(names: readonly string[]): string {
  const told = names.slice(0, TOLD).join(', ');
  return names.length > TOLD ? `${told} and ${names.length - TOLD} more` : told;
}
