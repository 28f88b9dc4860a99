import { errorMessage } from '../core/domain/errors/error.ts';
import type { ExitName } from './exit-codes.ts';

/** How a command ends, and the line that says why. */
export interface ServerProblem {
  exit: ExitName;
  line: string;
}

/** The codes of gRPC that a command can meet once it is connected. */
const NOT_FOUND = 5;
const REFUSALS: readonly number[] = [7, 16];
const AWAY: readonly number[] = [4, 14];

/** What the server, or the way to it, has to say for an error; undefined where it is neither. */
export function serverProblem(error: unknown): ServerProblem | undefined {
  for (let cause = error; typeof cause === 'object' && cause !== null; cause = 'cause' in cause ? cause.cause : undefined) {
    if ('name' in cause && cause.name === 'NamespaceNotFoundError') return noNamespace(errorMessage(cause));
    if (isStatus(cause)) return fromStatus(cause);
  }
  return undefined;
}

/** An error of gRPC: recognised by its shape, because loading gRPC costs more than most commands. */
function isStatus(error: object): error is { code: number; details: string } {
  return 'code' in error && typeof error.code === 'number' && 'details' in error && typeof error.details === 'string';
}

function fromStatus({ code, details }: { code: number; details: string }): ServerProblem {
  if (AWAY.includes(code)) return { exit: 'unreachable', line: `The Temporal server does not answer any more (${details})` };
  if (REFUSALS.includes(code)) {
    return { exit: 'unreachable', line: `The Temporal server refuses the request (${details}): check the credentials and the namespace` };
  }
  if (code === NOT_FOUND) return noNamespace(details);
  return { exit: 'unexpected', line: `The Temporal server answers with an error: ${details}` };
}

function noNamespace(details: string): ServerProblem {
  return {
    exit: 'not_found',
    line: `The Temporal server does not know it: ${details.replace(/\.$/, '')}. Check --namespace, or TEMPORAL_NAMESPACE`,
  };
}
