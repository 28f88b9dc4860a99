import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createMistral } from '@ai-sdk/mistral';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createAmazonBedrock as createAmazonBedrockV3 } from '@ai-sdk-v3/amazon-bedrock';
import { createAnthropic as createAnthropicV3 } from '@ai-sdk-v3/anthropic';
import { createGoogleGenerativeAI as createGoogleV3 } from '@ai-sdk-v3/google';
import { createOpenAICompatible as createOpenAICompatibleV3 } from '@ai-sdk-v3/openai-compatible';
import type { AiSdkModel } from '../../worker/index.ts';
import { ANTHROPIC, BEDROCK, COMPATIBLE, type Family, GOOGLE, MISTRAL } from './families.ts';
import { OPENAI } from './openai-family.ts';

/** A provider package of one generation. */
export interface Package {
  name: string;
  spec: 'v3' | 'v4';
  family: Family;
  /** A name of a model that thinks. */
  modelId: string;
  /** Returns a model whose API is at a URL. */
  at: (baseURL: string, id: string) => AiSdkModel;
  /** Returns a model of the fake server. */
  model: (url: string, id: string) => AiSdkModel;
}

const apiKey = 'a-key-of-tests';
const aws = { region: 'us-east-1', accessKeyId: 'a', secretAccessKey: 'b' };
const compatible = { apiKey, name: 'compatible', includeUsage: true, supportsStructuredOutputs: true };
const CLAUDE = 'claude-sonnet-4-5';
const GEMINI = 'gemini-3-pro';

const V4: readonly (readonly [name: string, family: Family, modelId: string, at: Package['at']])[] = [
  ['anthropic', ANTHROPIC, CLAUDE, (baseURL, id) => createAnthropic({ baseURL, apiKey })(id)],
  ['google', GOOGLE, GEMINI, (baseURL, id) => createGoogleGenerativeAI({ baseURL, apiKey })(id)],
  ['amazon-bedrock', BEDROCK, `anthropic.${CLAUDE}`, (baseURL, id) => createAmazonBedrock({ baseURL, ...aws })(id)],
  ['openai-compatible', COMPATIBLE, 'glm-5', (baseURL, id) => createOpenAICompatible({ baseURL, ...compatible })(id)],
  ['openai', OPENAI, 'gpt-5', (baseURL, id) => createOpenAI({ baseURL, apiKey })(id)],
  ['mistral', MISTRAL, 'mistral-large', (baseURL, id) => createMistral({ baseURL, apiKey })(id)],
];

const V3: typeof V4 = [
  ['anthropic', ANTHROPIC, CLAUDE, (baseURL, id) => createAnthropicV3({ baseURL, apiKey })(id)],
  ['google', GOOGLE, GEMINI, (baseURL, id) => createGoogleV3({ baseURL, apiKey })(id)],
  ['amazon-bedrock', BEDROCK, `anthropic.${CLAUDE}`, (baseURL, id) => createAmazonBedrockV3({ baseURL, ...aws })(id)],
  ['openai-compatible', COMPATIBLE, 'glm-5', (baseURL, id) => createOpenAICompatibleV3({ baseURL, ...compatible })(id)],
];

const packagesOf = (spec: Package['spec'], list: typeof V4): Package[] =>
  list.map(([name, family, modelId, at]) => ({ name, spec, family, modelId, at, model: (url, id) => at(`${url}${family.path}`, id) }));

/** Every package in every generation. */
export const PACKAGES: readonly Package[] = [...packagesOf('v4', V4), ...packagesOf('v3', V3)];
