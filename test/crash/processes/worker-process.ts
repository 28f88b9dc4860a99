import { NativeConnection } from '@temporalio/worker';
import { flushCompileCache } from 'node:module';
import { createWorker, fileMemory, prometheusMetrics, telemetry } from '../../../worker/index.ts';
import { coderAgent, coderModel } from '../coder.ts';
import { answerRequests, readSetting, reply } from '../../processes/program.ts';
import { quietRuntime } from '../../processes/quiet-runtime.ts';
import { activityPoints, currentExecution, watchCheckpoints, CrashTrigger } from '../points/activity-points.ts';
import { ofTopRun } from '../points/points.ts';
import { agentsInOutages, failingModels } from '../outages.ts';
import { errand, errandModel } from '../program/errand.ts';
import type { FromWorker, ToWorker, WorkerSetting } from './crash-testbed.ts';
import { attendant, burstingAttendant, attendantModel } from '../session/conversation.ts';
import { Ledger } from './ledger.ts';
import { burstingAgent, referenceAgent, referenceModel } from '../reference/reference-agent.ts';
import { delegation, delegationModel } from '../tree/delegation.ts';

/** A worker of the crash matrix, in a separate process. */

const setting = readSetting<WorkerSetting>();
quietRuntime({ core: 'OFF' });

const ledger = new Ledger(setting.ledger);
const trigger = new CrashTrigger((runId, point) => ledger.reached(runId, point));

function reached(workflowId: string, point: string): void {
  const top = ofTopRun(workflowId, point);
  trigger.reached(top.runId, top.point);
}

/** Counts a call of a model. */
function asked(): void {
  const execution = currentExecution();
  if (execution === undefined) throw new Error('A model was called outside of an activity');
  ledger.ask(execution.runId, execution.told);
}

if (setting.collector !== undefined) process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = setting.collector;

const connection = await NativeConnection.connect({ address: setting.address });
watchCheckpoints(connection, reached);
const worker = await createWorker({
  ...(setting.collector === undefined ? {} : { telemetry: await telemetry({ meterProvider: prometheusMetrics() }) }),
  agents: [
    referenceAgent(ledger, setting.onceTimeoutMs),
    burstingAgent(ledger, setting.onceTimeoutMs),
    coderAgent(ledger, setting.onceTimeoutMs),
    delegation((act) => ledger.act(act)),
    attendant((act) => ledger.act(act)),
    burstingAttendant((act) => ledger.act(act)),
    ...agentsInOutages((act) => ledger.act(act)),
  ],
  programs: [errand((act) => ledger.act(act))],
  providers: {
    reference: referenceModel(() => currentExecution()?.movesOn()),
    coder: coderModel(),
    errand: errandModel(asked),
    delegation: delegationModel(asked),
    attendant: attendantModel(asked),
    outages: failingModels({ asked, movesOn: () => currentExecution()?.movesOn() }),
  },
  memory: fileMemory({ file: setting.memory }),
  connection,
  namespace: setting.namespace,
  taskQueue: setting.taskQueue,
  heartbeatEvery: setting.heartbeatMs,
  continueAsNew: { events: setting.eventsOfExecution },
  notify: ({ runId, callId, digest }) => reply<FromWorker>({ type: 'waiting', runId, callId, digest }),
  authorize: ({ by }) => ({ as: by ?? 'nobody' }),
  worker: {
    workflowBundle: { codePath: setting.bundlePath },
    // A task for a dead worker waits this long on that worker's own queue.
    stickyQueueScheduleToStartTimeout: 500,
    workflowThreadPoolSize: 1,
    ...(setting.cached === undefined ? {} : { maxCachedWorkflows: setting.cached }),
    sinks: { crash: { reached: { fn: ({ workflowId }, point: string) => reached(workflowId, point), callDuringReplay: false } } },
    interceptors: { activity: [activityPoints(reached)] },
  },
});
// Otherwise it is written at the end of a process, and this process will be killed.
flushCompileCache();
answerRequests<ToWorker, FromWorker>({
  arm: ({ kill }) => {
    trigger.arm(kill);
    return { type: 'armed' };
  },
});
await worker.run();
