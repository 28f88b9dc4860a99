import type { Decision } from '../core/domain/approvals.ts';
import { LonghaulError } from '../core/domain/errors.ts';
import { isJsonObject } from '../core/domain/json.ts';
import { decisionProblem, messageProblem, raiseProblem } from '../core/input-checks.ts';
import type { UPDATES } from '../core/protocol.ts';

/** Throws if the run would refuse the form of an Update. */
type UpdateCheck = (runId: string, input: unknown) => void;

const CHECKS: { readonly [Name in keyof typeof UPDATES]?: UpdateCheck } = {
  approve: decisionCheck('approve'),
  reject: decisionCheck('reject'),
  respond: decisionCheck('respond'),
  send(runId, message) {
    const problem = messageProblem(message);
    if (problem !== undefined) throw new LonghaulError(problem.code, `The message to run "${runId}" was not sent: ${problem.message}`);
  },
  raise(runId, input) {
    const problem = raiseProblem(input);
    if (problem !== undefined) throw new LonghaulError('invalid_input', `The limits of run "${runId}" were not raised: ${problem}`);
  },
};

function decisionCheck(type: Decision['type']): UpdateCheck {
  return (_, decision) => {
    const problem = decisionProblem(type, decision);
    if (problem === undefined) return;
    const { callId = '' }: { callId?: unknown } = isJsonObject(decision) ? decision : {};
    const call = typeof callId === 'string' ? ` "${callId}"` : '';
    throw new LonghaulError('invalid_input', `The decision on call${call} was not sent: ${problem}`);
  };
}

/** Throws before an Update is sent if the run would refuse its form. Clients and the runs of tests in memory have these errors. */
export function checkUpdate(name: keyof typeof UPDATES, runId: string, input: unknown): void {
  CHECKS[name]?.(runId, input);
}
