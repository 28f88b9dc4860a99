import type { HostedCall, HostedTool } from '../../../src/core/domain/content.ts';
import { errorMessage, ModelCallError } from '../../../src/core/domain/errors.ts';
import { isJsonObject } from '../../../src/core/domain/json.ts';
import { AnswerFault } from '../errors/error-body.ts';
import { textIn } from '../openai/message-order.ts';
import { hostedInput } from '../openai/responses-answer.ts';
import type { AiSdkModel } from './language-model.ts';
import type { Entry } from './layout.ts';

/** Returns a hosted tool in the format of both specifications. */
export function providerTool({ id, name, args }: HostedTool): object {
  return { type: 'provider', id, name, args };
}

/** The facts about a model that identify its hosted tools. */
type Hosting = Pick<AiSdkModel, 'provider' | 'modelId'>;

/** Returns the id of the first tool of another provider than the model's, or undefined. */
export function foreignTool(hosted: readonly HostedTool[] = [], { provider, modelId }: Hosting): string | undefined {
  const names = new Set(provider.split(/[./-]/));
  // A gateway passes them on, Azure has OpenAI's, and Bedrock has Claude's.
  if (names.has('gateway')) return undefined;
  if (names.has('azure')) names.add('openai');
  if (names.has('bedrock') && /anthropic|claude/.test(modelId)) names.add('anthropic');
  return hosted.find(({ id }) => !names.has(id.slice(0, id.indexOf('.'))))?.id;
}

/** Throws `model_bad_request` if a package says that it left a hosted tool out of the request: the answer would be different without it. */
export function requireHosted(hosted: readonly HostedTool[] = [], warnings: unknown, model: string, { provider }: Hosting): void {
  if (!Array.isArray(warnings)) return;
  for (const warning of warnings as unknown[]) {
    if (!isJsonObject(warning) || !textIn(warning['type']).startsWith('unsupported')) continue;
    const text = JSON.stringify(warning);
    const left = hosted.find(({ id }) => text.includes(id) || warning['feature'] === `${id.slice(id.indexOf('.') + 1)} tool`);
    if (left === undefined) continue;
    const why = typeof warning['details'] === 'string' ? `: ${warning['details'].slice(0, 300)}` : '';
    throw new ModelCallError(
      'model_bad_request',
      `Provider "${provider}" of model "${model}" does not take the hosted tool "${left.id}"${why}`,
    );
  }
}

/** Returns the calls that the provider made itself, with their outcome. */
export function hostedCalls(layout: readonly Entry[]): HostedCall[] {
  const results = new Map(layout.flatMap((entry) => (entry.t === 'hosted-result' ? [[entry.id, entry]] : [])));
  return layout.flatMap((entry): HostedCall[] => {
    if (entry.t !== 'hosted-call') return [];
    const { id, name, input } = entry;
    const { output, isError } = results.get(id) ?? {};
    const given = typeof input === 'string' ? input : jsonText(input);
    // OpenAI's Responses API has the search query only in the result.
    const text = (given === '{}' && isJsonObject(output) && hostedInput(output)) || given;
    return [{ name, ...(text === '' ? {} : { input: text }), ...(isError ? { isError } : {}) }];
  });
}

function jsonText(input: unknown): string {
  try {
    return JSON.stringify(input) ?? '';
  } catch (error) {
    throw new AnswerFault('malformed', 'the input of a call made by the provider is not JSON', errorMessage(error));
  }
}
