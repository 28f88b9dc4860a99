import { defined, isJsonObject, type JsonObject, type JsonValue } from '../../core/domain/json.ts';
import type { AskDocument, ProgramDocument, RefineDocument, StepDocument, UnitDocument } from '../../core/domain/program-document.ts';
import type { ReasoningEffort } from '../../core/domain/reasoning-effort.ts';
import { checkProgram } from '../../core/program/check/check-program.ts';
import { invalidProgram, type Problem } from '../../core/program/check/problems.ts';
import { isReferenceName } from '../../core/program/references.ts';

/** Options that a compiled program does not contain. */
export interface CompiledProgramOptions {
  /** The name of the program. Default: `metadata.program_name`, else `axon-program`. */
  name?: string;
  /** The model of all its steps: `provider/model`. A compiled program names only its back end. */
  model?: string;
}

/**
 * Converts a compiled AXON program, as its `to_dict()` returns it, to a document that Longhaul runs. The document is lenient, like AXON:
 * unknown references stay as written, and unknown anchors are ignored. Throws `invalid_program` with the path of every part that is
 * unknown, malformed or without a counterpart.
 *
 * @example
 * const document = fromCompiledProgram(JSON.parse(await readFile('review.compiled.json', 'utf8')), { model: 'openai/gpt-5-mini' });
 * await client.runProgram(document, { input: {} });
 */
export function fromCompiledProgram(compiled: unknown, { name, model }: CompiledProgramOptions = {}): ProgramDocument {
  const reader = new CompiledReader();
  const program = reader.object('', compiled, PROGRAM);
  const metadata = reader.optionalObject('metadata', program['metadata']);
  const programName = name ?? (reader.text('metadata.program_name', metadata['program_name']) || 'axon-program');
  const backend = reader.text('backend_name', program['backend_name']);
  const units = reader.units(program['execution_units']);
  if (model === undefined && units.some(({ steps }) => steps.some(({ ask }) => ask !== undefined))) {
    const from = backend === '' ? 'no model' : `the back end "${backend}" and no model`;
    reader.problem('backend_name', `the program names ${from}: give one, fromCompiledProgram(json, { model: '${backend || 'openai'}/…' })`);
  }
  if (reader.problems.length > 0) throw invalidProgram(programName, reader.problems);
  const document = { version: 1 as const, name: programName, ...defined({ model }), lenient: true, units };
  const { problems } = checkProgram(document);
  if (problems.length > 0) throw invalidProgram(programName, problems);
  return document;
}

/** True for a value that has the form of a compiled program of AXON. */
export function isCompiledProgram(value: unknown): boolean {
  return isJsonObject(value) && Array.isArray(value['execution_units']) && !('units' in value);
}

const PROGRAM = ['backend_name', 'execution_units', 'metadata'];
const UNIT = [
  'flow_name',
  'persona_name',
  'context_name',
  'system_prompt',
  'steps',
  'tool_declarations',
  'anchor_instructions',
  'active_anchors',
  'effort',
  'metadata',
];
const STEP = ['step_name', 'system_prompt', 'user_prompt', 'tool_declarations', 'output_schema', 'metadata'];
const REFINE = ['max_attempts', 'pass_failure_context', 'backoff', 'on_exhaustion', 'on_exhaustion_target'];

/** The metadata of steps that is converted, and the metadata that only describes their origin and is ignored. */
const STEP_METADATA = ['use_tool', 'output_type', 'confidence_floor', 'required_fields', 'refine'];
const DESCRIPTIVE = ['ir_node_type', 'depth', 'show_work'];

/** The metadata of steps that are not model calls in AXON, and their counterparts here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  agent: 'a step of the kind "agent"',
  deliberate: 'an "ask" with "refine" and a review, or a "repeat"',
  consensus: 'a "parallel" of asks and one that chooses',
  forge: 'a "repeat" of asks',
  shield_apply: 'anchors, guardrails of an agent, or a tool',
  data_science: 'a step of the kind "tool"',
};

/** Reads the parts of a compiled program, and collects their problems. */
class CompiledReader {
  readonly problems: Problem[] = [];

  problem(path: string, message: string): void {
    this.problems.push({ path: path === '' ? 'the program' : path, message });
  }

  /** Returns an object that may have only these fields. */
  object(path: string, value: unknown, known: readonly string[]): JsonObject {
    if (!isJsonObject(value)) {
      this.problem(
        path,
        `expected an object, got ${kindOf(value)}${path === '' ? ': give the compiled program as JSON.parse returns it' : ''}`,
      );
      return {};
    }
    for (const key of Object.keys(value)) {
      if (!known.includes(key)) this.problem(inside(path, key), `AXON has no such field here (it has: ${known.join(', ')})`);
    }
    return value;
  }

