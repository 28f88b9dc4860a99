import type { JsonValue } from '../../domain/json.ts';

/** The roles of messages. */
const ROLES = ['system', 'user', 'assistant'] as const;

/** A message of the conversation of a unit. */
export interface ContextMessage {
  role: (typeof ROLES)[number];
  content: string;
}

/** The content of a context at one moment. Later changes do not reach it. */
export interface ContextSnapshot {
  results: Record<string, JsonValue>;
  variables: Record<string, JsonValue>;
  messageCount: number;
}

/** The reason why a context refuses a call: it has nothing of that name, or cannot take what it is given. */
export class ContextError extends Error {
  override readonly name = 'ContextError';
  readonly reason: 'missing' | 'invalid';

  constructor(reason: ContextError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The values that the steps of a unit work with: results of steps, variables, and the messages to and from the model. */
export class UnitContext {
  readonly systemPrompt: string;
  readonly #results = new Named('result of a step');
  readonly #variables = new Named('variable');
  #messages: ContextMessage[] = [];

  constructor(systemPrompt = '') {
    this.systemPrompt = systemPrompt;
  }

  /** Keeps the result of a step. Throws a ContextError for an empty name. */
  setResult(step: string, result: JsonValue): void {
    this.#results.set(step, result);
  }

  /** Returns the result of a step. Throws a ContextError if there is none. */
  result(step: string): JsonValue {
    return this.#results.get(step);
  }

  hasResult(step: string): boolean {
    return this.#results.has(step);
  }

  /** The names of the steps that have a result, in the order in which they got it. */
  get completedSteps(): string[] {
    return this.#results.names;
  }

  /** Binds a variable. Throws a ContextError for an empty name. */
  setVariable(name: string, value: JsonValue): void {
    this.#variables.set(name, value);
  }

  /** Returns the value of a variable. Throws a ContextError if there is none. */
  variable(name: string): JsonValue {
    return this.#variables.get(name);
  }

  hasVariable(name: string): boolean {
    return this.#variables.has(name);
  }

  /** Adds a message. Throws a ContextError for an unknown role, and for an empty text, which no provider accepts. */
  append(role: string, content: string): void {
    const known = ROLES.find((one) => one === role);
    if (known === undefined) throw new ContextError('invalid', `"${role}" is no role of a message: it is ${ROLES.join(', ')}`);
    if (content === '') throw new ContextError('invalid', 'Message content must not be empty');
    this.#messages.push({ role: known, content });
  }

  get messages(): readonly ContextMessage[] {
    return this.#messages;
  }

  snapshot(): ContextSnapshot {
    return { results: this.#results.copy(), variables: this.#variables.copy(), messageCount: this.#messages.length };
  }

  /** Forgets everything but the system prompt. */
  reset(): void {
    this.#results.clear();
    this.#variables.clear();
    this.#messages = [];
  }
}

/** Values by name. */
class Named {
  readonly #what: string;
  readonly #values = new Map<string, JsonValue>();

  constructor(what: string) {
    this.#what = what;
  }

  set(name: string, value: JsonValue): void {
    if (name === '') throw new ContextError('invalid', `The name of a ${this.#what} must not be empty`);
    this.#values.set(name, value);
  }

  get(name: string): JsonValue {
    const value = this.#values.get(name);
    if (value !== undefined) return value;
    throw new ContextError('missing', `There is no ${this.#what} "${name}" (there are: ${this.names.join(', ') || 'none'})`);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  get names(): string[] {
    return [...this.#values.keys()];
  }

  copy(): Record<string, JsonValue> {
    return Object.fromEntries([...this.#values].map(([name, value]) => [name, deepCopy(value)]));
  }

  clear(): void {
    this.#values.clear();
  }
}

function deepCopy(value: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
