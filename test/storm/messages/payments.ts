import { setTimeout as pause } from 'node:timers/promises';
import type { ListedApproval, LonghaulClient } from '../../../src/client/index.ts';
import { errorMessage } from '../../../src/core/domain/errors.ts';
import { atOnce } from '../../processes/at-once.ts';

/** The number of decisions in flight at the same time, each of them sent twice. */
const AT_ONCE = 10;
/** Milliseconds between two queries for pending approvals. */
const LOOK_EVERY_MS = 20;
/** One in this many payments is rejected. */
const REJECTED = 3;

/** The decisions on the payments of a run. */
export interface DecidedPayments {
  verdicts: Map<number, 'approve' | 'reject'>;
  /** Milliseconds until each decision was answered. */
  ms: number[];
  errors: string[];
}

/** Decides on this many payments of a run: two clients send each decision, with the same id at the same time. */
export async function decidePayments(
  deciders: readonly LonghaulClient[],
  runId: string,
  count: number,
  patienceMs: number,
): Promise<DecidedPayments> {
  const decided: DecidedPayments = { verdicts: new Map(), ms: [], errors: [] };
  const runs = deciders.map((client) => client.handle(runId));
  const deadline = Date.now() + patienceMs;
  while (decided.verdicts.size < count && Date.now() < deadline) {
    const waiting = await paymentsOf(runs[0], decided);
    await atOnce(waiting, AT_ONCE, async ({ waiting: one, number }) => {
      const type = number % REJECTED === 0 ? 'reject' : 'approve';
      decided.verdicts.set(number, type);
      const options = { id: `decision-${number}`, by: 'ann', timeout: patienceMs };
      await Promise.all(
        runs.map(async (run) => {
          const start = performance.now();
          try {
            await (type === 'approve' ? run.approve(one, options) : run.reject(one, options));
          } catch (error) {
            decided.errors.push(`decision on payment ${number}: ${errorMessage(error)}`);
          }
          decided.ms.push(performance.now() - start);
        }),
      );
    });
    await pause(LOOK_EVERY_MS);
  }
  if (decided.verdicts.size < count) decided.errors.push(`${decided.verdicts.size} of ${count} payments came to wait in time`);
  return decided;
}

/** The pending payments without a decision. */
async function paymentsOf(
  run: ReturnType<LonghaulClient['handle']> | undefined,
  { verdicts, errors }: DecidedPayments,
): Promise<{ waiting: ListedApproval; number: number }[]> {
  try {
    const pending = (await run?.approvals())?.pending ?? [];
    const payments = pending.map((waiting) => ({ waiting, number: Number(waiting.arguments['number']) }));
    return payments.filter(({ number }) => !verdicts.has(number));
  } catch (error) {
    errors.push(`asking what waits: ${errorMessage(error)}`);
    return [];
  }
}