  /** Returns an object of any fields; an empty one if it is absent. */
  optionalObject(path: string, value: unknown): JsonObject {
    if (value === undefined || value === null) return {};
    if (isJsonObject(value)) return value;
    this.problem(path, `expected an object, got ${kindOf(value)}`);
    return {};
  }

  /** Returns a text; an empty one if it is absent. */
  text(path: string, value: unknown): string {
    if (value === undefined || value === null) return '';
    if (typeof value === 'string') return value;
    this.problem(path, `expected text, got ${kindOf(value)}`);
    return '';
  }

  list(path: string, value: unknown): JsonValue[] {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    this.problem(path, `expected a list, got ${kindOf(value)}`);
    return [];
  }

  units(value: unknown): UnitDocument[] {
    if (value === undefined) this.problem('execution_units', 'is missing: a compiled program has a list of units there');
    const taken = new Set<string>();
    return this.list('execution_units', value).map((one, index) => {
      const unit = this.#unit(`execution_units[${index}]`, one, index);
      const name = freeName(unit.name, taken);
      taken.add(name);
      return { ...unit, name };
    });
  }

  /** AXON's system prompt already contains the persona, context and constraints, which are also fields of the unit. */
  #unit(path: string, value: unknown, index: number): UnitDocument {
    const unit = this.object(path, value, UNIT);
    const at = (field: string): string => inside(path, field);
    for (const field of ['persona_name', 'context_name']) this.text(at(field), unit[field]);
    this.list(at('anchor_instructions'), unit['anchor_instructions']);
    this.optionalObject(at('metadata'), unit['metadata']);
    const instructions = this.text(at('system_prompt'), unit['system_prompt']);
    const effort = this.text(at('effort'), unit['effort']);
    const anchors = this.list(at('active_anchors'), unit['active_anchors']).map((one, i) =>
      this.#anchor(`${at('active_anchors')}[${i}]`, one),
    );
    const tools = this.#tools(at('tool_declarations'), unit['tool_declarations']);
    const seen = new Set<string>();
    const steps = this.list(at('steps'), unit['steps']).map((one, i) => {
      const step = this.#step(`${at('steps')}[${i}]`, one, { index: i, tools });
      if (seen.has(step.name)) this.problem(`${at('steps')}[${i}].step_name`, `two steps of the unit are named "${step.name}": rename one`);
      seen.add(step.name);
      return step;
    });
    const flow = this.text(at('flow_name'), unit['flow_name']);
    return {
      name: isReferenceName(flow) ? flow : flow.replaceAll(/[.[\]{}"\p{Cc}]+/gu, '_').trim() || `unit_${index + 1}`,
      ...(instructions === '' ? {} : { instructions }),
      ...(anchors.length === 0 ? {} : { anchors: [...new Set(anchors)] }),
      // An unknown word is refused with the program.
      ...(effort === '' ? {} : { effort: effort as ReasoningEffort }),
      steps,
    };
  }

  #anchor(path: string, value: JsonValue): string {
    const name = typeof value === 'string' ? value : this.text(inside(path, 'name'), this.object(path, value, ANCHOR)['name']);
    if (name === '') this.problem(path, 'the anchor has no name: write {"name": "RequiresCitation"}');
    return name;
  }

