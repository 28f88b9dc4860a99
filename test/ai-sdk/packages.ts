import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createMistral } from '@ai-sdk/mistral';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createAmazonBedrock as createAmazonBedrockV3 } from '@ai-sdk-v3/amazon-bedrock';
import { createAnthropic as createAnthropicV3 } from '@ai-sdk-v3/anthropic';
import { createGoogleGenerativeAI as createGoogleV3 } from '@ai-sdk-v3/google';
import { createOpenAICompatible as createOpenAICompatibleV3 } from '@ai-sdk-v3/openai-compatible';
import type { AiSdkModel } from '../../worker/index.ts';
import { ANTHROPIC, BEDROCK, COMPATIBLE, type Family, GOOGLE, MISTRAL } from './families.ts';

/** A provider package in one of its generations. */
export interface Package {
  name: string;
  spec: 'v3' | 'v4';
  family: Family;
  /** A name of a model that thinks. */
  modelId: string;
  model: (url: string, id: string) => AiSdkModel;
}

const access = (url: string, { path }: Family): { baseURL: string; apiKey: string } => ({
  baseURL: `${url}${path}`,
  apiKey: 'a-key-of-tests',
});
const aws = (url: string): { baseURL: string; region: string; accessKeyId: string; secretAccessKey: string } => ({
  baseURL: `${url}${BEDROCK.path}`,
  region: 'us-east-1',
  accessKeyId: 'a',
  secretAccessKey: 'b',
});
const compatible = { name: 'compatible', includeUsage: true, supportsStructuredOutputs: true };
const CLAUDE = 'claude-sonnet-4-5';

/** Every package in every generation. */
export const PACKAGES: readonly Package[] = [
  { name: 'anthropic', spec: 'v4', family: ANTHROPIC, modelId: CLAUDE, model: (url, id) => createAnthropic(access(url, ANTHROPIC))(id) },
  { name: 'anthropic', spec: 'v3', family: ANTHROPIC, modelId: CLAUDE, model: (url, id) => createAnthropicV3(access(url, ANTHROPIC))(id) },
  {
    name: 'google',
    spec: 'v4',
    family: GOOGLE,
    modelId: 'gemini-3-pro',
    model: (url, id) => createGoogleGenerativeAI(access(url, GOOGLE))(id),
  },
  { name: 'google', spec: 'v3', family: GOOGLE, modelId: 'gemini-3-pro', model: (url, id) => createGoogleV3(access(url, GOOGLE))(id) },
  {
    name: 'amazon-bedrock',
    spec: 'v4',
    family: BEDROCK,
    modelId: `anthropic.${CLAUDE}`,
    model: (url, id) => createAmazonBedrock(aws(url))(id),
  },
  {
    name: 'amazon-bedrock',
    spec: 'v3',
    family: BEDROCK,
    modelId: `anthropic.${CLAUDE}`,
    model: (url, id) => createAmazonBedrockV3(aws(url))(id),
  },
  {
    name: 'openai-compatible',
    spec: 'v4',
    family: COMPATIBLE,
    modelId: 'glm-5',
    model: (url, id) => createOpenAICompatible({ ...access(url, COMPATIBLE), ...compatible })(id),
  },
  {
    name: 'openai-compatible',
    spec: 'v3',
    family: COMPATIBLE,
    modelId: 'glm-5',
    model: (url, id) => createOpenAICompatibleV3({ ...access(url, COMPATIBLE), ...compatible })(id),
  },
  { name: 'mistral', spec: 'v4', family: MISTRAL, modelId: 'mistral-large', model: (url, id) => createMistral(access(url, MISTRAL))(id) },
];
