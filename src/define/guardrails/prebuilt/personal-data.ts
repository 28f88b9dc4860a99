import { UsageError } from '../../../core/domain/errors.ts';
import type { GuardrailType } from '../../../core/domain/guardrails.ts';
import { type CommonGuardrailOptions, defineGuardrail } from '../define-guardrail.ts';
import type { GuardrailDefinition } from '../guardrail-definition.ts';

/** Each pattern reads a text once: it has no repetition inside of another one. */
const PATTERNS = {
  email: /[\w.%+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/,
  phone: /(?<!\d)(?:\+?\d{1,3}[ .-]?)?(?:\(\d{3}\)|\d{3})[ .-]?\d{3}[ .-]?\d{4}(?!\d)/,
  ssn: /(?<!\d)\d{3}-\d{2}-\d{4}(?!\d)/,
  credit_card: /(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)/,
  ip_address: /(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])/,
} as const;

/** A kind of personal data. */
export type PersonalDataKind = keyof typeof PATTERNS;

const KINDS = Object.keys(PATTERNS) as PersonalDataKind[];

/** The options of `personalData`. */
export interface PersonalDataOptions<Type extends GuardrailType> extends Omit<CommonGuardrailOptions<Type>, 'name'> {
  /** Default `personal-data`. */
  name?: string;
  /** Default: all of `email`, `phone`, `ssn`, `credit_card` and `ip_address`. */
  kinds?: readonly PersonalDataKind[];
}

/** Defines a guardrail that trips on personal data: it names the kinds, and never the data. */
export function personalData<const Type extends GuardrailType>(options: PersonalDataOptions<Type>): GuardrailDefinition<Type> {
  const { kinds = KINDS, name = 'personal-data', ...common } = options;
  const unknown = kinds.find((kind) => !KINDS.includes(kind));
  if (unknown !== undefined || kinds.length === 0) {
    throw new UsageError(`guardrail "${name}": "kinds" has ${JSON.stringify(unknown) ?? 'none'}: choose of ${KINDS.join(', ')}`);
  }
  return defineGuardrail({
    ...common,
    name,
    check: ({ text }: { text: string }) => {
      const found = kinds.filter((kind) => PATTERNS[kind].test(text) && (kind !== 'credit_card' || hasCardNumber(text)));
      return found.length === 0 ? { passed: true } : { passed: false, message: `It contains personal data: ${found.join(', ')}` };
    },
  } as never);
}

/** True if a number of the length of a card has the check digit of one (Luhn). */
function hasCardNumber(text: string): boolean {
  return [...text.matchAll(new RegExp(PATTERNS.credit_card, 'g'))].some(([match]) => isLuhn(match.replace(/\D/g, '')));
}

function isLuhn(digits: string): boolean {
  let sum = 0;
  for (const [index, digit] of digits.split('').toReversed().entries()) {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
