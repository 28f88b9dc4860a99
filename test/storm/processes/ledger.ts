import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** One attempt of a tool call that had its effect. */
export interface Effect {
  tool: string;
  runId: string;
  /** The subject of the call, which is unique in a run. */
  number: number;
  /** The idempotency key of the call. */
  key: string;
  /** The number of attempts before this one. */
  retry: number;
  /** Milliseconds since the epoch. */
  at: number;
}

/** Records an effect. A line is written at once, so that a killed worker leaves all of it or nothing. */
export function writeEffect(path: string, effect: Effect): void {
  appendFileSync(path, `${JSON.stringify(effect)}\n`);
}

/** All effects so far. */
export function readEffects(path: string): Effect[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Effect);
}

/**
 * The differences between the effects and the decisions: an approved call has one effect, by its key, and a rejected call has no effect. An
 * attempt that a killed worker could not report is repeated with the same key, and marked as a repetition.
 */
export function effectProblems(effects: readonly Effect[], expected: ReadonlyMap<string, boolean>): string[] {
  const problems = [...expected].flatMap(([call, isApproved]) => {
    const own = effects.filter((effect) => callOf(effect) === call);
    const keys = new Set(own.map(({ key }) => key));
    if (!isApproved && own.length > 0) return [`${call} was rejected and took effect`];
    if (isApproved && keys.size !== 1) return [`${call} was approved and took effect ${keys.size} times`];
    const attempts = new Set(own.map(({ retry }) => retry));
    return attempts.size < own.length ? [`${call}: an attempt took effect twice`] : [];
  });
  const strangers = effects.filter((effect) => !expected.has(callOf(effect)));
  return [...problems, ...strangers.map((effect) => `${callOf(effect)} took effect without a decision`)];
}

/** Names the call of an effect. */
export function callOf({ runId, number }: Pick<Effect, 'runId' | 'number'>): string {
  return `payment ${number} of run "${runId}"`;
}
