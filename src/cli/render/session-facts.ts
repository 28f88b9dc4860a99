import { counted, printable, printableLine } from '../../core/domain/text.ts';
import { notRunTexts } from '../../core/domain/tool-calls.ts';
import { dollars } from '../../core/domain/usage.ts';
import type { RunRecord } from '../../core/domain/record.ts';
import { sessionTotals, type SessionView } from '../../core/domain/sessions.ts';
import { pointInTime } from './point-in-time.ts';

/** Returns the facts of a session, as names and values: its title, its turns, and the amounts of all turns against its limits. */
export function sessionFacts(session: SessionView, startTime: string | null): [name: string, value: string][] {
  const { title, limits, limitReached } = session;
  const until = limits.deadlineMs === null || startTime === null ? undefined : pointInTime(Date.parse(startTime) + limits.deadlineMs);
  const facts: [string, string | undefined][] = [
    ['Title', title === undefined ? undefined : printableLine(title)],
    ['Turns', turnsText(session)],
    ['Used', usedText(session)],
    ['Deadline', until],
    ['Limit', limitReached === undefined ? undefined : `${limitReached.message}: messages are refused until the limit is raised`],
  ];
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] satisfies [string, string]]));
}

function turnsText({ turns, turn, limits, idleSince }: SessionView): string {
  const goesOn = turn === undefined ? '' : `, turn ${turn} goes on`;
  const idle = turn === undefined && idleSince !== undefined ? `, the last one ended at ${pointInTime(idleSince)}` : '';
  return `${turns}${ofAtMost(limits.turns)}${goesOn}${idle}`;
}

/** Returns the amounts of all turns, with those of the runs below: limits count these. */
function usedText({ spent, limits }: SessionView): string {
  const { tokens, cost } = sessionTotals(spent);
  return [
    `${tokens}${ofAtMost(limits.totalTokens)} tokens`,
    ...(cost === 0 && limits.costUsd === null
      ? []
      : [`${dollars(cost)}${limits.costUsd === null ? '' : ` of at most ${dollars(limits.costUsd)}`}`]),
    counted(spent.stepsUsed, 'step'),
    counted(spent.toolCallsTotal, 'tool call'),
    ...notRunTexts(spent.toolCallsNotRun, { times: ' ×', name: printable }),
  ].join(', ');
}

function ofAtMost(limit: number | null): string {
  return limit === null ? '' : ` of at most ${limit}`;
}

/** Returns the number of steps of the newest turn of a session, which `goesOn` or has ended, from its records. */
export function stepsOfNewestTurn(records: readonly RunRecord[], { goesOn }: { goesOn: boolean }): number {
  let sinceTurn = 0;
  let ofTurn = 0;
  for (const record of records) {
    if (record.type === 'step') sinceTurn += 1;
    else if (record.turn !== undefined) [ofTurn, sinceTurn] = [sinceTurn, 0];
  }
  return goesOn ? sinceTurn : ofTurn;
}
