import { allSteps, type Outline, type OutlineStep, textAt, textsAt } from '../outline.ts';
import { type Problems, quoted } from '../problems.ts';
import { checkArguments } from './check-arguments.ts';
import type { KnownNames } from './known-names.ts';

/** Checks that what a program names outside of itself is known, and that literal arguments fit. */
export function checkKnown({ document, units }: Outline, known: KnownNames, problems: Problems): void {
  const check = new KnownCheck(known, problems);
  const model = textAt(document, 'model');
  check.model(model, 'model');
  for (const unit of units) {
    check.anchors(unit.value, unit.path);
    for (const step of allSteps(unit.steps)) check.step(step, model !== '');
  }
}

class KnownCheck {
  readonly #known: KnownNames;
  readonly #problems: Problems;
  readonly #tools: ByName<'tools'>;
  readonly #agents: ByName<'agents'>;
  readonly #programs: ByName<'programs'>;
  readonly #anchors: ByName<'anchors'>;

  constructor(known: KnownNames, problems: Problems) {
    this.#known = known;
    this.#problems = problems;
    this.#tools = byName(known.tools);
    this.#agents = byName(known.agents);
    this.#programs = byName(known.programs);
    this.#anchors = byName(known.anchors);
  }

  step({ kind, body, path }: OutlineStep, hasModel: boolean): void {
    const at = `${path}.${kind}`;
    const name = { text: textAt(body, 'name'), path: `${at}.name` };
    const lenientName = { ...name, lenient: true };
    switch (kind) {
      case 'ask':
        if (!hasModel && !('model' in body)) this.#problems.add(at, 'there is no model: write "model" here or at the program');
        this.model(textAt(body, 'model'), `${at}.model`);
        this.anchors(body, at);
        this.tools(body, at);
        return;
      case 'tool':
        return checkArguments(
          this.#find(this.#tools, 'tool', lenientName)?.schema,
          { value: body['arguments'] ?? {}, path: `${at}.arguments` },
          this.#problems,
        );
      case 'agent':
        return checkArguments(
          this.#find(this.#agents, 'agent', name)?.depsSchema,
          { value: body['deps'] ?? {}, path: `${at}.deps` },
          this.#problems,
        );
      case 'program':
        return checkArguments(
          this.#find(this.#programs, 'program', name)?.input,
          { value: body['input'] ?? {}, path: `${at}.input` },
          this.#problems,
        );
      case 'remember':
      case 'recall':
        if (this.#known.hasMemory === false) this.#problems.add(at, 'the worker has no memory: give it one with the option "memory"');
        return;
      default:
    }
  }

  /** Checks `provider/model`. */
  model(name: string, path: string): void {
    if (name === '') return;
    const slash = name.indexOf('/');
    if (slash <= 0 || slash === name.length - 1)
      return this.#problems.add(path, `the model ${quoted(name)} has no provider: write "provider/model"`);
    const provider = name.slice(0, slash);
    const { providers } = this.#known;
    if (providers === undefined || providers.includes(provider) || this.#known.isPartial === true) return;
    this.#problems.unknownName(path, `no provider of models is named ${quoted(provider)}`, { written: provider, known: providers });
  }

  anchors(value: OutlineStep['value'], path: string): void {
    for (const { text, index } of textsAt(value, 'anchors')) {
      this.#find(this.#anchors, 'anchor', { text, path: `${path}.anchors[${index}]`, lenient: true });
    }
  }

  tools(body: OutlineStep['body'], path: string): void {
    for (const { text, index } of textsAt(body, 'tools')) {
      this.#find(this.#tools, 'tool', { text, path: `${path}.tools[${index}]`, lenient: true });
    }
  }

  #find<One>(known: ReadonlyMap<string, One> | undefined, noun: string, { text, path, lenient = false }: NameAt): One | undefined {
    const found = known?.get(text);
    if (known === undefined || found !== undefined || text === '' || this.#known.isPartial === true) return found;
    this.#problems.unknownName(path, `no ${noun} is named ${quoted(text)}`, { written: text, known: known.keys(), lenient });
    return undefined;
  }
}

interface NameAt {
  text: string;
  path: string;
  lenient?: boolean;
}

type Item<Kind extends keyof KnownNames> = NonNullable<KnownNames[Kind]> extends readonly (infer One)[] ? One : never;
type ByName<Kind extends keyof KnownNames> = ReadonlyMap<string, Item<Kind>> | undefined;

function byName<One extends { name: string }>(items: readonly One[] | undefined): ReadonlyMap<string, One> | undefined {
  return items === undefined ? undefined : new Map(items.map((item) => [item.name, item]));
}
