import { UsageError } from '../../../src/core/domain/errors/error.ts';
import type { JsonValue } from '../../../src/core/domain/json/json.ts';
import { injectionProblem } from '../../../src/core/execution/injected-value.ts';
import { MAX_INJECTED_LENGTH, type ThreadSettings } from './frames.ts';
import { isVariableName } from './variable-name.ts';

const ALWAYS = ['print', 'console', 'final_answer'];
const SCRATCHPAD = ['store', 'recall', 'observe', 'memory', 'uncertain', 'explore', 'commit'];

/** Values that the next run gets as names, as JSON. */
export class Injections {
  /** Names that an executor gives to code. */
  private readonly provided: ReadonlySet<string>;
  private values = new Map<string, string>();

  constructor({ tools, scratchpad }: Pick<ThreadSettings, 'tools' | 'scratchpad'>) {
    const names = tools.map(({ name }) => name);
    this.provided = new Set([...ALWAYS, ...(names.length === 0 ? [] : ['tools', ...names]), ...(scratchpad ? SCRATCHPAD : [])]);
  }

  get isEmpty(): boolean {
    return this.values.size === 0;
  }

  add(name: string, value: JsonValue): void {
    if (!isVariableName(name)) throw new UsageError(`"${name}" cannot be injected: it is no name of a variable`);
    if (this.provided.has(name)) throw new UsageError(`"${name}" cannot be injected: the executor has a function of this name`);
    const problem = injectionProblem(value, name);
    if (problem !== undefined) throw new UsageError(`"${name}" cannot be injected: ${problem}. Inject JSON alone`);
    const values = new Map(this.values).set(name, JSON.stringify(value));
    const length = [...values.values()].reduce((sum, json) => sum + json.length, 0);
    if (length > MAX_INJECTED_LENGTH) {
      throw new UsageError(
        `"${name}" cannot be injected: with it the values have ${length} characters of JSON, more than ${MAX_INJECTED_LENGTH}`,
      );
    }
    this.values = values;
  }

  /** Returns names and the JSON of their values, and forgets them. */
  take(): [string, string][] {
    const taken = [...this.values];
    this.clear();
    return taken;
  }

  clear(): void {
    this.values.clear();
  }
}
