// The worker of the chat page, in a separate process, so that a test can kill it in the middle of a sentence.
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { redisStreams } from 'longhaul/client';
import { createWorker } from 'longhaul/worker';
import { clerk } from '../../../examples/chat/agents.ts';
import { typingModel } from '../../../examples/chat-web/typing-model.ts';

Runtime.install({ logger: new DefaultLogger('ERROR') });

const { TEST_BUNDLE = '', TEST_ADDRESS = '', TEST_TASK_QUEUE = '', TEST_REDIS_URL = '' } = process.env;

const worker = await createWorker({
  address: TEST_ADDRESS,
  taskQueue: TEST_TASK_QUEUE,
  agents: [clerk],
  providers: { openai: typingModel() },
  streams: redisStreams({ url: TEST_REDIS_URL }),
  heartbeatEvery: 500,
  // A workflow task for a dead worker waits this long on that worker's own queue.
  worker: { stickyQueueScheduleToStartTimeout: 1_000, workflowBundle: { codePath: TEST_BUNDLE } },
});
process.stdout.write('ready\n');
await worker.run();
process.exit(0);
