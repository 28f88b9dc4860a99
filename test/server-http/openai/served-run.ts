import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { resultFrom } from '../../../src/core/domain/result.ts';
import { newStep } from '../../../src/core/domain/tool-calls.ts';
import { defineAgent } from '../../../src/index.ts';
import { type Caller, createHandler, type Handler, type HandlerOptions } from '../../../src/server/index.ts';
import { clientWithRun } from '../requests.ts';
import type { ToldRun } from './told-run.ts';

/** The agent that runs are of. */
export const clerk = defineAgent({ name: 'clerk', model: 'scripted/m' });

/** A service whose only run is this one, the requested starts, and the offsets of the pages of the record that it has read. */
export function served(
  run: ToldRun,
  options: HandlerOptions & { caller?: Partial<Caller>; removed?: number } = {},
): { handler: Handler; calls: unknown[][]; pages: number[] } {
  const { caller, removed = 0, ...rest } = options;
  const calls: unknown[][] = [];
  const pages: number[] = [];
  async function* stream() {
    yield* run.items;
  }
  async function* events() {
    yield* run.events;
  }
  // Pages of the record, as a worker answers them: the end of the record has an empty one.
  const context = async ({ from = 0 }: { from?: number } = {}) => {
    const total = removed + run.events.length;
    if (from < removed) throw new LonghaulError('history_removed', 'The server has removed it');
    if (from < total) pages.push(from);
    return { from, total, events: run.events.slice(from - removed, from - removed + 15) };
  };
  const methods = {
    context,
    stream: ({ signal: _ }: { signal: AbortSignal }) => stream(),
    events,
    status: async () => ({
      agentName: 'clerk',
      startTime: '2026-11-25T10:00:00.000Z',
      status: run.result?.status ?? 'pending_confirmation',
      waitingFor: run.result === undefined ? ['refund'] : [],
    }),
    result: async ({ steps = false }: { steps?: boolean } = {}) => {
      if (run.result === undefined) throw new LonghaulError('wait_timeout', 'The run continues');
      if (!steps) return resultFrom(run.result);
      return resultFrom({
        ...run.result,
        steps: [{ ...newStep(1), finishReason: run.items.findLast((one) => one.type === 'step')?.step.finishReason ?? 'stop' }],
      });
    },
    cancel: async (...parameters: unknown[]) => {
      calls.push(['cancel', ...parameters]);
      return 'requested';
    },
  };
  const others = {
    start: async (agent: unknown, given: unknown) => {
      calls.push(['start', agent === clerk ? 'clerk' : agent, given]);
      return { runId: run.runId };
    },
    temporal: { options: { namespace: 'default' }, workflowService: { describeWorkflowExecution: async () => ({}) } },
  };
  const whole: Caller = { id: 'ops', scopes: ['runs:read', 'runs:write'], ...caller };
  const handler = createHandler(clientWithRun(methods, others), {
    agents: [clerk],
    authenticate: () => whole,
    onError: () => undefined,
    ...rest,
  });
  return { handler, calls, pages };
}
