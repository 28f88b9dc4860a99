import { UsageError } from '../../../src/core/domain/errors/error.ts';
import type { JsonValue } from '../../../src/core/domain/json/json.ts';
import { PYTHON_KEYWORDS } from '../../../src/core/code/language-names.ts';
import { injectionProblem } from '../../../src/core/execution/injected-value.ts';
import { MAX_INJECTED_LENGTH } from '../quickjs/frames.ts';
import { isVariableName } from '../quickjs/variable-name.ts';
import type { ProcessSettings } from './settings.ts';

const IDENTIFIER = /^[\p{ID_Start}_][\p{ID_Continue}]*$/u;
const SCRATCHPAD = ['store', 'recall', 'observe', 'memory', 'uncertain', 'explore', 'commit'];

/** Values that the next run of a process gets as names, as JSON. */
export class Injections {
  private readonly language: ProcessSettings['language'];
  /** Names that an executor gives to code. */
  private readonly provided: ReadonlySet<string>;
  private values = new Map<string, string>();

  constructor({ language, tools, scratchpad }: Pick<ProcessSettings, 'language' | 'tools' | 'scratchpad'>) {
    const names = tools.map(({ name }) => name);
    const besides = language === 'python' ? ['tools', 'gather', 'ToolError'] : ['tools'];
    this.language = language;
    this.provided = new Set([
      'print',
      'final_answer',
      ...(language === 'python' ? ['__builtins__', '__name__'] : ['console']),
      ...(names.length === 0 ? [] : [...besides, ...names]),
      ...(scratchpad ? SCRATCHPAD : []),
    ]);
  }

  add(name: string, value: JsonValue): void {
    const isName = this.language === 'python' ? IDENTIFIER.test(name) && !PYTHON_KEYWORDS.has(name) : isVariableName(name);
    if (!isName) throw new UsageError(`"${name}" cannot be injected: it is no name of a variable`);
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
