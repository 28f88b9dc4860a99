import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import { ContextError, UnitContext } from '../../../../src/core/program/references.ts';
import { CaseProblem, list, text } from '../fields.ts';

/** An action on a context. `expected` only determines the notation of a case's snapshot. */
type Action = (context: UnitContext, args: JsonValue[], expected: JsonValue | undefined) => unknown;

const ACTIONS: Readonly<Record<string, Action>> = {
  set_step_result: (context, [step, result = null]) => done(context.setResult(text(step), result)),
  get_step_result: (context, [step]) => context.result(text(step)),
  has_step_result: (context, [step]) => context.hasResult(text(step)),
  set_variable: (context, [name, value = null]) => done(context.setVariable(text(name), value)),
  get_variable: (context, [name]) => context.variable(text(name)),
  has_variable: (context, [name]) => context.hasVariable(text(name)),
  append_message: (context, [role, content]) => done(context.append(text(role), text(content))),
  completed_steps: (context) => context.completedSteps,
  message_count: (context) => context.messages.length,
  history: (context) => [...context.messages],
  system_prompt: (context) => context.systemPrompt,
  reset: (context) => done(context.reset()),
  snapshot_steps: (context, _, expected) => {
    const { results } = context.snapshot();
    return Array.isArray(expected) ? Object.keys(results) : results;
  },
};

/** Operation `ctxmgr.run`: the context of a unit. */
export function runContext({ system_prompt, do: actions }: JsonObject, expect: JsonValue): unknown {
  const context = new UnitContext(text(system_prompt));
  const expected = isJsonObject(expect) ? list(expect['results']) : [];
  return { results: list(actions).map((action, index) => perform(context, list(action), expected[index])) };
}

function perform(context: UnitContext, [name, ...args]: JsonValue[], expected: JsonValue | undefined): unknown {
  const action = Object.hasOwn(ACTIONS, text(name)) ? ACTIONS[text(name)] : undefined;
  if (action === undefined) throw new CaseProblem(`The adapter does not know the action ${JSON.stringify(name)}`);
  try {
    return action(context, args, expected);
  } catch (error) {
    if (error instanceof ContextError) return { error: error.reason };
    throw error;
  }
}

function done(_: void): null {
  return null;
}
