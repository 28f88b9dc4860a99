import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { createAnthropic } from '@ai-sdk/anthropic';
import { aiSdk } from 'longhaul/worker';

/** Models of two packages of the AI SDK, by the names that agents use: `anthropic/claude-sonnet-4-5`, `bedrock/eu.anthropic.claude-…`. */
export const providers = {
  anthropic: aiSdk(async (id, { secret }) => createAnthropic({ apiKey: await secret('anthropic') })(id), {
    structuredOutput: true,
    contextTokens: 200_000,
  }),
  bedrock: aiSdk((id) => createAmazonBedrock({ region: 'eu-central-1' })(id), { idleTimeout: '2m' }),
};
