/** The subject of an approval, as its id carries it through a client. The run checks it again: a forged id decides nothing else. */
export interface ApprovalSubject {
  /** The run that waits: the session, or a run below it. */
  runId: string;
  callId: string;
  /** The digest of the call and its arguments. */
  digest: string;
  /** The turn of the session that waits. 1-based. */
  turn: number;
  /** The offset of the response with the call: a client that answers has what came before. */
  offset: number;
}

/** Returns the id of an approval: the same in every replay. */
export function approvalIdOf({ runId, callId, digest, turn, offset }: ApprovalSubject): string {
  return Buffer.from(JSON.stringify([runId, callId, digest, turn, offset])).toString('base64url');
}

/** Returns the subject of an approval by its id; undefined for a text that is none. */
export function approvalOf(id: string): ApprovalSubject | undefined {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(id, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts) || parts.length !== 5) return undefined;
  const [runId, callId, digest, turn, offset] = parts as unknown[];
  if (!isName(runId) || !isName(callId) || !isName(digest) || !isCount(turn) || !isCount(offset)) return undefined;
  return { runId, callId, digest, turn, offset };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
