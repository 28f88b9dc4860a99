import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { LonghaulPlugin } from '../../worker/index.ts';

const histories = fileURLToPath(new URL('./histories/', import.meta.url));
const plugin = new LonghaulPlugin({ agents: [], providers: {} });
let workflowBundle: Awaited<ReturnType<typeof bundleWorkflowCode>>;

beforeAll(async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const workflowsPath = fileURLToPath(new URL('../server/host-workflows.ts', import.meta.url));
  workflowBundle = await bundleWorkflowCode({ workflowsPath, plugins: [plugin], logger: new DefaultLogger('ERROR') });
}, 60_000);

async function replay(history: unknown): Promise<void> {
  await Worker.runReplayHistory({ workflowBundle, plugins: [plugin] }, history, 'replayed');
}

test.each(readdirSync(histories))('%s is replayed by the present loop', async (file) => {
  const history: unknown = JSON.parse(readFileSync(`${histories}${file}`, 'utf8'));
  await expect(replay(history)).resolves.toBeUndefined();
});

test('a history that the loop would not have made is caught', async () => {
  const history = JSON.parse(readFileSync(`${histories}completed-with-parallel-tools.json`, 'utf8')) as { events: HistoryJson[] };
  const scheduled = history.events.find((event) => event.activityTaskScheduledEventAttributes?.activityType.name === 'search');
  if (scheduled?.activityTaskScheduledEventAttributes === undefined) throw new Error('the history has no tool call');
  scheduled.activityTaskScheduledEventAttributes.activityType.name = 'another_tool';
  await expect(replay(history)).rejects.toThrow(/another_tool|[Nn]ondeterminism/);
});

interface HistoryJson {
  activityTaskScheduledEventAttributes?: { activityType: { name: string } };
}