  #step(path: string, value: unknown, { index, tools: ofUnit }: { index: number; tools: readonly string[] }): StepDocument {
    const step = this.object(path, value, STEP);
    const at = (field: string): string => inside(path, field);
    this.text(at('system_prompt'), step['system_prompt']);
    const name = this.text(at('step_name'), step['step_name']) || `step_${index + 1}`;
    if (!isReferenceName(name))
      this.problem(at('step_name'), `"${name}" is not a name that a reference can use: leave out dots, brackets and braces`);
    const prompt = this.text(at('user_prompt'), step['user_prompt']);
    const metadata = this.#metadata(at('metadata'), step['metadata']);
    const refine = metadata['refine'] === undefined ? undefined : this.#refine(inside(at('metadata'), 'refine'), metadata['refine']);
    const { use_tool: useTool } = metadata;
    if (useTool !== undefined) {
      const called = this.object(at('metadata.use_tool'), useTool, ['tool_name', 'argument']);
      const tool = this.text(at('metadata.use_tool.tool_name'), called['tool_name']);
      if (tool === '') this.problem(at('metadata.use_tool'), 'the step names no tool: write {"tool_name": "WebSearch"}');
      // AXON calls the tool with the prompt, and makes no further attempt.
      return {
        name,
        tool: { name: tool, arguments: { query: prompt || this.text(at('metadata.use_tool.argument'), called['argument']) } },
      };
    }
    if (prompt === '' && !isElsewhere(metadata)) this.problem(at('user_prompt'), 'the step has no prompt');
    const tools = [...new Set([...ofUnit, ...this.#tools(at('tool_declarations'), step['tool_declarations'])])];
    const output = this.optionalObject(at('output_schema'), step['output_schema']);
    const ask: AskDocument = {
      prompt,
      ...(Object.keys(output).length === 0 ? {} : { output }),
      ...this.#rules(at('metadata'), metadata),
      ...(tools.length === 0 ? {} : { tools }),
    };
    return { name, ask, ...defined({ refine }) };
  }

  #metadata(path: string, value: unknown): JsonObject {
    const metadata = this.optionalObject(path, value);
    for (const key of Object.keys(metadata)) {
      if (STEP_METADATA.includes(key) || DESCRIPTIVE.includes(key)) continue;
      const instead = Object.hasOwn(ELSEWHERE, key) ? ELSEWHERE[key] : undefined;
      const why = instead === undefined ? `is unknown (known are: ${STEP_METADATA.join(', ')})` : `has no counterpart: write ${instead}`;
      this.problem(inside(path, key), why);
    }
    return metadata;
  }

  #rules(path: string, { output_type: type, confidence_floor: floor, required_fields: fields }: JsonObject): Partial<AskDocument> {
    const typeName = this.text(inside(path, 'output_type'), type);
    const names = this.list(inside(path, 'required_fields'), fields);
    if (floor !== undefined && floor !== null && typeof floor !== 'number')
      this.problem(inside(path, 'confidence_floor'), `expected a number from 0 to 1, got ${kindOf(floor)}`);
    return {
      ...(typeName === '' ? {} : { type: typeName }),
      ...(typeof floor === 'number' ? { confidenceFloor: floor } : {}),
      ...(names.length === 0 ? {} : { requiredFields: names.map((one, i) => this.text(`${inside(path, 'required_fields')}[${i}]`, one)) }),
    };
  }

  #refine(path: string, value: JsonValue): RefineDocument {
    const refine = this.object(path, value, REFINE);
    const { max_attempts: maxAttempts, pass_failure_context: passFailureContext, backoff, on_exhaustion_target: target } = refine;
    const onExhaustion = this.text(inside(path, 'on_exhaustion'), refine['on_exhaustion']);
    const fallback = this.text(inside(path, 'on_exhaustion_target'), target);
    // The check of the document names what is wrong with these values.
    return {
      ...defined({ maxAttempts, passFailureContext }),
      ...(backoff === undefined || backoff === '' ? {} : { backoff }),
      ...(onExhaustion === '' ? {} : { onExhaustion }),
      ...(fallback === '' ? {} : { fallback }),
    } as RefineDocument;
  }

  /** Returns the names of declared tools, in the forms of AXON's back ends. */
  #tools(path: string, value: unknown): string[] {
    return this.list(path, value).flatMap((one, index) => {
      const names = namesIn(one);
      if (names.length === 0) this.problem(`${path}[${index}]`, 'is not a declaration of a tool: it has no "name"');
      return names;
    });
  }
}

const ANCHOR = ['name', 'require', 'reject', 'enforce', 'confidence_floor', 'unknown_response', 'on_violation'];

/** Returns the names in a declaration: `{name}`, `{function: {name}}`, or `{function_declarations: [{name}]}`. */
function namesIn(declaration: JsonValue): string[] {
  if (!isJsonObject(declaration)) return [];
  const { name, function: inner, function_declarations: several } = declaration;
  if (typeof name === 'string' && name !== '') return [name];
  if (inner !== undefined) return namesIn(inner);
  return Array.isArray(several) ? several.flatMap(namesIn) : [];
}

function isElsewhere(metadata: JsonObject): boolean {
  return Object.keys(ELSEWHERE).some((key) => Object.hasOwn(metadata, key));
}

/** Returns a name that no other unit has: AXON runs a flow each time it is listed. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  let count = 2;
  while (taken.has(`${name}_${count}`)) count += 1;
  return `${name}_${count}`;
}

function inside(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `${typeof value} ${JSON.stringify(value).slice(0, 60)}`;
}
