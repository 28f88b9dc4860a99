import { defineProgram } from '../../src/index.ts';
import { ask, forEach, type ProgramDefinition, unit } from '../../src/define/program/index.ts';
import type { ModelClient } from '../../src/core/domain/model.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { uniqueText } from '../script/unique-text.ts';

const MODEL = 'fake/model';

/** A program of that many steps. Each step quotes the previous answer. */
export function chainProgram(steps: number): ProgramDefinition<JsonValue, never> {
  const names = Array.from({ length: steps }, (_, index) => `S${index}`);
  const asks = names.map((name, index) => ask(name, index === 0 ? 'Begin.' : `Go on from: {{${names[index - 1]}}}`));
  return defineProgram({ name: `chain-${steps}`, model: MODEL, units: [unit('chain', {}, asks)], limits: { steps: steps + 1 } });
}

/** A program that asks about each item of a list, `atOnce` of them at once. */
export function fanOutProgram(atOnce: number): ProgramDefinition<JsonValue, never> {
  return defineProgram({
    name: 'fan-out',
    model: MODEL,
    input: { type: 'object', properties: { items: { type: 'array', items: { type: 'string' } } }, required: ['items'] },
    units: [unit('fan', {}, [forEach('Sums', '{{input.items}}', { as: 'text', atOnce }, [ask('Sum', 'Sum up {{text}}')])])],
    output: 'done',
  });
}

/** A model that answers at once, each time with another text of `chars` characters. */
export function textModel(chars: number): ModelClient {
  let calls = 0;
  return {
    capabilities: { structuredOutput: true },
    call: () => {
      calls += 1;
      const usage = { promptTokens: 10, completionTokens: 10, totalTokens: 20 };
      return Promise.resolve({ content: uniqueText(calls, chars), toolCalls: [], usage, finishReason: 'stop' });
    },
  };
}
