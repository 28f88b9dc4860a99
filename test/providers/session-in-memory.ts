import { randomUUID } from 'node:crypto';
import type { RuntimeOptions } from '../../activities/create-runtime.ts';
import { runInput } from '../../src/client/start-workflow.ts';
import { refuseUpdate, takeUpdate } from '../../src/core/handlers/requests.ts';
import type { Event } from '../../src/core/domain/record.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import type { UPDATES } from '../../src/core/protocol.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { type ActivityHost, MemoryActivities, MemoryWorker, roundTrip } from '../../src/testing/memory/memory-worker.ts';
import { memoryClient } from '../../src/testing/memory/memory-environment.ts';
import { MemoryRun } from '../../src/testing/memory/memory-run.ts';
import { VirtualTime } from '../../src/testing/memory/virtual-time.ts';
import { DefaultLogger } from '@temporalio/worker';
import { isClosing, isSession } from '../../src/core/sessions/open-session.ts';
import { sessionOf, endedTurns } from '../../src/core/domain/sessions.ts';

/** What a caller does between two turns. */
export type SessionAct =
  | { type: 'says'; text: string }
  /** Another worker has the agent with another model, and the session is told to resolve its agent again. */
  | { type: 'deploys'; agent: AnyAgent }
  | { type: 'does'; act: () => void };

/** A session while it runs. */
export interface LiveSession {
  /** Interrupts the turn that runs. */
  interrupt: () => void;
  /** Sends a message during the turn. */
  send: (text: string, mode: 'queue' | 'steer' | 'interrupt') => void;
}

export interface SessionOutcome {
  result: RunResultFields;
  events: readonly Event[];
  /** The results of the turns, in order. */
  turns: readonly RunResultFields[];
}

const NAMESPACE = 'default';

/**
 * Runs a session of an agent in memory to its end: each act once the session waits, then it is closed. The loop and the activities are a
 * worker's, and time is virtual, as in `testAgent`.
 */
export async function sessionInMemory(
  agent: AnyAgent,
  options: (agent: AnyAgent) => RuntimeOptions,
  acts: readonly SessionAct[],
  began: (session: LiveSession) => void,
): Promise<SessionOutcome> {
  let worker = await MemoryWorker.open(options(agent));
  const workers = [worker];
  const left = [...acts];
  const failure = Promise.withResolvers<never>();
  const fail = (problem: unknown): void => failure.reject(problem instanceof Error ? problem : new Error(String(problem)));
  const time = new VirtualTime({ act: () => next(), stuck: () => fail('the session waits for something that never happens') });
  const runId = `session-${randomUUID()}`;
  const workflowExecution = { workflowId: runId, runId: randomUUID() };
  const host: ActivityHost = {
    time,
    worker: () => worker,
    info: { workflowExecution, workflowNamespace: NAMESPACE, activityNamespace: NAMESPACE, namespace: NAMESPACE, taskQueue: 'memory' },
    environment: {
      client: memoryClient(() => run, { slowMs: () => 0, heartbeat: () => ({ cancelRequested: false }) }),
      logger: new DefaultLogger('ERROR', () => undefined),
    },
  };
  const input = runInput(agent, { session: { limits: { turns: 100, totalTokens: 10_000_000 } } });
  const run = new MemoryRun(
    runId,
    { type: 'input', input },
    {
      time,
      activities: new MemoryActivities(host),
      child: () => {
        throw new Error('the sessions of the table start no agents');
      },
    },
  );

  const update = (name: keyof typeof UPDATES, content: object): void => {
    const sent = roundTrip(content);
    const refused = refuseUpdate(run, name, sent, time.now());
    if (refused !== undefined) throw new Error(`the session refused "${name}": ${refused.message}`);
    takeUpdate(run, name, sent, time.now());
    run.received();
  };
  let messages = 0;
  const send: LiveSession['send'] = (content, mode) => update('send', { id: `message ${++messages}`, content, mode });

  /** Acts if the session waits. Returns false if it has nothing to do. */
  async function next(): Promise<boolean> {
    const { state } = run;
    if (sessionOf(state ?? {})?.turn !== undefined || state === undefined || !isSession(state) || run.inbox.closed || isClosing(run.inbox))
      return false;
    const act = left.shift();
    try {
      if (act === undefined) update('close', {});
      else if (act.type === 'says') send(act.text, 'queue');
      else if (act.type === 'does') act.act();
      else {
        worker = await MemoryWorker.open(options(act.agent));
        workers.push(worker);
        update('refresh', {});
      }
    } catch (error) {
      fail(error);
    }
    return true;
  }

  began({ interrupt: () => update('interrupt', { reason: 'enough' }), send });
  const limit = setTimeout(() => fail('the session did not end within 30 seconds'), 30_000);
  try {
    const result = await Promise.race([run.execute(), failure.promise]);
    const { context } = run.state ?? {};
    const ofTurns = endedTurns(run.state ?? {}).map((turn) => ({ ...turn, steps: [] }));
    return { result, events: context?.events ?? [], turns: ofTurns };
  } finally {
    clearTimeout(limit);
    time.end();
    run.cancel('the test has ended');
    await Promise.all(workers.map((one) => one.close()));
  }
}
