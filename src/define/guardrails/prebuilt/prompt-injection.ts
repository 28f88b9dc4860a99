import type { GuardrailType } from '../../../core/domain/guardrails.ts';
import { type CommonGuardrailOptions, defineGuardrail } from '../define-guardrail.ts';
import type { GuardrailDefinition } from '../guardrail-definition.ts';

/** Wordings of attacks, which are searched in a text of single spaces in lower case. */
const ATTACKS: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget) (?:all |any )?(?:of )?(?:the |your |my )?(?:previous|prior|above|earlier) (?:instructions|prompts?|rules|messages)\b/,
  /\b(?:ignore|disregard|forget) (?:all |everything )?(?:you were told|your (?:instructions|rules|guidelines))\b/,
  /\byou are (?:now|no longer) (?:a |an |in )?(?:dan|developer mode|unrestricted|jailbroken|bound by)\b/,
  /\b(?:pretend|act as if|behave as though) (?:to be |that )?you (?:are|have|had) (?:no|not|without|free of) /,
  /\b(?:reveal|show|print|repeat|output) (?:me )?(?:your |the )(?:system prompt|initial instructions|hidden instructions|system message)\b/,
  /(?:^|\n) ?(?:\[?system\]?|<\|?(?:system|im_start)\|?>) ?:?/,
  /\bnew instructions ?: ?/,
];

/** The options of `promptInjection`. */
export interface PromptInjectionOptions<Type extends GuardrailType> extends Omit<CommonGuardrailOptions<Type>, 'name'> {
  /** Default `prompt-injection`. */
  name?: string;
}

/**
 * Defines a guardrail that trips on common wordings of attacks on the instructions of an agent. It knows wordings, not meanings: it is
 * no protection by itself.
 */
export function promptInjection<const Type extends GuardrailType>(options: PromptInjectionOptions<Type>): GuardrailDefinition<Type> {
  const { name = 'prompt-injection', ...common } = options;
  return defineGuardrail({
    ...common,
    name,
    check: ({ text }: { text: string }) => {
      const plain = text
        .normalize('NFKC')
        .toLowerCase()
        .replace(/[^\S\n]+/g, ' ');
      const isAttack = ATTACKS.some((pattern) => pattern.test(plain));
      return isAttack ? { passed: false, message: 'It tries to change the instructions of the agent' } : { passed: true };
    },
  } as never);
}
