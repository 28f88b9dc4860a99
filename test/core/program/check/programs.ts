import type { JsonObject } from '../../../../src/core/domain/json.ts';
import type { KnownNames } from '../../../../src/core/program/check/check-known.ts';
import { checkProgram } from '../../../../src/core/program/check/check-program.ts';

/** A program of one unit `u` with these steps. */
export function withSteps(...steps: JsonObject[]): JsonObject {
  return withUnits({ name: 'u', steps });
}

/** A program with these units. */
export function withUnits(...units: JsonObject[]): JsonObject {
  return { version: 1, name: 'p', model: 'scripted/model', units };
}

/** A step that asks a model. */
export function ask(name: string, prompt = 'Go.', options: JsonObject = {}): JsonObject {
  return { name, ask: { prompt, ...options } };
}

/** The problems of a document, each as one line. */
export function problemsOf(document: unknown, known?: KnownNames): string[] {
  return checkProgram(document, known).problems.map(({ path, message }) => `${path}: ${message}`);
}

/** The warnings of a document, each as one line. */
export function warningsOf(document: unknown, known?: KnownNames): string[] {
  return checkProgram(document, known).warnings.map(({ path, message }) => `${path}: ${message}`);
}

/** A program with every kind of step. */
export const FULL: JsonObject = {
  version: 1,
  name: 'everything',
  model: 'scripted/model',
  input: { type: 'object', properties: { ticket: { type: 'string' }, wait: { type: 'string' } }, required: ['ticket'] },
  limits: { steps: 50, deadline: '1h' },
  units: [
    {
      name: 'sort',
      persona: 'You sort the tickets of {{input.ticket}}.',
      anchors: ['NoHallucination'],
      steps: [
        {
          name: 'Kind',
          ask: {
            prompt: 'What is {{input.ticket}}?',
            output: {
              type: 'object',
              properties: {
                kind: { enum: ['refund', 'bug'] },
                score: { type: 'number' },
                parts: { type: 'array', items: { type: 'string' } },
              },
              required: ['kind', 'score'],
            },
            confidenceFloor: 0.8,
          },
          refine: { maxAttempts: 3, backoff: 'exponential', onExhaustion: 'fallback', fallback: 'Guess' },
          timeout: '30s',
        },
        { name: 'Guess', human: { question: 'What is {{input.ticket}}?', deadline: '1d', onDeadline: 'reject' } },
        { name: 'Wait', sleep: { for: '{{input.wait}}' } },
        {
          name: 'Both',
          parallel: {
            branches: [[ask('Left')], [ask('Right', '{{Kind.parts[0]}}'), { name: 'Keep', remember: { key: 'k', value: '{{Right}}' } }]],
          },
        },
        {
          name: 'Case',
          branch: {
            cases: [{ when: { of: 'Kind.score', is: { minimum: 0.8 } }, steps: [ask('Sure', '{{Left}} {{Keep}}')] }],
            else: [{ name: 'Look', recall: { query: '{{Left}}', topK: 3 } }],
          },
        },
      ],
    },
    {
      name: 'reply',
      needs: ['sort'],
      when: { of: 'sort.Kind.kind', is: { const: 'refund' } },
      steps: [
        { name: 'Find', tool: { name: 'find', arguments: { query: '{{sort.Case}}', limit: 5 } } },
        {
          name: 'Sums',
          forEach: {
            in: '{{Find.documents}}',
            as: 'document',
            atOnce: 8,
            steps: [ask('Sum', 'Sum up {{document.text}}', { anchors: ['RequiresCitation'] })],
          },
        },
        {
          name: 'Rounds',
          repeat: {
            atMost: 3,
            until: { of: 'Draft', is: { minLength: 10 } },
            steps: [ask('Draft', 'Write about {{Sums}}'), ask('Judge', 'Is {{Draft}} good?')],
          },
        },
        {
          name: 'Letter',
          agent: { name: 'desk', input: 'Send {{Draft}}', deps: { user: '{{input.ticket}}' } },
          review: true,
          approval: { deadline: '1h' },
        },
        { name: 'After', program: { name: 'archive', input: { letter: '{{Letter}}' } } },
      ],
    },
  ],
  output: { letter: '{{reply.Letter}}', kind: '{{sort.Kind.output.kind}}' },
};
