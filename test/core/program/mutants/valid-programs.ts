import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { type Choose, oneOf } from './choices.ts';

/** The tools that programs call. Some are named like properties of every object. */
export const TOOLS = ['find', 'constructor', 'toString'] as const;

/** The input of every program. */
export const INPUT: JsonObject = { ticket: 'Money back!', wait: '5s', n: 3, list: ['a', 'b', { c: 1 }] };

const INPUT_PROPERTIES: JsonObject = { ticket: { type: 'string' }, wait: {}, n: { type: 'number' }, list: { type: 'array' } };

const ANSWER: JsonObject = {
  type: 'object',
  properties: { n: { type: 'number' }, list: { type: 'array', items: { type: 'string' } }, kind: { enum: ['bug', 'refund'] } },
};

/** Makes a random program of all kinds of steps, without any problem. */
export function validProgram(choose: Choose): JsonObject {
  const units: JsonObject[] = [];
  const ended: string[] = [];
  for (let index = 0; index <= choose(3); index += 1) {
    const made = new UnitMaker(choose, `u${index}`);
    const steps = made.list(0, ['input.ticket', 'input.list', ...ended], 1 + choose(3));
    units.push({ name: `u${index}`, ...unitOptions(choose), steps });
    ended.push(...steps.map(({ name }) => `u${index}.${name}`));
  }
  const last = ended.at(-1) ?? 'input';
  return {
    version: 1,
    name: 'p',
    model: 'scripted/model',
    ...(choose(3) === 0 ? { input: { type: 'object', properties: INPUT_PROPERTIES } } : {}),
    units,
    ...(choose(2) === 0 ? { output: { last: `{{${last}}}`, of: 'the ticket {{input.ticket}}' } } : {}),
    ...(choose(4) === 0 ? { limits: { steps: 1 + choose(20), toolCalls: choose(5), deadline: '2d' } } : {}),
    ...(choose(5) === 0 ? { lenient: true } : {}),
  };
}

function unitOptions(choose: Choose): JsonObject {
  return {
    ...(choose(3) === 0 ? { persona: 'You answer {{input.ticket}}.' } : {}),
    ...(choose(5) === 0 ? { instructions: ['Be brief.', 'Be kind.'] } : {}),
    ...(choose(4) === 0 ? { anchors: ['NoHallucination'] } : {}),
    ...(choose(5) === 0 ? { effort: 'low' } : {}),
    ...(choose(6) === 0 ? { when: { of: 'input.n', is: { minimum: choose(6) } } } : {}),
  };
}

type Named = JsonObject & { name: string };

class UnitMaker {
  readonly #choose: Choose;
  readonly #unit: string;
  #steps = 0;

  constructor(choose: Choose, unit: string) {
    this.#choose = choose;
    this.#unit = unit;
  }

  /** Makes steps that run in order. `visible` are references to steps that have run before them. */
  list(depth: number, visible: readonly string[], length: number): Named[] {
    const seen = [...visible];
    return Array.from({ length }, () => {
      const step = this.#step(depth, seen);
      seen.push(step.name);
      return step;
    });
  }

  #step(depth: number, visible: readonly string[]): Named {
    const choose = this.#choose;
    const name = `S${(this.#steps += 1)}`;
    const reference = (): string => `{{${visible[choose(visible.length)] ?? 'input'}}}`;
    const when = choose(6) === 0 ? { when: { of: visible[choose(visible.length)] ?? 'input', is: { type: 'string' } } } : {};
    const inner = (seen: readonly string[] = visible): Named[] => this.list(depth + 1, seen, 1 + choose(2));
    const kind = choose(depth >= 2 ? 12 : 18);
    switch (kind) {
      case 12:
      case 13:
        return { name, ...when, parallel: { branches: [inner(), inner()] } };
      case 14:
      case 15:
        return {
          name,
          ...when,
          branch: {
            cases: [{ when: { of: visible[choose(visible.length)] ?? 'input', is: { type: 'array' } }, steps: inner() }],
            ...(choose(2) === 0 ? { else: inner() } : {}),
          },
        };
      case 16: {
        const as = `i${this.#unit}${this.#steps}`;
        return { name, ...when, forEach: { in: '{{input.list}}', as, atOnce: 1 + choose(3), steps: inner([...visible, as]) } };
      }
      case 17: {
        const steps = inner();
        const until = { of: steps.at(-1)?.name ?? name, is: { type: 'string' } };
        return { name, ...when, repeat: { until, atMost: 1 + choose(4), steps } };
      }
      default:
        return { name, ...withoutIdleTimeout({ ...when, ...this.#effect(kind, reference), ...this.#options() }) };
    }
  }

  #effect(kind: number, reference: () => string): JsonObject {
    const choose = this.#choose;
    switch (kind) {
      case 0:
      case 1:
        return { tool: { name: oneOf(choose, TOOLS), arguments: { query: `about ${reference()}`, more: [reference()] } } };
      case 2:
        return { agent: { name: 'desk', input: `Answer ${reference()}`, deps: { user: reference() }, limits: { steps: 3 } } };
      case 3:
        return { program: { name: 'archive', input: { letter: reference() } } };
      case 4:
        return { human: { question: `What of ${reference()}?`, deadline: '1h', ...(choose(2) === 0 ? { onDeadline: 'reject' } : {}) } };
      case 5:
        return { sleep: { for: oneOf<JsonValue>(choose, ['5s', 1000, '{{input.wait}}']) } };
      case 6:
        return { remember: { key: 'k', value: { at: reference() }, metadata: { by: 'p' } } };
      case 7:
        return { recall: { query: reference(), topK: 3, scope: 's' } };
      default:
        return { ask: { prompt: `Go on with ${reference()}.`, ...this.#rules() } };
    }
  }

  #rules(): JsonObject {
    const choose = this.#choose;
    return {
      ...(choose(2) === 0 ? { output: ANSWER } : {}),
      ...(choose(6) === 0 ? { type: 'Opinion', confidenceFloor: 0.5, requiredFields: ['n'], range: { min: 0, max: 9 } } : {}),
      ...(choose(6) === 0 ? { anchors: ['RequiresCitation'], effort: 'high', settings: { temperature: 0 } } : {}),
    };
  }

  #options(): JsonObject {
    const choose = this.#choose;
    const refine = { maxAttempts: 1 + choose(3), backoff: oneOf(choose, ['none', 'linear', 'exponential']), onExhaustion: 'skip' };
    return {
      ...(choose(3) === 0 ? { refine } : {}),
      ...(choose(5) === 0 ? { timeout: '30s' } : {}),
      ...(choose(8) === 0 ? { approval: oneOf<JsonValue>(choose, [true, { deadline: '1h', onDeadline: 'approve' }]) } : {}),
      ...(choose(8) === 0 ? { review: oneOf<JsonValue>(choose, [true, { deadline: '1h' }]) } : {}),
    };
  }
}

/** Steps that only wait have no timeout. */
function withoutIdleTimeout({ timeout, ...step }: JsonObject): JsonObject {
  return timeout === undefined || 'human' in step || 'sleep' in step ? step : { ...step, timeout };
}
