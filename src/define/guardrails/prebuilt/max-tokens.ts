import type { GuardrailType } from '../../../core/domain/guardrails.ts';
import { wholeNumber } from '../../options/option-checks.ts';
import { type CommonGuardrailOptions, defineGuardrail } from '../define-guardrail.ts';
import type { GuardrailDefinition } from '../guardrail-definition.ts';

/** The options of `maxTokens`. */
export interface MaxTokensOptions<Type extends GuardrailType> extends Omit<CommonGuardrailOptions<Type>, 'name'> {
  /** Default `max-tokens`. */
  name?: string;
  /** The most tokens that a text may have. Four characters count as one. */
  limit: number;
  /** True to trip. Default false: a longer text is recorded, and passes. */
  trips?: boolean;
}

const CHARACTERS = 4;

/** Defines a guardrail for the length of messages, answers or arguments. */
export function maxTokens<const Type extends GuardrailType>(options: MaxTokensOptions<Type>): GuardrailDefinition<Type> {
  const { limit, trips = false, name = 'max-tokens', ...common } = options;
  const most = wholeNumber(`guardrail "${name}": "limit"`, limit, 1);
  return defineGuardrail({
    ...common,
    name,
    check: ({ text }: { text: string }) => {
      const tokens = Math.ceil(text.length / CHARACTERS);
      return tokens <= most ? { passed: true } : { passed: false, message: `It has about ${tokens} tokens, more than ${most}`, trips };
    },
  } as never);
}
