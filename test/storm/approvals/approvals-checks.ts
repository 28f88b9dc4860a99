import type { Decision } from '../../../src/core/domain/approvals.ts';
import { type Answer, untruth } from './answers.ts';
import { type Check, unless } from '../../processes/command.ts';
import { callOf, type Effect, effectProblems } from '../processes/ledger.ts';

/** A decided run, according to its record. */
export interface DecidedRun {
  runId: string;
  /** Its status, or the reason why it has no status. */
  status: string;
  output: string;
  decisions: Decision[];
}

/** All data after the storm. */
export interface ApprovalsRecord {
  runs: DecidedRun[];
  answers: Answer[];
  effects: Effect[];
  /** The number of runs that waited at the same time. */
  waited: number;
}

/** The checks. The number of a run's only payment is in its id. */
export function approvalChecks({ runs, answers, effects, waited }: ApprovalsRecord): Check[] {
  const winners = new Map(runs.flatMap(({ runId, decisions: [winner] }) => (winner === undefined ? [] : [[runId, winner] as const])));
  const approved = runs.map(({ runId }) => [callOf({ runId, number: numberOf(runId) }), winners.get(runId)?.type === 'approve'] as const);
  return [
    { name: 'all runs wait at once', problems: unless(waited === runs.length, `${waited} of ${runs.length} runs waited`) },
    {
      name: 'no run is lost: all complete',
      problems: runs.flatMap(({ runId, status }) => unless(status === 'completed', `run "${runId}": ${status}`)),
    },
    {
      name: 'each run sees exactly one decision',
      problems: runs.flatMap(({ runId, decisions }) =>
        unless(decisions.length === 1, `run "${runId}" has ${decisions.length}: ${decisions.map(({ id }) => id).join(', ')}`),
      ),
    },
    {
      name: 'the model reads the decision',
      problems: runs.flatMap((run) => unless(run.output === expectedOutput(run), `run "${run.runId}" answered "${run.output}"`)),
    },
    { name: 'an approved call takes effect once, a rejected call never', problems: effectProblems(effects, new Map(approved)) },
    { name: 'every client gets a truthful answer', problems: answers.flatMap((answer) => answerProblem(answer, winners)) },
  ];
}

function answerProblem(answer: Answer, winners: ReadonlyMap<string, Decision>): string[] {
  const winner = winners.get(answer.sent.runId);
  const problem = winner === undefined ? `run "${answer.sent.runId}" has no decision` : untruth(answer, winner);
  return problem === undefined ? [] : [problem];
}

function numberOf(runId: string): number {
  return Number(runId.split('-').at(-1));
}

function expectedOutput({ runId, decisions: [winner] }: DecidedRun): string {
  return winner?.type === 'approve' ? `paid ${numberOf(runId)}` : 'User denied the tool execution.';
}
