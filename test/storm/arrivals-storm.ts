import type { Client } from '@temporalio/client';
import { Worker as Thread } from 'node:worker_threads';
import { runHistory } from '../../src/history/history-events.ts';
import { unless } from '../processes/command.ts';
import { atOnce } from '../processes/at-once.ts';
import type { Outcome, StormTestbed } from './processes/storm-testbed.ts';
import { agentOf } from './processes/storm-agents.ts';
import { secondsSince, timings } from '../processes/timings.ts';

/** Requests of this client at a time. */
const AT_ONCE = 20;

/** The options of this part. */
interface ArrivalsOptions {
  /** The number of runs that wait for the worker. */
  runs: number;
  /** The number of threads that keep the processors busy meanwhile. */
  hogs: number;
}

/** Many runs wait for a fresh worker on a busy machine. It must take only as many workflow tasks as it can finish in their time. */
export async function arrivalsStorm(testbed: StormTestbed, { runs, hogs }: ArrivalsOptions): Promise<Outcome> {
  const client = await testbed.connect();
  await testbed.worker.stop();
  const handles = await atOnce(
    Array.from({ length: runs }, (_, number) => number),
    AT_ONCE,
    (number) => client.start(agentOf('greeter', number), { input: `Guest ${number}`, taskQueue: testbed.taskQueue }),
  );
  testbed.say(`${runs} runs wait`);
  const threads = Array.from({ length: hogs }, () => new Thread('for (;;) Math.random();', { eval: true }));
  const begun = performance.now();
  try {
    await testbed.worker.start();
    const ready = secondsSince(begun);
    const ended = await Promise.all(
      handles.map(async (handle) => ({ result: await handle.result({ timeout: '10m' }), seconds: secondsSince(begun) })),
    );
    const seconds = secondsSince(begun);
    const lost = await atOnce(handles, AT_ONCE, ({ runId }) => lostTasks(client.temporal, runId));
    const failed = ended.flatMap(({ result }) =>
      result.status === 'completed' ? [] : [`${result.runId} has ended with ${result.status}`],
    );
    const twice = lost.flatMap((tasks, index) => unless(tasks === 0, `${handles[index]?.runId} has ${tasks} tasks that were done twice`));
    return {
      checks: [
        { name: 'every run completes', problems: failed },
        { name: 'no workflow task is done twice', problems: twice },
      ],
      figures: { runs, hogs, ready, seconds, secondsToEnd: timings(ended.map((one) => one.seconds)), tasksDoneTwice: twice.length },
    };
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
}

/** The number of workflow tasks of a run that have timed out. */
async function lostTasks(client: Client, runId: string): Promise<number> {
  let lost = 0;
  for await (const { workflowTaskTimedOutEventAttributes: timedOut } of runHistory(client, runId)) if (timedOut) lost += 1;
  return lost;
}
