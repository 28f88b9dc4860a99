import { UsageError } from '../../../core/domain/errors.ts';
import type { GuardrailType } from '../../../core/domain/guardrails.ts';
import { type CommonGuardrailOptions, defineGuardrail } from '../define-guardrail.ts';
import type { GuardrailDefinition } from '../guardrail-definition.ts';

/** The options of `contentFilter`. */
export interface ContentFilterOptions<Type extends GuardrailType> extends Omit<CommonGuardrailOptions<Type>, 'name'> {
  /** Default `content-filter`. */
  name?: string;
  /** Words and phrases that must not occur, in any case. */
  keywords?: readonly string[];
  /** Patterns that must not match. They read untrusted text: write none that takes long for some texts. */
  patterns?: readonly RegExp[];
}

/** Defines a guardrail that trips on words and patterns, as the content filter of the pages of the redesign (`agent-framework-redesign`) does. */
export function contentFilter<const Type extends GuardrailType>(options: ContentFilterOptions<Type>): GuardrailDefinition<Type> {
  const { keywords = [], patterns = [], name = 'content-filter', ...common } = options;
  if (keywords.length + patterns.length === 0) {
    throw new UsageError(`guardrail "${name}" filters nothing: give it "keywords" or "patterns"`);
  }
  const lower = keywords.map((keyword) => keyword.toLowerCase());
  const single = patterns.map(({ source, flags }) => new RegExp(source, flags.replace(/[gy]/g, '')));
  return defineGuardrail({
    ...common,
    name,
    check: ({ text }: { text: string }) => {
      const keyword = keywords[lower.findIndex((one) => text.toLowerCase().includes(one))];
      if (keyword !== undefined) return { passed: false, message: `It contains "${keyword}"` };
      const pattern = single.find((one) => one.test(text));
      return pattern === undefined ? { passed: true } : { passed: false, message: `It matches ${String(pattern)}` };
    },
  } as never);
}
