import { checkProgram } from '../../../../src/core/program/check/check-program.ts';
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
  const program = withoutFallbacks(choose);
  for (let tries = choose(4); tries > 0; tries -= 1) addFallback(program, choose);
  return program;
}

/** Gives a step of a list another one as its fallback, unless the check refuses it there. */
function addFallback(program: JsonObject, choose: Choose): void {
  const lists: JsonObject[][] = [];
  const collect = (value: JsonValue): void => {
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value) && value.length > 1 && value.every((one) => typeof one === 'object' && one !== null && 'name' in one))
      lists.push(value as JsonObject[]);
    for (const member of Object.values(value)) collect(member);
  };
  for (const unit of program['units'] as JsonObject[]) collect(unit['steps'] ?? null);
  const list = lists[choose(Math.max(1, lists.length))];
  if (list === undefined) return;
  const step = list[choose(list.length)];
  const other = list[choose(list.length)];
  if (step === undefined || other === undefined || ['parallel', 'branch', 'forEach', 'repeat'].some((kind) => kind in step)) return;
  const before = step['refine'];
  step['refine'] = { maxAttempts: 1 + choose(2), onExhaustion: 'fallback', fallback: other['name'] ?? '' };
  if (checkProgram(program).problems.length === 0) return;
  if (before === undefined) delete step['refine'];
  else step['refine'] = before;
}

/** Makes a program whose steps have no fallbacks. */
function withoutFallbacks(choose: Choose): JsonObject {
  const units: JsonObject[] = [];
  const ended: string[] = [];
  for (let index = 0; index <= choose(3); index += 1) {
    const made = new UnitMaker(choose, `u${index}`);
    const steps = made.list(0, ['input.ticket', 'input.list', ...ended], 1 + choose(5));
    units.push({ name: `u${index}`, ...unitOptions(choose), steps });
    ended.push(...steps.flatMap(exported).map((name) => `u${index}.${name}`));
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

/** The steps that later ones may refer to. */
function exported(step: JsonObject): string[] {
  const { name, parallel, repeat } = step as { name: string; parallel?: { branches: JsonObject[][] }; repeat?: { steps: JsonObject[] } };
  return [name, ...[...(parallel?.branches ?? []), repeat?.steps ?? []].flat().flatMap(exported)];
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
      seen.push(...exported(step));
      return step;
    });
  }

  #step(depth: number, visible: readonly string[]): Named {
    const choose = this.#choose;
    const name = `S${(this.#steps += 1)}`;
    // Half of the references are to steps just before.
    const named = (): string => visible.at(choose(2) === 0 ? choose(visible.length) : -1 - choose(Math.min(4, visible.length))) ?? 'input';
    const reference = (): string => `{{${named()}}}`;
    const when = choose(6) === 0 ? { when: { of: visible[choose(visible.length)] ?? 'input', is: { type: 'string' } } } : {};
    const inner = (seen: readonly string[] = visible): Named[] => this.list(depth + 1, seen, 1 + choose(2));
    const kind = choose(depth >= 2 ? 12 : 20);
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
      case 16:
      case 17: {
        const as = `i${this.#unit}${this.#steps}`;
        return {
          name,
          ...when,
          forEach: { in: choose(2) === 0 ? '{{input.list}}' : reference(), as, atOnce: 1 + choose(3), steps: inner([...visible, as]) },
        };
      }
      case 18:
      case 19: {
        const steps = inner();
        const until = { of: steps.at(-1)?.name ?? name, is: choose(2) === 0 ? { type: 'string' } : { const: 'never' } };
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
        return { remember: { key: 'k', value: { at: reference(), and: [reference()] }, metadata: { by: 'p' } } };
      case 7:
        return { recall: { query: reference(), topK: 3, scope: 's' } };
      default:
        return { ask: { prompt: `Go on with ${Array.from({ length: 1 + choose(5) }, reference).join(', ')}.`, ...this.#rules() } };
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
