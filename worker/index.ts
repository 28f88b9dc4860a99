export { openai, type OpenAICapabilities, type OpenAIOptions } from '../activities/models/index.ts';
export { createWorker, type CreateWorkerOptions, type LonghaulWorker } from './create-worker.ts';
export { LonghaulPlugin, type LonghaulPluginOptions } from './plugin.ts';
