import { UsageError } from '../../../core/domain/errors.ts';
import { type CommonGuardrailOptions, defineGuardrail } from '../define-guardrail.ts';
import type { GuardrailDefinition, ToolCallContext } from '../guardrail-definition.ts';

/** The options of `callRules`. */
export interface CallRulesOptions extends Omit<CommonGuardrailOptions<'tool_call'>, 'name' | 'type'> {
  /** Default `call-rules`. */
  name?: string;
  /** The tools that may be called. Default: all. */
  allow?: readonly string[];
  /** The tools that may not be called. */
  block?: readonly string[];
  /** By the name of an argument of any tool: a pattern that its text must not match. */
  arguments?: Readonly<Record<string, RegExp>>;
}

/** Defines a guardrail for the names and the arguments of calls. Permissions decide the same without a check, for the whole tree of runs. */
export function callRules(options: CallRulesOptions): GuardrailDefinition<'tool_call'> {
  const { allow, block = [], arguments: patterns = {}, name = 'call-rules', ...common } = options;
  if (allow === undefined && block.length === 0 && Object.keys(patterns).length === 0) {
    throw new UsageError(`guardrail "${name}" has no rules: give it "allow", "block" or "arguments"`);
  }
  const rules = Object.entries(patterns).map(([key, { source, flags }]) => [key, new RegExp(source, flags.replace(/[gy]/g, ''))] as const);
  return defineGuardrail({
    ...common,
    name,
    type: 'tool_call',
    check: ({ call }: ToolCallContext) => {
      if (block.includes(call.name)) return { passed: false, message: `"${call.name}" is blocked` };
      if (allow?.includes(call.name) === false) return { passed: false, message: `"${call.name}" is not allowed` };
      const [key] =
        rules.find(([argument, pattern]) => Object.hasOwn(call.arguments, argument) && pattern.test(textOf(call.arguments[argument]))) ??
        [];
      return key === undefined ? { passed: true } : { passed: false, message: `The argument "${key}" of "${call.name}" is blocked` };
    },
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
